"""Pieces of words: few tokens for all words, and the sentence comes back as it was written."""

import re
import sys
import unicodedata
from functools import cache, cached_property
from itertools import groupby

from keras_attention.text.normalization import import_tensorflow_text
from keras_attention.text.tokens import (
    CONTINUATION,
    JOINER,
    SPECIAL_WORDS,
    UNKNOWN,
    Tokens,
    check_learnable,
    is_piece,
)

_APOSTROPHES = "'’"
_LONGEST = 50  # characters of a word from which KerasNLP learns
_TIMES = 5  # how often each word counts: KerasNLP asks for ten, so twice in the corpus will do
_ANY_LENGTH = 2**31 - 1  # TensorFlow Text takes words above 100 bytes as unknown unless told


class WordPieces(Tokens):
    """Frequent pieces of the words of one language, with case, accents, digits and punctuation.

    A sentence is split into words and marks, as in `split_marks`, and each word into pieces, always
    the longest that fits (WordPiece). A piece that continues a word begins with `##`, and a mark
    has the joiner `￭` where it touches its neighbour, so that `join` is the inverse of `tokenize`,
    up to blanks and Unicode composition (NFC). A word is unknown only if one of its characters is.

    Args:
        words: all pieces in the order of their ids; the first four are "", "[UNK]", "[START]" and
            "[END]".

    Raises:
        ValueError: the first four are others, a piece occurs twice, or these are whole words only.

    Example:
    >>> pieces = WordPieces(["", "[UNK]", "[START]", "[END]", "casa", "##s", "¿￭", "￭?"])
    >>> pieces.tokenize(["¿Mis casas?"])
    [[('¿￭', '¿'), ('Mis', 'Mis'), ('casa', 'casa'), ('##s', 's'), ('￭?', '?')]]
    >>> pieces.ids(["¿Mis casas?"]).tolist()
    [[2, 6, 1, 4, 5, 7, 3]]
    >>> pieces.join(["¿￭", "[UNK]", "casa", "##s", "￭?"])
    '¿[UNK] casas?'
    """

    kind = "wordpiece"

    def __init__(self, words):
        super().__init__(words)
        if not any(map(is_piece, self.words)):
            raise ValueError(
                f"expected word pieces, some with {CONTINUATION} or {JOINER}, "
                "got only whole words, the kind 'word'"
            )

    @classmethod
    def learn(cls, sentences, size=8000):
        """Learn the pieces of some sentences with KerasNLP, the same ones every time.

        Every character of the sentences is a piece, so that none of them has an unknown word, and
        so is every mark with each of its joiners. These come first, then the most frequent pieces
        of those that occur at least twice. There can be up to a tenth fewer than `size`, on a small
        corpus many fewer, and never more.

        Args:
            sentences: strings as users write them.
            size: most pieces to keep, the four special ones included.

        Raises:
            ValueError: `size` leaves no room for all characters, or there is no sentence that has
                one.
        """
        sentences = check_learnable(sentences, size)
        words = [token.strip(JOINER) for s in sentences for token in split_marks(s)]
        characters = sorted(set("".join(words)))
        if not characters:
            raise ValueError("word pieces are learned from characters, got sentences of blanks")
        first = [*SPECIAL_WORDS, *(form for c in characters for form in _forms(c))]
        if size < len(first):
            raise ValueError(
                f"size must be at least {len(first)} for the pieces of the {len(characters)} "
                f"characters that occur, got {size}"
            )
        # KerasNLP cannot do without any word; and single characters are pieces already.
        words = [word for word in words if 1 < len(word) <= _LONGEST]
        return cls(_learn(words, first, size) if words else first)

    def tokenize(self, sentences):
        """Split sentences into pieces.

        Args:
            sentences: N strings as users write them.

        Returns:
            N lists of pairs (piece, what it stands for in the sentence). A word or a mark that
            cannot be made of pieces stays whole; as it is not here, its id is that of `[UNK]`.
        """
        split = [split_marks(sentence) for sentence in sentences]
        pieces = self._pieces(list({token: None for tokens in split for token in tokens}))
        return [[piece for token in tokens for piece in pieces[token]] for tokens in split]

    def _pieces(self, tokens):
        """Return the pieces of words and marks, each with its spelling, by word or mark."""
        import tensorflow as tf

        pieces = {}
        found = self.tokenizer.tokenize(tf.constant(tokens, dtype=tf.string)).to_list()
        for token, ids in zip(tokens, found, strict=True):
            parts = [token] if UNKNOWN in ids else [self.words[number] for number in ids]
            pieces[token] = [(p, p.removeprefix(CONTINUATION).strip(JOINER)) for p in parts]
        return pieces

    @cached_property
    def tokenizer(self):
        """What looks up words and marks, TensorFlow Text's `FastWordpieceTokenizer`."""
        # KerasNLP's `WordPieceTokenizer` wraps this one, for words of up to 100 bytes only.
        import tensorflow as tf

        return import_tensorflow_text().FastWordpieceTokenizer(
            list(self.words),
            suffix_indicator=CONTINUATION,
            max_bytes_per_word=_ANY_LENGTH,
            token_out_type=tf.int32,
            unknown_token=SPECIAL_WORDS[UNKNOWN],
            no_pretokenization=True,
        )

    def join(self, tokens):
        """Join pieces to the sentence that they were.

        Any pieces will do, as a model may write them: one that continues no word begins one.
        """
        tokens = list(tokens)
        words = (
            "".join(tokens[place].removeprefix(CONTINUATION) for place in group)
            for group in self.word_groups(tokens)
        )
        return re.sub(f" ?{JOINER} ?", "", " ".join(words))

    def word_groups(self, tokens):
        """Return which tokens make one written word.

        Args:
            tokens: pieces, perhaps with special ones among them.

        Returns:
            Lists of positions: the pieces of a word together, each mark and each special token by
            itself, also where it touches a word.

        Example:
        >>> pieces = WordPieces(["", "[UNK]", "[START]", "[END]", "casa", "##s", "￭?"])
        >>> pieces.word_groups(["[START]", "casa", "##s", "￭?", "[END]"])
        [[0], [1, 2], [3], [4]]
        """
        groups = []
        before = ""
        for place, token in enumerate(tokens):
            in_word = before.startswith(CONTINUATION) or _is_of_words(before[:1])
            if in_word and token.startswith(CONTINUATION):
                groups[-1].append(place)
            else:
                groups.append([place])
            before = token
        return groups


