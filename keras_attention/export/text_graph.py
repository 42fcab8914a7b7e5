"""Strings to ids and back as operations of TensorFlow and TensorFlow Text, for a graph.

They give the same ids and the same sentences as `Vocabulary` and `WordPieces`: they share the
normalisation and the word pattern, and read everything else from tables by id.
"""

import sys
from typing import Any

from keras_attention.text import (
    END,
    PADDING,
    SPECIAL_WORDS,
    START,
    UNKNOWN,
    Vocabulary,
    WordPieces,
    standardize,
)
from keras_attention.text.normalization import import_tensorflow_text
from keras_attention.text.tokens import CONTINUATION, JOINER
from keras_attention.text.word_pieces import word_pattern
from keras_attention.types import Array

_ANY_LENGTH = 2**31 - 1  # by default, words above 100 bytes are unknown to TensorFlow Text
# For each kind of tokens, the replacements in a sentence whose words are joined by blanks
_TOUCHING = {
    "word": ((" ([.?!,])", r"\1"), ("¿ ", "¿")),
    "wordpiece": ((f" ?{JOINER} ?", ""),),
}


class Reader:
    """Look up sentences in a graph: strings (B,) → ids (B, S), int32, as `Tokens.ids` does.

    Args:
        vocabulary: `Vocabulary` or `WordPieces`; its tables are created here, outside the graph.

    Attributes:
        resources: the tables that a SavedModel has to track.
    """

    def __init__(self, vocabulary: Vocabulary | WordPieces):
        import tensorflow as tf

        self.resources = []
        if isinstance(vocabulary, Vocabulary):
            words = tf.constant(vocabulary.words)
            ids = tf.range(len(vocabulary), dtype=tf.int64)
            entries = tf.lookup.KeyValueTensorInitializer(words, ids)
            self._table = tf.lookup.StaticHashTable(entries, default_value=UNKNOWN)
            self.resources.append(self._table)
            self._tokens = self._words
        else:
            self._tokenizer = tokenizer(vocabulary)
            self._tokens = self._pieces

    def __call__(self, sentences: Array) -> Array:
        import tensorflow as tf

        tokens = self._tokens(sentences)
        column = tf.ones_like(sentences, dtype=tf.int32)[:, None]
        return tf.concat([START * column, tokens, END * column], axis=1).to_tensor(PADDING)

    def _words(self, sentences):
        """Return the ids of the words, ragged (B, …)."""
        import tensorflow as tf

        words = tf.strings.split(standardize(sentences))
        return words.with_flat_values(tf.cast(self._table.lookup(words.flat_values), tf.int32))

    def _pieces(self, sentences):
        """Return the ids of the pieces, ragged (B, …)."""
        tokens = split_marks(sentences)
        pieces = self._tokenizer.tokenize(tokens.flat_values)
        return tokens.with_flat_values(pieces).merge_dims(1, 2)


def tokenizer(pieces: WordPieces) -> Any:
    """Return TensorFlow Text's `FastWordpieceTokenizer` with the pieces of a language."""
    # KerasNLP's `WordPieceTokenizer` wraps this one but is limited to words of 100 bytes.
    import tensorflow as tf

    return import_tensorflow_text().FastWordpieceTokenizer(
        list(pieces.words),
        suffix_indicator=CONTINUATION,
        max_bytes_per_word=_ANY_LENGTH,
        token_out_type=tf.int32,
        unknown_token=SPECIAL_WORDS[UNKNOWN],
        no_pretokenization=True,
    )


def split_marks(sentences: Array) -> Array:
    """Split sentences into words and marks, as `keras_attention.text.word_pieces.split_marks` does.

    Args:
        sentences: strings (B,).

    Returns:
        Ragged strings (B, …); a mark has the joiner where it touches its neighbour.
    """
    import tensorflow as tf

    tensorflow_text = import_tensorflow_text()
    text = tf.strings.regex_replace(sentences, rf"[{JOINER}\x00]", "")
    text = tensorflow_text.normalize_utf8(text, "NFC")
    word, blanks = word_pattern(), "".join(filter(str.isspace, map(chr, range(sys.maxunicode))))
    token = f"{word}|[^{blanks}]"
    # Every non-blank character belongs to a token: two touch if one ends where the other begins.
    tokens, starts, ends = tensorflow_text.regex_split_with_offsets(
        text, f"{token}|[{blanks}]+", token
    )
    rows, flat = tokens.value_rowids(), tokens.flat_values
    starts, ends = starts.flat_values, ends.flat_values
    is_word = tf.strings.regex_full_match(flat, word)
    touch = tf.equal(starts[1:], ends[:-1]) & tf.equal(rows[1:], rows[:-1])
    no = tf.zeros_like(is_word[:1])  # empty if there is no token at all
    before = ~is_word & tf.concat([no, touch], axis=0)
    after = ~is_word & tf.concat([touch & is_word[1:], no], axis=0)
    left, right = (tf.where(joined, JOINER, "") for joined in (before, after))
    return tokens.with_flat_values(tf.strings.join([left, flat, right]))


def spell(vocabulary: Vocabulary | WordPieces, ids: Array) -> Array:
    """Return each token as a picture shows it: ids (B, T) → strings (B, T), "" for padding."""
    import tensorflow as tf

    return tf.gather(tf.constant([vocabulary.join([word]) for word in vocabulary.words]), ids)


def join(vocabulary: Vocabulary | WordPieces, ids: Array) -> Array:
    """Join the tokens of sentences, as `vocabulary.join` does: ids (B, T) → strings (B,).

    Args:
        vocabulary: `Vocabulary` or `WordPieces`.
        ids: tokens, perhaps `[END]`, then 0.
    """
    import tensorflow as tf

    def is_one_word(*words):
        return len(vocabulary.word_groups(words)) == 1

    words = vocabulary.words
    goes_on = tf.constant([is_one_word("a", word) for word in words])
    may_go_on = tf.constant([is_one_word(word, CONTINUATION) for word in words])
    text = tf.gather(tf.constant([word.removeprefix(CONTINUATION) for word in words]), ids)
    before = tf.pad(ids, [[0, 0], [1, 0]], constant_values=PADDING)[:, :-1]
    said = ~(tf.equal(ids, PADDING) | tf.equal(ids, START) | tf.equal(ids, END))
    grown = tf.gather(goes_on, ids) & tf.gather(may_go_on, before)
    apart = said & ~grown & tf.not_equal(before, PADDING)
    parts = tf.strings.join([tf.where(apart, " ", ""), tf.where(said, text, "")])
    sentences = tf.strings.reduce_join(parts, axis=1)
    for pattern, instead in _TOUCHING[vocabulary.kind]:
        sentences = tf.strings.regex_replace(sentences, pattern, instead)
    return sentences
