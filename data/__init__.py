"""The bundled corpus: a lexicon and rules, read by `keras_attention.corpora.grammar`."""
