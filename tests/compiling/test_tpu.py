"""Google's compiler for TPUs, in processes of its own: `keras-attention compile-check`."""

import json

import pytest

pytest.importorskip("tensorflow")

from keras_attention import cli, runs
from keras_attention.compiling import topologies
from keras_attention.installing import pip_install

LENGTH, UNITS, VOCABULARY = 5, 16, 101
SIZES = ("--length", LENGTH, "--units", UNITS, "--vocabulary", VOCABULARY)
MODELS = ("rnn", "transformer")

# The console script, as often as there are lists of arguments; what it leaves: status, out, err
COMMAND = """
import contextlib, io, json, os, sys
arguments = [json.loads(each) for each in sys.argv[1:]]
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"  # or it would close the way to stderr
from keras_attention_command import main

results = []
for each in arguments:
    sys.argv[1:] = ["compile-check", *each]
    out, err, status = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as exit:
            status = exit.code
    results.append((status, out.getvalue(), err.getvalue()))
print(json.dumps(results))
"""


@pytest.fixture(scope="module")
def run(fresh):
    return lambda *calls: fresh(COMMAND, *(json.dumps(list(map(str, each))) for each in calls))


@pytest.fixture(scope="module")
def report(run):
    """Compile the two translation models for four chips."""
    models = [argument for name in MODELS for argument in ("--model", name)]
    ((status, out, err),) = run(("--json", *models, "--batch-size", 8, *SIZES))
    assert (status, err) == (0, "")
    return json.loads(out)


@pytest.fixture(scope="module")
def programs(report):
    return {(each["model"], each["step"]): each for each in report["programs"]}


def test_the_translation_models_compile_for_a_tpu(report, programs):
    assert report["topology"]["kind"] == "TPU v5 lite"
    assert report["topology"]["devices"] == report["topology"]["chips"] == 4
    assert list(programs) == [(name, step) for name in MODELS for step in ("training", "decoding")]
    for each in programs.values():
        assert each["error"] is None
        assert each["seconds"] > 0
        assert each["flops"] > 0
        assert each["bytes_accessed"] > each["arguments"] / 2
        assert each["code"] > 0


def test_nothing_in_the_programs_needs_the_host_or_is_of_unknown_size(programs):
    for each in programs.values():
        assert each["host_calls"] == each["dynamic_shapes"] == []


@pytest.mark.parametrize("name", MODELS)
def test_every_chip_holds_the_weights_and_all_gradients_are_summed(programs, name):
    ids = range(VOCABULARY)
    settings = runs.Settings(model=name, units=UNITS, vocabulary=VOCABULARY)
    weights = 4 * runs.build(settings, ids, ids).count_params()
    training, decoding = programs[name, "training"], programs[name, "decoding"]
    # A TPU keeps arrays in tiles of 8 × 128 numbers, so that small ones take more
    assert training["arguments"] >= 3 * weights  # with the two moments of Adam
    assert training["aliased"] >= 3 * weights
    assert weights <= decoding["arguments"] < training["arguments"] / 2
    (reduced,) = training["collectives"]
    assert reduced["kind"] == "all-reduce"
    assert weights <= reduced["bytes"] < 1.5 * weights


@pytest.mark.parametrize("name", MODELS)
def test_the_whole_loop_of_decoding_is_one_program(programs, name):
    decoding = programs[name, "decoding"]
    assert LENGTH in decoding["loops"]
    # All that the chips say to one another, once a token: whether all sentences have ended
    (said,) = decoding["collectives"]
    assert (said["kind"], said["count"], said["runs"]) == ("all-reduce", 1, LENGTH)
    assert said["bytes"] == 4 * LENGTH


def test_the_operations_of_the_rnn_are_those_of_its_matrices(programs):
    sentences, tokens, d = 8, 8 * LENGTH, UNITS
    grus = 3 * 2 * (2 * d * 3 * d)  # three, each with an input and a state for three gates
    attention = 4 * 2 * d * d + 2 * 2 * LENGTH * d  # four projections; scores and read
    to_logits = 2 * d * VOCABULARY
    forward = tokens * (grus + attention + to_logits)
    assert programs["rnn", "decoding"]["matrix_flops"] >= forward
    # Each product has two gradients; those of what is given need none
    assert 2 * forward < programs["rnn", "training"]["matrix_flops"] <= 3 * forward
    assert sentences * LENGTH == tokens


def test_the_table_says_what_became_of_each_program(run):
    model = ("--model", "seq2seq", "--units", UNITS)
    alone, many, large = run(
        ("--topology", "v5e:1x1", "--batch-size", 3, *model),
        ("--topology", "v5e:4x4", "--batch-size", 32, *model),
        ("--batch-size", 2**22, *model),  # more than the memory of a chip
    )
    status, out, err = alone
    assert (status, err) == (0, "")
    assert "1 chip (TPU v5 lite) on 1 host;" in out
    assert out.count("none\n") == 2
    status, out, err = many
    assert (status, err) == (0, "")
    assert "16 chips (TPU v5 lite) on 4 hosts;" in out
    assert out.count("all-reduce") == 2
    status, out, err = large
    assert status == 1
    assert out.count("does not compile") == 2
    assert "seq2seq, training, does not compile: RESOURCE_EXHAUSTED" in err


def test_a_wrong_input_is_one_line_and_exit_code_2(run):
    cases = {
        ("--topology", "horse:2x2"): "got 'horse:2x2'; libtpu reports",
        ("--batch-size", 6): "batch_size must be a multiple of the 4 devices of v5e:2x2, got 6",
        ("--batch-size", 0): "batch_size must be positive, got 0",
        ("--model", "horse"): "model must be all or one of rnn, ",
        ("--dtype-policy", "int8"): "dtype_policy must be one of float32, mixed_bfloat16",
        ("--model", "transformer", "--units", 3): "multiple of num_heads",
        ("--length", "long"): "Invalid value for '--length'",
    }
    for (status, out, err), said in zip(run(*cases), cases.values(), strict=True):
        assert (status, out) == (2, "")
        assert said in err
        assert err.count("\n") == 1


def command(monkeypatch, *arguments):
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    monkeypatch.setattr("sys.argv", ["keras-attention", "compile-check", *arguments])
    with pytest.raises(SystemExit) as exit:
        cli.main()
    return exit.value.code


def test_without_libtpu_the_command_names_the_extra(monkeypatch, capsys):
    monkeypatch.setattr(topologies.importlib.util, "find_spec", lambda name: None)
    assert command(monkeypatch) == 2
    said = capsys.readouterr().err
    assert f"needs jax and libtpu: {pip_install('tpu')}" in said
    assert said.count("\n") == 1


def test_the_list_of_topologies_needs_neither_libtpu_nor_keras(monkeypatch, capsys):
    monkeypatch.setattr(topologies.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr("sys.argv", ["keras-attention", "compile-check", "--list"])
    cli.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:-1]] == list(topologies.GENERATIONS)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_every_model_compiles(run, policy):
    ((status, out, err),) = run(("--json", "--dtype-policy", policy))
    assert (status, err) == (0, "")
    for each in json.loads(out)["programs"]:
        assert each["error"] is None
        assert each["host_calls"] == each["dynamic_shapes"] == []
