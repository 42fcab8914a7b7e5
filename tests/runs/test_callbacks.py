"""What a run leaves when it is watched, and that watching changes nothing else."""

import json
import struct

import numpy as np
import pytest

pytest.importorskip("tensorflow")

from keras_attention import runs
from keras_attention.runs.callbacks import TranslateEachEpoch
from keras_attention.translation import evaluation
from keras_attention.translation.translator import Translator
from tests.conftest import RUN_FILES, files

SENTENCES = ["El niño come.", "¿La casa es roja?"]


@pytest.fixture(scope="module")
def watched(tiny_run, tmp_path_factory):
    """Train the tiny run once more, watched."""
    folder = tmp_path_factory.mktemp("watched") / "run"
    runs.train(
        tiny_run.train,
        tiny_run.validation,
        folder,
        tiny_run.settings,
        sources=tiny_run.sources,
        watched=SENTENCES,
        bleu_sample=5,
        verbose=0,
    )
    return folder


def records(path):
    """Return the events of a file that TensorBoard reads, without TensorBoard."""
    import tensorflow as tf

    events, data = [], path.read_bytes()
    while data:  # length, its checksum, the event, its checksum
        (length,) = struct.unpack("<Q", data[:8])
        event = tf.compat.v1.Event()
        event.ParseFromString(data[12 : 12 + length])
        events.append(event)
        data = data[16 + length :]
    return events


@pytest.mark.thorough
def test_watching_changes_nothing_but_what_it_adds(tiny_run, watched):
    history, plain = (
        json.loads((folder / "history.json").read_text()) for folder in (watched, tiny_run.folder)
    )
    added = {"val_bleu", "val_bleu_words"}
    assert set(history) == {*plain, *added}
    assert {name: history[name] for name in plain} == plain
    assert set(files(watched)) >= set(RUN_FILES)
    configs = [
        json.loads((folder / "config.json").read_text()) for folder in (watched, tiny_run.folder)
    ]
    for config in configs:
        del config["files"], config["sha256"]  # a model is saved with its time, and BLEU is added
    assert configs[0] == configs[1]


@pytest.mark.thorough
def test_every_epoch_draws_every_sentence(tiny_run, watched):
    pictures = sorted((watched / "watched").glob("*.png"))
    assert [path.name for path in pictures] == [
        f"epoch-{epoch:04d}-{number}.png"
        for epoch in range(1, tiny_run.settings.epochs + 1)
        for number in (1, 2)
    ]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in pictures)
    assert len({path.read_bytes() for path in pictures}) == len(pictures)


@pytest.mark.thorough
def test_the_score_of_the_last_epoch_is_that_of_the_model_then(tiny_run, watched):
    history = json.loads((watched / "history.json").read_text())
    best = int(np.argmin(history["val_masked_loss"]))
    count = len(tiny_run.validation)
    sample = [tiny_run.validation[place * count // 5] for place in range(5)]
    scores = evaluation.bleu(Translator.load(watched), sample)
    assert history["val_bleu"][best] == pytest.approx(scores.as_written.value)
    assert history["val_bleu_words"][best] == pytest.approx(scores.words.value)


@pytest.mark.thorough
def test_tensorboard_has_the_scores_and_the_pictures(tiny_run, watched):
    history = json.loads((watched / "history.json").read_text())
    (path,) = (watched / "watched" / "events").iterdir()
    values = [(event.step, value) for event in records(path) for value in event.summary.value]
    bleu = {step: value.simple_value for step, value in values if value.tag == "val_bleu_words"}
    assert list(bleu) == [1, 2, 3, 4]
    assert list(bleu.values()) == pytest.approx(history["val_bleu_words"], rel=1e-6)
    pictures = [(step, value) for step, value in values if value.HasField("image")]
    assert [(step, value.tag) for step, value in pictures] == [
        (epoch, f"sentence {number}: {sentence}")
        for epoch in range(1, 5)
        for number, sentence in enumerate(SENTENCES, start=1)
    ]
    first = (watched / "watched" / "epoch-0001-1.png").read_bytes()
    image = pictures[0][1].image
    assert image.encoded_image_string == first
    assert (image.width, image.height) == struct.unpack(">II", first[16:24])


def test_what_cannot_be_watched_says_so_before_training(tiny_run, tmp_path):
    arguments = tiny_run.train, tiny_run.validation, tmp_path / "run", tiny_run.settings
    with pytest.raises(ValueError, match="nothing to translate"):
        runs.train(*arguments, watched=["   "], verbose=0)
    with pytest.raises(ValueError, match="at most 62 tokens, got more in 'casa casa"):
        runs.train(*arguments, watched=["casa " * 63], verbose=0)
    with pytest.raises(ValueError, match="expected a list of sentences, got one string"):
        runs.train(*arguments, watched="casa", verbose=0)
    with pytest.raises(ValueError, match="bleu_sample must be 0 or above, got -1"):
        runs.train(*arguments, bleu_sample=-1, verbose=0)
    assert not (tmp_path / "run").exists()


def test_a_model_without_attention_has_nothing_to_draw(tiny_run, tmp_path, monkeypatch):
    monkeypatch.setattr(Translator, "heads", lambda self: [])
    with pytest.raises(ValueError, match="this model has no attention to draw"):
        TranslateEachEpoch(tiny_run.translator, tmp_path, sentences=SENTENCES)
    TranslateEachEpoch(tiny_run.translator, tmp_path, sample=tiny_run.validation)


def test_a_run_on_several_devices_is_not_watched(tiny_run, tmp_path):
    from keras_attention.distribution import Distribution

    with pytest.raises(ValueError, match="need a run on one device"):
        runs.train(
            tiny_run.train,
            tiny_run.validation,
            tmp_path / "run",
            tiny_run.settings,
            watched=SENTENCES,
            distribution=Distribution(engine=object()),
        )
    assert not (tmp_path / "run").exists()