def split_marks(sentence):
    """Split a sentence into words and marks, so that it can be put together again.

    A word is a run of letters, accents and digits, with apostrophes inside; a mark is any other
    character but blanks. A mark that touches its neighbour has the joiner `￭` on that side, as in
    OpenNMT's tokenizer; between two marks it is the second that has it. Blanks count as one, and a
    joiner in the sentence is dropped, as are what TensorFlow Text cannot read: NUL and half of a
    surrogate pair.

    Args:
        sentence: a string; it is composed first (NFC).

    Returns:
        A list of words and marks.

    Example:
    >>> split_marks("¿Todavía están?  I don't... a-b")
    ['¿￭', 'Todavía', 'están', '￭?', 'I', "don't", '￭.', '￭.', '￭.', 'a', '￭-￭', 'b']
    """
    text = unicodedata.normalize("NFC", re.sub(rf"[{JOINER}\0\ud800-\udfff]", "", sentence))
    tokens = []
    for match in _pattern().finditer(text):
        token, start, end = match.group(), match.start(), match.end()
        if not _is_of_words(token[0]):
            before = JOINER if start and not text[start - 1].isspace() else ""
            after = JOINER if _is_of_words(text[end : end + 1]) else ""
            token = before + token + after
        tokens.append(token)
    return tokens


@cache
def _pattern():
    return re.compile(rf"{word_pattern()}|\S")


@cache
def word_pattern():
    """Return the regular expression of a word, for Python's `re` and for RE2."""
    characters = map(chr, range(sys.maxunicode + 1))  # `re` has no classes of Unicode as \p{L}
    runs = [list(run) for is_word, run in groupby(characters, _is_of_words) if is_word]
    letter = f"[{''.join(f'{run[0]}-{run[-1]}' for run in runs)}]"
    return rf"{letter}+(?:[{_APOSTROPHES}]{letter}+)*"


def _is_of_words(character):
    return bool(character) and unicodedata.category(character)[0] in "LMN"


def _forms(character):
    """List the pieces without which a character would be unknown somewhere."""
    if _is_of_words(character):
        return [character, CONTINUATION + character]
    forms = [left + character + right for left in ("", JOINER) for right in ("", JOINER)]
    return [*forms, CONTINUATION + character] if character in _APOSTROPHES else forms


def _learn(words, first, size):
    import tensorflow as tf

    import_tensorflow_text()
    try:
        import keras_nlp
    except ImportError as error:
        raise ImportError(
            "KerasNLP learns the word pieces and is not installed here: pip install keras-nlp"
        ) from error
    return keras_nlp.tokenizers.compute_word_piece_vocabulary(
        tf.data.Dataset.from_tensors(tf.constant(words, dtype=tf.string)).repeat(_TIMES),
        size,
        lowercase=False,
        strip_accents=False,
        split=False,
        suffix_indicator=CONTINUATION,
        reserved_tokens=first,
    )
