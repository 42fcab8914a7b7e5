"""The words of one language, as the tutorial has them."""

from functools import cached_property

import keras

from keras_attention.text.normalization import join_words, split_words, standardize
from keras_attention.text.tokens import SPECIAL_WORDS, Tokens, check_learnable, is_piece


class Vocabulary(Tokens):
    """The most frequent words of one language, normalised: lower case, no accents, no digits.

    Args:
        words: all words in the order of their ids; the first four are "", "[UNK]", "[START]" and
            "[END]".

    Raises:
        ValueError: the first four are others, a word occurs twice, or these are word pieces.
    """

    kind = "word"

    def __init__(self, words):
        super().__init__(words)
        pieces = list(filter(is_piece, self.words))
        if pieces:
            raise ValueError(
                f"expected words, got {pieces[0]!r}: these are word pieces, the kind 'wordpiece'"
            )

    @classmethod
    def learn(cls, sentences, size=5000):
        """Take the most frequent words of some sentences.

        Args:
            sentences: strings as users write them.
            size: most words to keep, the four special ones included.

        Raises:
            ValueError: `size` leaves no room for a word, or there is no sentence.
        """
        sentences = check_learnable(sentences, size)
        # [START] and [END] are added here, so that their ids do not hang on how often they occur.
        counter = keras.layers.TextVectorization(size - 2, standardize=standardize)
        counter.adapt(_as_tensor(sentences))
        return cls([*SPECIAL_WORDS, *map(str, counter.get_vocabulary()[2:])])

    def tokenize(self, sentences):
        """Split sentences into the words of `split_words`.

        Args:
            sentences: N strings as users write them.

        Returns:
            N lists of pairs (word, spelling in the sentence). A word stays as it is even if it is
            not here.
        """
        return [split_words(sentence) for sentence in sentences]

    def ids(self, sentences):
        """Look up sentences: [START], the words, [END].

        Args:
            sentences: N strings as users write them.

        Returns:
            Integers (N, L), int32, padded with 0 to the longest.
        """
        # As in `Tokens`, but by TensorFlow, which is faster on a whole corpus.
        ids = self._vectorize(_as_tensor(sentences))
        return keras.ops.convert_to_numpy(ids).astype("int32")

    @cached_property
    def _vectorize(self):
        return keras.layers.TextVectorization(
            standardize=_standardize_with_ends, vocabulary=list(self.words)
        )

    def join(self, tokens):
        """Join words to a sentence, as `join_words` does."""
        return join_words(tokens)

    def word_groups(self, tokens):
        """Return the positions of the tokens of each written word: each is a word of its own."""
        return [[place] for place, _ in enumerate(tokens)]


def _standardize_with_ends(sentences):
    import tensorflow as tf

    return tf.strings.join(["[START]", standardize(sentences), "[END]"], separator=" ")


def _as_tensor(sentences):
    """Return strings as a TensorFlow tensor, on every backend: Keras reads others as ASCII."""
    import tensorflow as tf

    return tf.constant(list(sentences), dtype=tf.string)
