"""Strings to ids and back: the tutorial's normalisation, words, and pieces of words.

The tokens of a language are words (`Vocabulary`) or pieces of words (`WordPieces`), with the same
methods, and `KINDS` has both by name. TensorFlow Text normalises and looks up the pieces, Keras'
`TextVectorization` looks up the words and KerasNLP learns the pieces, outside any model, so that a
model holds no string operation and runs on a TPU and on every backend.
"""

from keras_attention.text.normalization import (
    join_words,
    normalize,
    shortened,
    split_words,
    standardize,
)
from keras_attention.text.tokens import END, PADDING, SPECIAL_WORDS, START, UNKNOWN, Tokens
from keras_attention.text.vocabulary import Vocabulary
from keras_attention.text.word_pieces import WordPieces

KINDS = {tokens.kind: tokens for tokens in (Vocabulary, WordPieces)}

__all__ = [
    "PADDING",
    "UNKNOWN",
    "START",
    "END",
    "SPECIAL_WORDS",
    "standardize",
    "split_words",
    "normalize",
    "join_words",
    "shortened",
    "Tokens",
    "Vocabulary",
    "WordPieces",
    "KINDS",
]
