"""The parts of the benchmarks: what is counted, who takes turns, how figures are held to bars."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tensorflow")

from examples.benchmarks import (
    batches,
    choices,
    decoding,
    flops,
    footprint,
    growing,
    growth,
    machine,
    paper_training,
    subject,
    training,
)
from examples.benchmarks.workers import Job, Worker, WorkerError, started, take_turns
from keras_attention.installing import pip_install

ROOT = Path(__file__).resolve().parents[2]
SIZES = {"units": 5, "num_layers": 3, "num_heads": 1, "feed_forward_dim": 7, "vocabulary": 11}


def products(*shapes):
    """Return the operations of products of (n, m) and (m, p)."""
    return sum(2 * n * m * p for n, m, p in shapes)


def test_the_operations_of_a_transformer_are_those_of_its_products():
    s, t, d, f, v = 13, 17, 5, 7, 11
    attention = lambda q, k: [(q, d, d), (k, d, d), (k, d, d), (q, d, k), (q, k, d), (q, d, d)]  # noqa: E731
    feed = lambda length: [(length, d, f), (length, f, d)]  # noqa: E731
    layer = [*attention(s, s), *feed(s), *attention(t, t), *attention(t, s), *feed(t)]
    assert flops.forward("transformer", s, t, SIZES) == products(*3 * layer, (t, d, v))


def test_the_operations_of_the_rnn_are_those_of_its_products():
    s, t, d, v = 13, 17, 5, 11
    gru = lambda length: [(length, d, 3 * d), (length, d, 3 * d)]  # noqa: E731
    attention = [(t, d, d), (s, d, d), (s, d, d), (t, d, s), (t, s, d), (t, d, d)]
    expected = products(*gru(s), *gru(s), *gru(t), *attention, (t, d, v))
    assert flops.forward("rnn", s, t, SIZES) == expected


def ids_of(*lengths):
    """Return rows of ids of some lengths, padded with 0."""
    ids = np.zeros((len(lengths), max(lengths)), dtype="int32")
    for row, length in zip(ids, lengths, strict=True):
        row[:length] = np.arange(2, 2 + length)
    return ids


def test_the_paper_s_pairs_have_no_padding_and_rarer_words_less_often():
    context, target = paper_training.drawn(400, 1000)
    assert context.shape == (400, 64)
    assert target.shape == (400, 65)
    for ids in (context, target):
        assert ids.min() == paper_training.SPECIAL
        assert ids.max() < 1000
        counts = np.bincount(ids.ravel())[paper_training.SPECIAL :]
        # By Zipf's law the n-th word has 1 / n of the first one's count
        assert counts[:10] / counts[0] == pytest.approx(1 / np.arange(1, 11), rel=0.2)


def test_thirds_are_sorted_by_the_longer_sentence_and_hold_each_pair_once():
    short, middle, long = batches.by_length(ids_of(3, 9, 2, 5, 2, 7), ids_of(3, 2, 4, 2, 8, 2))
    assert [short.tolist(), middle.tolist(), long.tolist()] == [[0, 2], [3, 5], [1, 4]]


def turn_of(pool, condition):
    """Return the batches of a turn, padded to their longest."""
    rows = batches.rows_of_a_turn(*pool, condition)
    return [batches.padded_to_longest(*pool, each) for each in rows]


def test_batches_are_padded_to_their_longest_and_the_same_each_time():
    pool = ids_of(3, 9, 2, 5, 2, 7), ids_of(3, 2, 4, 2, 8, 2)
    condition = batches.Condition(np.arange(6), 2, 3)
    turn, again = (turn_of(pool, condition) for _ in range(2))
    for (context, target, labels), (same, *_) in zip(turn, again, strict=True):
        np.testing.assert_array_equal(context, same)
        assert (context != 0).any(axis=0).all()  # no column is all padding
        assert target.shape == labels.shape
        assert ((target != 0).sum(1) == (labels != 0).sum(1)).all()
    assert sum((labels != 0).sum() for *_, labels in turn) == (pool[1] != 0).sum() - 6


def test_the_same_batches_have_sentences_of_about_equal_length():
    pool = ids_of(*[3, 9, 4, 6] * 3), ids_of(*[9, 3, 4, 7] * 3)
    condition = batches.Condition(np.arange(12), 3, 4, batches.SORTED)
    rows = batches.rows_of_a_turn(*pool, condition)
    assert sorted(map(sorted, rows.tolist())) == [[0, 4, 8], [1, 5, 9], [2, 6, 10], [3, 7, 11]]
    few = batches.rows_of_a_turn(*pool, condition._replace(rows=np.arange(7), steps=2))
    assert sorted(few.ravel().tolist()) == [0, 1, 2, 3, 5, 6]  # the last in order fills no batch


def test_what_is_padded_to_the_longest_has_as_many_batches_of_an_eighth_of_the_pairs():
    pool = ids_of(*range(3, 35)), ids_of(*range(34, 2, -1))
    conditions = choices.conditions_of(32, 2, 16)
    assert {each.steps for each in conditions.values()} == {16}
    sides = {name: turn_of(pool, each) for name, each in conditions.items()}
    turn = sides[choices.LONGEST]
    assert len({context.tobytes() for context, *_ in turn}) == 2
    assert len({context.tobytes() for context, *_ in sides[choices.SHAPES]}) == 16
    counts = batches.counted(((context, labels) for context, _, labels in turn), "rnn", SIZES)
    once = (pool[1][:4] != 0).sum() - 4  # each of the first four pairs comes eight times
    assert (counts["sentences"], counts["target_tokens"]) == (32, 8 * once)


def test_counts_are_those_on_paper():
    context, labels = ids_of(3, 5, 1), np.array([[4, 3, 0, 0], [4, 4, 4, 3], [0, 0, 0, 0]])
    found = batches.counted([(context, labels)], "rnn", SIZES)
    assert (found["sentences"], found["target_tokens"], found["target_places"]) == (2, 6, 12)
    whole = 3 * 3 * flops.forward("rnn", 5, 4, SIZES)
    useful = 3 * (flops.forward("rnn", 3, 2, SIZES) + flops.forward("rnn", 5, 4, SIZES))
    assert (found["operations"], found["useful_operations"]) == (whole, useful)


class Pretended:
    """A worker that writes down when it is called."""

    def __init__(self, name, calls):
        self.name, self.calls = name, calls

    def call(self, method, *arguments):
        self.calls.append((self.name, method, *arguments))
        return float(len(self.calls)), len(self.calls)


class Silent:
    def expect(self, count):
        self.expected, self.turns = count, 0

    def doing(self, what):
        pass

    def done(self):
        self.turns += 1


def test_workers_take_turns_in_each_round_and_the_first_round_is_kept_apart():
    calls, progress = [], Silent()
    workers = {name: Pretended(name, calls) for name in "ab"}
    jobs = [Job("train", "go", (3,)), Job("alone", "stop")]
    can = lambda name, job: job.name == "train" or name == "a"  # noqa: E731
    timed = take_turns(workers, jobs, 2, progress, can=can)
    assert calls == 3 * [("a", "go", 3), ("b", "go", 3), ("a", "stop")]
    assert progress.turns == progress.expected == 9
    assert timed["train"]["b"] == (2.0, [5.0, 8.0], [5, 8])
    assert list(timed["alone"]) == ["a"]


def test_a_worker_has_a_process_of_its_own_and_says_what_went_wrong_in_it():
    with started({"options": ("prepared", "Options", {"corpus": "a corpus"})}) as workers:
        worker = workers["options"]
        assert worker.ask("_asdict")["corpus"] == "a corpus"
        memory = worker.memory()
        assert 0 < memory["start"] <= memory["most"]
        with pytest.raises(
            WorkerError, match=r"^options failed at pool\(rnn\): FileNotF"
        ) as raised:
            worker.ask("pool", "rnn")
        assert "\n" not in str(raised.value)
        assert raised.value.report.startswith("Traceback")
        assert worker.ask("_asdict")["rounds"] == 5  # it goes on
    with pytest.raises(WorkerError, match=r"^nothing failed at its start: TypeError.*no_such_opt"):
        Worker("nothing", ("prepared", "Options"), no_such_option=1)


def test_a_process_that_dies_is_named_and_the_others_end():
    processes = []

    def die():
        with started({name: ("prepared", "Options", {}) for name in "ab"}) as workers:
            processes.extend(worker.process for worker in workers.values())
            processes[1].kill()
            processes[1].join()
            workers["b"].ask("_asdict")

    with pytest.raises(WorkerError, match=r"^b failed at _asdict: its process ended by signal 9$"):
        die()
    assert not any(process.is_alive() for process in processes)


@pytest.mark.parametrize("module", ["workers", "ctranslate2_model", "torch_models"])
def test_the_process_of_a_rival_loads_no_keras(module):
    if module == "torch_models":
        pytest.importorskip("torch", reason="needs the extra torch")
    code = (
        f"import sys, examples.benchmarks.{module}; "
        "print(*{'keras', 'tensorflow', 'jax'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""


def test_a_figure_is_the_median_and_is_held_to_two_bars():
    held = subject.held("speed", [3.0, 1.0, 2.0], "×", at_least=(2, 4))
    assert held.cells() == ("speed", "2", "1 – 3", "×", "✓ ≥ 2", "✗ ≥ 4")
    assert held.cells(quick=True)[-2:] == ("≥ 2", "≥ 4")
    held = subject.held("time", [7.0], "ms", at_most=(5, None))
    assert held.cells() == ("time", "7", "", "ms", "✗ ≤ 5", "")
    assert subject.held("plain", [7.0], "ms").cells()[-2:] == ("", "")


def test_a_rival_that_is_not_there_is_left_out_with_what_brings_it(monkeypatch):
    monkeypatch.setitem(subject.RIVALS, "PyTorch", "no_such_package")
    assert not subject.is_there("PyTorch")
    (line,) = subject.left_out(["PyTorch"])
    assert "PyTorch is left out" in line
    assert pip_install("bench") in line


class On:
    """A worker that says what it computes on."""

    def __init__(self, device):
        self.ask = {"device": device}.__getitem__


@pytest.mark.parametrize(
    ("ours", "left"), [("NVIDIA H100", {"b", "c"}), ("CPU:0", {"d"}), ("cpu", {"d"})]
)
def test_a_rival_on_another_kind_of_device_is_left_out(ours, left):
    devices = {"a": ours, "b": "cpu", "c": "CPU:0", "d": "cuda"}
    lines = subject.on_other_devices({name: On(each) for name, each in devices.items()}, "a")
    assert set(lines) == left
    for name, line in lines.items():
        assert line == f"{name} is left out, since it computes on {devices[name]}, and a on {ours}"


@pytest.mark.parametrize(("device", "size", "count"), [("CPU:0", 2, 1), ("cuda", 3, 10)])
def test_a_matrix_product_is_timed_without_what_prepares_it(monkeypatch, device, size, count):
    monkeypatch.setattr(machine, "PEAK_SIZE", 2)
    monkeypatch.setattr(machine, "GPU_PEAK_SIZE", 3)
    now, calls = [0.0], []
    monkeypatch.setattr(machine.time, "perf_counter", lambda: now[0])

    def prepare(array):
        now[0] += 100.0
        return array.shape

    def multiply(a, b, count):
        now[0] += 4.0 - len(calls)  # ever faster: what counts is the best
        calls.append((a, b, count))

    rate = machine.multiply_rate(multiply, prepare, device, repeats=2)
    assert calls == [(*2 * ((size, size),), each) for each in (1, count, count)]
    assert rate == 2 * size**3 * count / 2.0


def test_a_very_slow_matrix_product_is_timed_once(monkeypatch):
    monkeypatch.setattr(machine, "PEAK_SIZE", 2)
    now, calls = [0.0], []
    monkeypatch.setattr(machine.time, "perf_counter", lambda: now[0])

    def multiply(a, b, count):
        now[0] += 2 * machine.SLOW
        calls.append(count)

    assert machine.multiply_rate(multiply) == 2 * 2**3 / (2 * machine.SLOW)
    assert calls == [1]


def test_the_short_sentence_is_one_than_which_a_quarter_has_fewer_words():
    sentences = [" ".join("a" * length) for length in (7, 2, 8, 3, 5, 4, 6, 1)]
    assert decoding.short_sentence(sentences) == "a a a"


def test_the_share_of_the_peak_is_operations_by_time_and_by_the_fastest_product():
    found = {"operations": 6e9, "useful_operations": 3e9, "seconds": [2.0]}
    raw = {
        "measured": {"all": {training.OURS: found}},
        "matrix_product": {training.OURS: [9e9, 1e10], training.TORCH: [8e9, 7e9]},
    }
    shares = [held.figure.value for held in training.shares_of_peak(raw)]
    assert shares == pytest.approx([30, 15])


def test_in_a_beam_search_all_but_the_source_is_computed_for_each_hypothesis():
    for kind in ("rnn", "transformer"):
        one, two, three = (flops.forward(kind, 13, 17, SIZES, hypotheses=w) for w in (1, 2, 3))
        assert three - two == two - one
        the_source = one - (two - one)
        assert the_source == flops.forward(kind, 13, 0, SIZES)


@pytest.mark.parametrize("kind", ["rnn", "transformer"])
def test_the_least_to_keep_has_four_numbers_for_each_weight_of_a_model_in_training(kind):
    sizes = {"units": 24, "vocabulary": 300}
    if kind == "transformer":
        sizes |= {"num_layers": 2, "num_heads": 4, "feed_forward_dim": 50}
    from examples.benchmarks.endless import Endless

    weights = Endless(kind, sizes).model.count_params()
    kept = {work: footprint.of_step(work, kind, sizes, 0, 0, 0) for work in ("train", "decode")}
    assert kept["train"] == 4 * kept["decode"]
    assert kept["decode"] / footprint.BYTES == pytest.approx(weights, rel=0.05)  # but biases


def test_a_point_has_the_sizes_of_its_axis_and_else_the_usual_ones():
    sizes = {**SIZES, "units": 10, "feed_forward_dim": 40}
    found = {each.name: each for each in growing.points("transformer", sizes)}
    wide, beam = found["train, width 512"], found["decode, hypotheses of a beam 8"]
    assert wide.model == {**sizes, "units": 512, "feed_forward_dim": 2048}
    assert (wide.call, beam.call) == ((16, 16, 64), (16, 16, 64, 8))
    assert beam.model == sizes
    assert not [name for name in found if name.startswith("decode, width")]
    of_an_rnn = growing.points("rnn", {"units": 10, "vocabulary": 11})
    assert {each.axis for each in of_an_rnn} == set(growing.LABELS) - {"num_layers"}


def test_points_of_one_model_are_measured_together_and_told_by_axis():
    points = growing.points("rnn", {"units": 128, "vocabulary": 8000}, quick=True)
    groups = {model["units"]: group for model, group in growing.by_model(points)}
    assert {width: len(group) for width, group in groups.items()} == {128: 8, 16: 1, 32: 1}
    told = growing.by_axis(points, {each.name: [each.size] for each in points}, "bytes")
    assert told["train"]["units"] == {"sizes": [16, 32], "bytes": [[16], [32]]}
    assert told["decode"]["beam"] == {"sizes": [1, 2], "bytes": [[1], [2]]}


def test_an_exponent_is_the_slope_of_the_logarithms():
    assert growing.exponent([2, 4, 8, 64], [3 * n**1.5 for n in (2, 4, 8, 64)]) == pytest.approx(
        1.5
    )


def test_the_time_of_a_token_is_that_of_a_sentence_by_its_tokens():
    assert growth.time_a_token((16, 64, 256), (32, 0, 1024)) == pytest.approx(2)


def test_a_further_token_knows_nothing_of_what_a_call_costs_anyway():
    seconds = [1000 + 2 * tokens for tokens in (16, 64, 256)]
    assert growth.time_of_a_further_token((16, 64, 256), seconds) == pytest.approx(1)
    seconds[-1] = seconds[-2] + 3 * 192
    assert growth.time_of_a_further_token((16, 64, 256), seconds) == pytest.approx(1.5)
