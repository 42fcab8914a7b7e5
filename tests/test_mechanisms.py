"""For every mechanism: the model with it learns its task, and the model without it does not."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import keras
import numpy as np
import pytest

pytest.importorskip("tensorflow")

from examples.mechanisms import portraits, reading, report
from examples.mechanisms.__main__ import main
from examples.mechanisms.gallery import TASKS, chosen
from examples.mechanisms.task import Result, measure
from keras_attention import layers, models
from tests.contract import classes_in

pytestmark = pytest.mark.thorough

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

each_task = pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
@each_task
def test_a_task_is_learned_with_its_mechanism_and_not_without(task, seed):
    with_it, without = (measure(task, with_mechanism, seed) for with_mechanism in (True, False))
    print(f"\n{task.mechanism}: {with_it.accuracy:.3f}, without {without.accuracy:.3f}")
    assert with_it.accuracy >= task.at_least
    assert without.accuracy <= task.at_most


@each_task
def test_the_bounds_of_a_task_leave_a_gap(task):
    assert 0 <= task.chance <= task.at_most < task.at_least <= 1
    assert task.at_least - task.at_most > 0.14


@each_task
def test_the_data_are_drawn_by_the_seed(task):
    (inputs, labels), (again, labels_again) = (
        task.data(np.random.default_rng(5), 29) for _ in range(2)
    )
    other, _ = task.data(np.random.default_rng(6), 29)
    assert inputs.keys() == again.keys() == other.keys()
    np.testing.assert_array_equal(labels, labels_again)
    for name, values in inputs.items():
        assert len(values) == 29
        np.testing.assert_array_equal(values, again[name], err_msg=name)
    assert any((inputs[name] != other[name]).any() for name in inputs)


@pytest.mark.parametrize(
    "task", [each for each in TASKS.values() if each.answers], ids=lambda task: task.mechanism
)
def test_the_label_is_read_where_the_answer_stands(task):
    """So the outlines of the pictures are right; a dictionary has the labels in its memory."""
    inputs, labels = task.data(np.random.default_rng(3), 40)
    found = task.answers(inputs)
    assert found.dtype == bool
    has_one = found.sum(axis=-1) == 1
    assert has_one.mean() > 0.5
    assert not found[~has_one].any()
    memory = next(
        inputs[name] for name in ("values", "context", "tokens", "keys") if name in inputs
    )
    rows = np.arange(len(memory))[:, None]
    read = memory[rows, found.argmax(axis=-1)]
    if task.mechanism == "CausalSelfAttention":  # half the notes go wrong the second time
        assert 0.5 < np.mean((read == labels)[has_one.repeat(len(read) // len(has_one), 0)]) < 0.65
    elif task.mechanism == "Hopfield":
        shown = inputs["query"][:, None]
        np.testing.assert_array_equal(read * (shown != 0), shown)
    else:
        np.testing.assert_array_equal(read.reshape(labels.shape), labels)


@pytest.mark.parametrize("with_mechanism", [True, False], ids=["with", "without"])
@each_task
def test_a_model_takes_the_data_and_has_a_logit_for_every_label(task, with_mechanism):
    model = task.build(with_mechanism)
    inputs, labels = task.data(np.random.default_rng(5), 29)
    outputs = model({name: keras.ops.convert_to_tensor(x) for name, x in inputs.items()})
    logits = outputs["logits"] if isinstance(outputs, dict) else outputs
    assert np.issubdtype(labels.dtype, np.integer)
    assert labels.min() >= 0
    assert labels.max() < logits.shape[-1]
    if task.mechanism == reading.CTC:
        assert labels.min() > 0  # the blank is no label
    else:
        assert tuple(logits.shape[:-1]) == labels.shape
    assert 0 <= task.score(model, inputs, labels) <= 1


def classes_of(*several):
    """Return the names of the classes of all layers in some models."""
    return classes_in([keras.saving.serialize_keras_object(model) for model in several])


def models_of_the_lab():
    """Build those systems of the lab whose layers are nowhere else, as small as they can be."""
    return [
        models.build_captioner((4, 4, 1), target_vocabulary_size=7, units=2, filters=(2,)),
        models.build_memory_network(vocabulary_size=7, units=2),
        models.build_neural_turing_machine(rows=3, width=2, units=2),
        models.build_recurrent_attention((4, 4, 1), num_glimpses=2, size=2, scales=1, units=2),
    ]


def test_every_layer_of_the_package_is_in_the_gallery_or_in_the_lab():
    gallery = [task.build(with_it) for task in TASKS.values() for with_it in (True, False)]
    found = set(classes_of(*gallery, *models_of_the_lab()))
    found.add("KerasMultiHeadAttention")  # equal to MultiHeadAttention, says a test of the layer
    # These are their parts one after the other, say tests of theirs.
    found |= {"PositionalEmbedding", "TransformerDecoderLayer", "TransformerEncoderLayer"}
    public = {name: getattr(layers, name) for name in layers.__all__ if name != "scores"}
    assert {name for name, kind in public.items() if issubclass(kind, keras.layers.Layer)} <= found


def test_every_score_of_the_menu_is_in_the_gallery():
    gallery = [task.build(with_it) for task in TASKS.values() for with_it in (True, False)]
    menu = {score.__name__ for score in layers.scores.SCORES.values()}
    assert menu - {"AdditiveScore"} <= set(classes_of(*gallery))  # AdditiveAttention holds that one


def test_tasks_are_chosen_by_name():
    assert [task.mechanism for task in chosen(["CTC", "cosine"])] == ["cosine", "CTC"]
    assert chosen() == list(TASKS.values())


def test_an_unknown_task_is_one_line_that_lists_the_known_ones():
    command = [sys.executable, "-m", "examples.mechanisms", "--task", "telepathy"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stdout == ""
    message = done.stderr.strip().splitlines()[-1]
    assert message.startswith("examples.mechanisms: error: no task 'telepathy'; there are ")
    assert "'cosine'" in message
    assert "Traceback" not in done.stderr


def test_a_bad_option_is_one_line(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["mechanisms", "--seeds", "0"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_the_command_measures_and_writes(monkeypatch, capsys, tmp_path):
    options = ["--task", "Hopfield", "--seeds", "1", "--out", str(tmp_path / "new")]
    monkeypatch.setattr(sys, "argv", ["mechanisms", *options])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert not stopped.value.code
    assert "Hopfield" in capsys.readouterr().out
    names = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert names == ["results.json", "results.md", "results.png"]
    (with_it,) = json.loads((tmp_path / "new" / "results.json").read_text())["tasks"]["Hopfield"][
        "with"
    ]
    assert with_it["accuracy"] >= TASKS["Hopfield"].at_least


def test_the_table_shows_the_mean_and_the_worst_seed():
    row = report.Row(
        TASKS["cosine"],
        [Result(1.0, 2.0), Result(0.5, 4.0)],
        [Result(0.25, 6.0), Result(0.125, 8.0)],
    )
    expected = ("cosine", "dot", "0.750", "0.500", "0.188", "0.250", "5.0")
    assert row.cells() == expected
    assert f"| {' | '.join(expected)} |" in report.markdown([row], 2)


def test_a_portrait_shows_where_a_layer_looks(tmp_path):
    task = replace(TASKS["MonotonicLocalAttention"], steps=2)
    captions = portraits.draw([task], tmp_path)
    assert list(captions) == ["MonotonicLocalAttention"]
    assert captions["MonotonicLocalAttention"].startswith(task.why)
    picture = tmp_path / "MonotonicLocalAttention.png"
    assert picture.read_bytes().startswith(b"\x89PNG")

    inputs, _ = task.data(np.random.default_rng(0), 5)
    weights = portraits.weights_of(task.build(True), inputs)["MonotonicLocalAttention"]
    far = np.abs(np.subtract.outer(*map(np.arange, weights.shape[1:]))) > 3
    assert weights.shape[0] == 5
    np.testing.assert_array_equal(weights[:, far], 0)
    assert (weights[:, ~far] > 0).any()


@pytest.mark.parametrize(
    ("name", "when"),
    [
        ("FeedForward", "after 2 steps."),
        ("LearnedPositions", "after 2 steps."),
        ("SinusoidalPositions", "with nothing to learn."),
    ],
)
def test_a_part_that_looks_at_nothing_has_a_portrait_too(tmp_path, name, when):
    task = replace(TASKS[name], steps=2)
    captions = portraits.draw([task], tmp_path)
    assert {path.stem for path in tmp_path.glob("*.png")} == set(captions)
    assert captions[name].startswith(task.why)
    assert captions[name].endswith(when)


def test_every_layer_that_looks_has_a_portrait():
    folder = Path(ROOT, "examples/mechanisms/pictures")
    captions = json.loads((folder / "captions.json").read_text(encoding="utf-8"))
    assert {path.stem for path in folder.glob("*.png")} == set(captions)
    assert len(captions) >= 21
