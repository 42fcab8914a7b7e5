"""Translators without training, and sentences of all sorts."""

import unicodedata
from functools import cache
from types import SimpleNamespace

import pytest

pytest.importorskip("tensorflow")
pytest.importorskip("tensorflow_text")

ODD = [
    "",
    "  \t\n",
    "¡",
    "😀",
    "a",
    "¿Qué?",
    "¡Ñandú número 3,50 € — «sí»!",
    "XYLOFON zzyzx Comieron LOS NIÑOS ...",
    "nin\u0303o Ç ø \u212a Ⅷ ﬁn\u00a0de'l'agua o’clock '' d''x",
    "tabs\tand\nlines \u2028 \x1c wide\u3000blank",
    "￭ casa￭ ￭? ##s [UNK] [END]",
    "los niños comieron la manzana roja , " * 4,
]


# With these an untrained model says something to every sentence, and not always the same.
SEEDS = {"rnn": 3, "bilstm": 6, "transformer": 2, "pre-norm": 0}


@pytest.fixture(autouse=True)
def on_tensorflow():
    import keras

    if keras.backend.backend() != "tensorflow":
        pytest.skip("graphs are written on the TensorFlow backend")


@pytest.fixture(scope="session")
def sentences():
    """Return 200 sentences: of the bundled grammar, some without accents or in capitals, odd ones.

    The first are odd, and some of these have no word.
    """
    from keras_attention.corpora.grammar import Grammar

    written = [pair.context for pair in Grammar.load().generate(200 - len(ODD), seed=11)]
    changes = (
        lambda text: text,
        str.upper,
        lambda text: unicodedata.normalize("NFD", text),
        lambda text: f"{text} {text[::2]}",
    )
    return ODD + [changes[number % 4](text) for number, text in enumerate(written)]


@pytest.fixture(scope="session")
def vocabularies():
    """Return the vocabularies of both kinds: pairs of context and target."""
    from keras_attention.corpora.grammar import Grammar
    from keras_attention.text import SPECIAL_WORDS, Vocabulary, WordPieces, split_words
    from keras_attention.text.word_pieces import split_marks

    pairs = Grammar.load().generate(300, seed=3)
    found = {"word": [], "wordpiece": []}
    for side in ("context", "target"):
        texts = [getattr(pair, side) for pair in pairs]
        words = sorted({word for text in texts for word, _ in split_words(text)})
        found["word"].append(Vocabulary([*SPECIAL_WORDS, *words[:131]]))
        letters = sorted({c for text in texts for c in text.lower() if c.isalpha()})
        marks = [f"{left}{c}{right}" for c in ".?!,¿'" for left in ("", "￭") for right in ("", "￭")]
        written = sorted({token for text in texts for token in split_marks(text)})
        written = [token for number, token in enumerate(written) if number % 4]
        ends = ["##s", "##os", "##ed", "##ing", "##mos"]
        pieces = [*letters, *(f"##{c}" for c in letters), *marks, *ends, *written]
        found["wordpiece"].append(WordPieces([*SPECIAL_WORDS, *dict.fromkeys(pieces)]))
    return SimpleNamespace(**found)


@pytest.fixture(scope="session")
def translators(vocabularies):
    """Return a function that makes an untrained translator by its name, the same every time."""
    import keras
    import numpy as np

    from keras_attention import models
    from keras_attention.translation.translator import Translator

    small = {"units": 24, "num_layers": 2, "num_heads": 3, "feed_forward_dim": 29}
    kinds = {
        "rnn": ("rnn", "word", {"units": 17}),
        "bilstm": ("bilstm", "word", {"units": 18, "attention": "location_aware"}),
        "transformer": ("transformer", "wordpiece", {**small, "tied": True}),
        "pre-norm": (
            *("transformer", "word"),
            {**small, "norm_first": True, "scale_embedding": False, "positions": "learned"},
        ),
    }
    made = {}

    def make(name):
        if name not in made:
            builder, tokens, options = kinds[name]
            sides = getattr(vocabularies, tokens)
            keras.utils.set_random_seed(7)
            model = models.BUILDERS[builder](*map(len, sides), **options)
            random = np.random.default_rng(SEEDS[name])
            for weights in model.trainable_weights:  # so that the models say different things
                weights.assign(weights + random.normal(scale=0.3, size=weights.shape))
            made[name] = Translator(model, *sides)
        return made[name]

    return make


@pytest.fixture(scope="session")
def with_words(sentences, vocabularies):
    """Return those of the sentences that a translator takes, whatever its tokens."""
    from keras_attention.translation.translator import MOST_TOKENS

    def fits(sentence):
        read = (getattr(vocabularies, kind)[0] for kind in ("word", "wordpiece"))
        return all(0 < len(each.tokenize([sentence])[0]) <= MOST_TOKENS for each in read)

    return list(filter(fits, sentences))


@pytest.fixture(scope="session")
def translations(translators, with_words):
    """Return a function that translates these sentences, once for each name and options."""

    @cache
    def translate(name, **options):
        return translators(name)(with_words, batch_size=len(with_words), **options)

    return translate
