"""Programs of a translator: how many there are, when they are made, and what they leave behind."""

import gc
import os
from pathlib import Path

import keras
import numpy as np
import pytest

from keras_attention import models
from keras_attention.corpora import BUCKETS
from keras_attention.text import SPECIAL_WORDS, Vocabulary
from keras_attention.translation import translator as room
from keras_attention.translation.translator import Translator

of_programs = pytest.mark.skipif(
    keras.backend.backend() == "torch", reason="Keras compiles nothing on PyTorch"
)
LIMIT = 6  # tokens of a translation, fewer than of the shortest bucket
SIZE = 7


@pytest.fixture
def translator():
    words = [a + b for a in "abcdef" for b in "abcdefghijk"]
    vocabulary = Vocabulary([*SPECIAL_WORDS, *words])
    size = len(vocabulary)
    return Translator(models.build_rnn_attention(size, size, units=5), vocabulary, vocabulary)


def sentences(translator, count, seed=0, longest=room.MOST_TOKENS):
    """Draw sentences of random lengths."""
    generator, words = np.random.default_rng(seed), translator.context_vocabulary.words[4:]
    return [
        " ".join(generator.choice(words, length))
        for length in generator.integers(1, longest + 1, count)
    ]


def translate(translator, drawn):
    return translator(drawn, max_length=LIMIT, batch_size=SIZE)


def memory():
    """Return the memory that this process holds, in bytes."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.thorough
@of_programs
def test_there_is_one_program_a_bucket_and_number_of_sentences(translator):
    buckets = [bucket for bucket in BUCKETS if bucket <= 16]
    kinds = 2  # generating and looking
    for seed, count in enumerate([1, 7, 64, 65, 2, 1, 1, 6, 8, 1]):
        translate(translator, sentences(translator, count, seed, longest=14))
    assert kinds * 2 <= translator.programs <= kinds * 2 * len(buckets)


@of_programs
def test_a_program_is_made_once(translator):
    drawn = sentences(translator, 2, longest=5)
    translate(translator, drawn)
    made = translator.programs
    assert made == 2  # one that generates, one that looks
    translate(translator, drawn[::-1])
    translate(translator, [*drawn, drawn[0]])
    assert translator.programs == made
    translate(translator, drawn[0])
    assert translator.programs == 2 * made
    translator(drawn[0], max_length=LIMIT + 1, attention=False)
    assert translator.programs == 2 * made + 1


@of_programs
def test_after_warming_up_nothing_is_compiled(translator):
    translator.warm_up(lengths=[3, 10], batch_size=SIZE, max_length=LIMIT)
    made = translator.programs
    assert made == 2 * 2 * 2  # buckets; alone and in a batch; generating and looking
    for count, longest in ((1, 6), (5, 6), (30, 8), (1, 8)):
        translate(translator, sentences(translator, count, longest=longest))
    assert translator.programs == made
    translator.warm_up(lengths=[3, 10], batch_size=SIZE, max_length=LIMIT)
    assert translator.programs == made


@pytest.mark.thorough
def test_warming_up_reports_each_bucket(translator):
    seen = []

    def progress(buckets):
        for bucket in buckets:
            yield bucket
            seen.append(bucket)

    translator.warm_up([9, 3, 4], attention=False, batch_size=1, progress=progress, max_length=2)
    assert seen == [8, 10]
    assert translator.programs == len(seen)


def test_warming_up_heeds_the_positions_of_a_model():
    vocabulary = Vocabulary([*SPECIAL_WORDS, "a", "b"])
    sizes = {"units": 4, "num_layers": 1, "num_heads": 1, "feed_forward_dim": 3}
    model = models.build_transformer(6, 6, positions="learned", max_positions=9, **sizes)
    translator = Translator(model, vocabulary, vocabulary)
    translator.warm_up([8, 12, 16], batch_size=1, max_length=3)
    made = translator.programs
    translator("a b a b a b a", max_length=3)
    assert translator.programs == made


@pytest.mark.parametrize("length", [1, 65])
def test_no_bucket_is_warmed_up_for_a_length_that_no_sentence_has(translator, length):
    with pytest.raises(ValueError, match=f"lengths must be from 2 to 64 tokens, got {length}"):
        translator.warm_up([8, length])
    assert translator.programs == 0


@pytest.mark.thorough
def test_the_programs_of_the_last_sets_of_options_are_kept(translator, monkeypatch):
    made, generator = [], room.Generator

    def make(encode, step, **options):
        made.append(options["max_length"])
        return generator(encode, step, **options)

    monkeypatch.setattr(room, "MOST_GENERATORS", 2)
    monkeypatch.setattr(room, "Generator", make)
    for limit in (1, 2, 1, 3, 1):  # 3 takes the place of 2, since 1 was asked for again
        translator("aa", max_length=limit, attention=False)
    assert made == [1, 2, 3]
    assert translator.programs == 2
    translator("aa", max_length=2, attention=False)
    assert made == [1, 2, 3, 2]


def grows(translator, count, longest):
    """Return by how much translating sentences of random lengths raises the memory that is held."""
    if not Path("/proc/self/statm").is_file():
        pytest.skip("the memory of a process is read from Linux")
    translator.warm_up(range(2, longest + 3), batch_size=SIZE, max_length=LIMIT)
    translate(translator, sentences(translator, 500, longest=longest))
    made, before = translator.programs, memory()
    for seed in range(count // 100):
        translate(translator, sentences(translator, 99, seed, longest))
        translate(translator, sentences(translator, 1, seed, longest)[0])
    assert translator.programs == made
    return memory() - before


@pytest.mark.thorough
@pytest.mark.xla
def test_translating_leaves_nothing_behind(translator):
    assert grows(translator, 600, longest=8) < 20e6


@pytest.mark.slow
def test_ten_thousand_translations_leave_nothing_behind(translator):
    assert grows(translator, 10_000, longest=room.MOST_TOKENS) < 50e6
