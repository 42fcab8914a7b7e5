"""A SavedModel: strings in, strings out, and everything between them in one TensorFlow graph.

    sentences (B,) → ids (B, S) → memory, state → tokens (B, T) → text (B,)
                                                         └──────→ weights (B, T, S)

The graph takes batches and sentences of any size and is not compiled, so no sentence waits for a
compiler. It uses only operations that TensorFlow runs without XLA.
"""

from pathlib import Path

from keras_attention import models
from keras_attention.decoding import beam_search, check_options, generate
from keras_attention.export.formats import check_backend
from keras_attention.export.text_graph import Reader, join, spell
from keras_attention.text import END, PADDING, START
from keras_attention.text.normalization import import_tensorflow_text
from keras_attention.translation.translator import MOST_TOKENS, Translator


def write_saved_model(
    translator: Translator,
    folder: Path | str,
    *,
    max_length: int = 50,
    beam: int = 1,
    length_penalty: float = 0.6,
) -> None:
    """Write a SavedModel with one signature, `serving_default`.

    It maps `sentences`, strings (B,), to a dictionary:

    - `text`: the translations, strings (B,);
    - `tokens`: strings (B, T), including `[END]`, "" after it;
    - `context_tokens`: strings (B, S), including `[START]` and `[END]`, "" after it; unlike those
      of a `Translation` they show unknown words as `[UNK]`;
    - `weights`: the attention weights (B, T, S), the mean over layers and heads, 0 at padding;
      absent for a model without attention.

    A sentence without a word has an empty translation. A sentence that is too long raises an
    `InvalidArgumentError` for the whole batch.

    Args:
        translator: a `Translator`.
        folder: the folder to create.
        max_length: maximum number of tokens in a translation, L.
        beam: number of hypotheses; 1 is greedy.
        length_penalty: of beam search, see `keras_attention.decoding.beam_search`.

    Raises:
        ValueError: an option is out of range, or the backend is not TensorFlow.
        ImportError: TensorFlow Text is not installed.
    """
    check_options(max_length=max_length, beam=beam, length_penalty=length_penalty)
    check_backend("a SavedModel")
    import_tensorflow_text()
    import tensorflow as tf

    reader = Reader(translator.context_vocabulary)
    decode = _decoding(translator.model, max_length, beam, length_penalty)
    attention = models.attention(translator.model)
    most = min(MOST_TOKENS + 2, models.most_tokens(translator.model)[0] or MOST_TOKENS + 2)

    def translate(sentences):
        context = reader(sentences)
        counts = tf.math.count_nonzero(context, axis=1)
        tf.debugging.assert_less_equal(
            counts, tf.constant(most, counts.dtype), f"a sentence has at most {most - 2} tokens"
        )
        says_something = (counts > 2)[:, None]  # [START] and [END]
        tokens = tf.where(says_something, decode(context), PADDING)
        longest = tf.reduce_max(tf.math.count_nonzero(tokens, axis=1))
        tokens = tokens[:, : tf.maximum(longest, 1)]
        outputs = {
            "text": join(translator.target_vocabulary, tokens),
            "tokens": spell(translator.target_vocabulary, tokens),
            "context_tokens": spell(translator.context_vocabulary, context),
        }
        weights = _weights(attention, context, tokens)
        return outputs if weights is None else {**outputs, "weights": weights}

    signature = [tf.TensorSpec([None], tf.string, name="sentences")]
    module = tf.Module()
    module.resources = [*(each.value for each in translator.model.variables), *reader.resources]
    module.translate = tf.function(translate, input_signature=signature, autograph=False)
    tf.saved_model.save(module, str(folder), signatures={"serving_default": module.translate})


def _decoding(model, max_length, beam, length_penalty):
    """Return a function that translates ids: (B, S) → (B, L)."""
    encode = models.encode(model, slots=max_length)
    step = models.step(model)
    step = _Step(step.decoder, step.shares_rows)

    def decode(context):
        encoded = encode(context, training=False)
        given = step, encoded["memory"], encoded["state"]
        if beam == 1:
            return generate(*given, max_length=max_length).tokens
        search = {"beam": beam, "length_penalty": length_penalty}
        return beam_search(*given, max_length=max_length, **search).tokens[:, 0]

    return decode


class _Step(models.Step):
    """The step, whose target is one token, with that length hidden from the graph.

    A cache is then written with plain operations; a known length of one would need XLA's.
    """

    def call(self, tokens, memory, state):
        import tensorflow as tf

        target = tf.raw_ops.PlaceholderWithDefault(input=tokens[:, None], shape=[None, None])
        outputs = self.decoder({"memory": memory, "state": state, "target": target})
        return outputs["logits"][:, 0], {}, outputs["state"]


def _weights(attention, context, tokens):
    """Return the attention weights (B, T, S) of given tokens; None if the model has none."""
    import tensorflow as tf

    # Teacher forcing: each token is predicted from the one before it.
    fed = tf.where(tf.equal(tokens, END), PADDING, tokens)[:, :-1]
    fed = tf.pad(fed, [[0, 0], [1, 0]], constant_values=START)
    found = attention({"context": context, "target": fed}, training=False)
    layers = found.get("cross_attention")
    if not layers:
        return None
    means = [each if each.shape.rank == 3 else tf.reduce_mean(each, axis=1) for each in layers]
    weights = tf.add_n(means) / len(means)
    return weights * tf.cast(tf.not_equal(tokens, PADDING), weights.dtype)[:, :, None]
