"""Convert strings to ids and back: the tutorial's normalisation, words, and word pieces.

The tokens of a language are words (`Vocabulary`) or word pieces (`WordPieces`). Both classes have
the same methods, and `KINDS` maps their names to them. Looking tokens up needs nothing but Python;
KerasNLP learns word pieces. All of this happens outside the model, so a model holds no string
operation and runs on a TPU and on every backend.
"""

from keras_attention.text.normalization import (
    caseless,
    join_words,
    normalize,
    shortened,
    split_words,
    standardize,
)
from keras_attention.text.sentences import cut_text
from keras_attention.text.tokens import (
    END,
    PADDING,
    SPECIAL_WORDS,
    START,
    UNKNOWN,
    Tokens,
    enclosed,
    padded,
    shifted_right,
)
from keras_attention.text.vocabulary import Vocabulary
from keras_attention.text.word_pieces import WordPieces, split_marks

KINDS: dict[str, type[Vocabulary] | type[WordPieces]] = {
    tokens.kind: tokens for tokens in (Vocabulary, WordPieces)
}

__all__ = [
    "PADDING",
    "UNKNOWN",
    "START",
    "END",
    "SPECIAL_WORDS",
    "standardize",
    "split_words",
    "split_marks",
    "normalize",
    "caseless",
    "join_words",
    "shortened",
    "cut_text",
    "enclosed",
    "shifted_right",
    "padded",
    "Tokens",
    "Vocabulary",
    "WordPieces",
    "KINDS",
]
