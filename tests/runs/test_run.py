import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import keras
import numpy as np
import pytest

pytest.importorskip("tensorflow")

from keras_attention import corpora, runs
from keras_attention.corpora import Pair
from keras_attention.distribution import Distribution
from keras_attention.runs import run as on_runs
from keras_attention.runs.run import _sample
from keras_attention.runs.settings import Settings
from keras_attention.storage import locked, memory, sha256_of
from keras_attention.text import normalize
from keras_attention.training import steps_at_once, uses_xla
from keras_attention.translation import evaluation
from keras_attention.translation.translator import Translator
from tests.conftest import PIECES_FILES, RUN_FILES, change_config, files


def history(folder):
    return json.loads((folder / "history.json").read_text())


def assert_same_run(folder, other):
    assert files(folder) == files(other) == RUN_FILES
    assert history(folder) == history(other)
    models = [
        keras.saving.load_model(each / "model.keras", compile=False) for each in (folder, other)
    ]
    for one, same in zip(models[0].weights, models[1].weights, strict=True):
        np.testing.assert_array_equal(one, same)
    for name in ("context_vocabulary.txt", "target_vocabulary.txt"):
        assert (folder / name).read_text() == (other / name).read_text()
    configs = [json.loads((each / "config.json").read_text()) for each in (folder, other)]
    for config in configs:  # a model file holds the time at which it was written
        del config["sha256"], config["files"]["model.keras"]
    assert configs[0] == configs[1]


@pytest.fixture
def killed(tiny_run, tmp_path):
    """Return a copy of a run as it was when it was killed after two epochs of four."""
    return Path(shutil.copytree(tiny_run.killed, tmp_path / "run"))


# A whole run


def test_a_run_leaves_one_folder_with_everything(tiny_run):
    assert files(tiny_run.folder) == RUN_FILES
    config = json.loads((tiny_run.folder / "config.json").read_text())
    assert Settings(**config["settings"]) == tiny_run.settings
    assert config["corpus"]["train_pairs"] == 73
    assert config["corpus"]["validation_pairs"] == 24
    assert config["sources"]["corpus"] == str(tiny_run.corpus)
    assert (tiny_run.folder / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_learns(tiny_run):
    losses = history(tiny_run.folder)
    assert set(losses) == {
        prefix + name
        for prefix in ("", "val_")
        for name in ("loss", "masked_loss", "masked_accuracy")
    }
    assert all(len(values) == 4 for values in losses.values())
    assert losses["masked_loss"][-1] < losses["masked_loss"][0] - 1


def test_the_weights_of_the_best_epoch_are_kept(tiny_run):
    report = evaluation.evaluate(tiny_run.translator, tiny_run.validation, batch_size=13)
    losses = history(tiny_run.folder)["val_masked_loss"]
    assert report.loss == pytest.approx(min(losses), rel=1e-5)


def test_the_vocabularies_are_learned_from_the_training_pairs(tiny_run):
    words = {word for pair in tiny_run.train for word in normalize(pair.context).split()}
    assert set(tiny_run.translator.context_vocabulary.words[4:]) == words


# Every model


THOROUGH = [
    {"model": "bilstm", "attention": "recurrent_location"},
    {"model": "transformer", "num_layers": 1, "num_heads": 2, "tokens": "wordpiece"},
    {"model": "rnn", "attention": "local_p", "score": "general", "tokens": "wordpiece"},
    {"model": "transformer", "num_layers": 1, "norm_first": True, "tied": True, "warm_up": 5},
    {"model": "rnn", "joined": 0.3, "weight_decay": 0.1},
    {"model": "rnn", "dtype_policy": "mixed_bfloat16"},
    {"model": "seq2seq"},
]
COMPILED = {"model": "transformer", "num_layers": 1, "dtype_policy": "mixed_bfloat16"}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "choices",
    [
        *THOROUGH,
        pytest.param(COMPILED, marks=pytest.mark.xla),
    ],
    ids=lambda choices: "_".join(map(str, choices.values())),
)
def test_every_model_trains_translates_plots_and_loads_again(tiny_run, tmp_path, choices):
    settings = replace(tiny_run.settings, units=16, epochs=2, steps=11, **choices)
    folder = tmp_path / "run"
    translator = runs.train(tiny_run.train, tiny_run.validation, folder, settings, verbose=0)
    assert files(folder) == (PIECES_FILES if settings.tokens == "wordpiece" else RUN_FILES)
    assert history(folder)["masked_loss"][-1] < history(folder)["masked_loss"][0]
    assert runs.read_settings(folder)["model"] == choices["model"]
    source = tiny_run.train[0].context
    translation = translator(source)
    loaded = Translator.load(folder)(source)
    assert loaded.text == translation.text
    np.testing.assert_array_equal(loaded.attention, translation.attention)
    assert translation.attention.shape == (
        len(translation.target_tokens),
        len(translation.context_tokens),
    )
    translation.plot(tmp_path / "heatmap.png")
    assert (tmp_path / "heatmap.png").read_bytes().startswith(b"\x89PNG")
    policy = runs.read_settings(folder)["dtype_policy"]
    decoder = translator.model.get_layer("decoder")
    assert {layer.dtype_policy.name for layer in decoder.layers if layer.weights} == {policy}
    report = evaluation.evaluate(translator, tiny_run.validation, batch_size=13)
    rounding = 1e-5 if policy == "float32" else 1e-2
    assert report.loss == pytest.approx(min(history(folder)["val_masked_loss"]), rel=rounding)


# Interrupted runs


def test_a_killed_run_has_no_model_yet(killed):
    assert files(killed) == [
        "checkpoints",
        "checkpoints/epoch-00002",
        "checkpoints/epoch-00002/best.keras",
        "checkpoints/epoch-00002/history.json",
        "checkpoints/epoch-00002/model.keras",
        "checkpoints/epoch-00002/sha256.json",
        "config.json",
    ]


def test_a_resumed_run_ends_as_an_uninterrupted_one(tiny_run, killed):
    # It was killed while it wrote the next checkpoint.
    (killed / "checkpoints" / ".partial-epoch-00003").mkdir()
    (killed / "checkpoints" / ".partial-epoch-00003" / "model.keras").write_text("half")
    arguments = (tiny_run.train, tiny_run.validation, killed, tiny_run.settings)
    runs.train(*arguments, sources=tiny_run.sources, resume=True, verbose=0)
    assert_same_run(killed, tiny_run.folder)


def test_a_resumed_run_that_is_interrupted_again_keeps_its_new_number_of_epochs(
    tiny_run, killed, monkeypatch
):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(on_runs, "_fit", interrupt)
    longer = replace(tiny_run.settings, epochs=9)
    with pytest.raises(KeyboardInterrupt):
        runs.train(tiny_run.train, tiny_run.validation, killed, longer, resume=True, verbose=0)
    assert runs.read_settings(killed)["epochs"] == 9


@pytest.mark.parametrize("compiled", [False, True])
def test_a_run_has_as_many_shapes_as_pay(tiny_run, tmp_path, monkeypatch, compiled):
    """Where XLA compiles a program for each, eight at most, and one for a short run."""
    if compiled and keras.backend.backend() == "torch":
        pytest.skip("PyTorch has no XLA under Keras")
    monkeypatch.setattr(runs.run, "uses_xla", lambda: compiled)
    given = []

    def stop(*args, **kwargs):
        given.append((kwargs["shapes"], kwargs["most_shapes"]))
        raise InterruptedError

    monkeypatch.setattr(corpora.Batches, "of_pairs", stop)
    steps = tiny_run.settings.epochs * tiny_run.settings.steps
    for a_shape in (2 * steps, steps, 1):
        monkeypatch.setattr(runs.run, "STEPS_A_SHAPE", a_shape)
        with pytest.raises(InterruptedError):
            runs.train(tiny_run.train, tiny_run.validation, tmp_path, tiny_run.settings, verbose=0)
    settings = replace(tiny_run.settings, shapes=5)
    with pytest.raises(InterruptedError):
        runs.train(tiny_run.train, tiny_run.validation, tmp_path, settings, verbose=0)
    most = [1, 2, 8] if compiled else [None, None, None]
    assert given == [*((None, each) for each in most), (5, 5)]


@pytest.mark.parametrize(("model", "where"), [("rnn", "jax"), ("bilstm", "jax tensorflow")])
def test_a_model_that_attends_in_its_loop_is_compiled_on_a_cpu(model, where):
    settings = Settings(model)
    compiles = runs.run._compiles(None, settings, Distribution())
    assert compiles == (keras.backend.backend() in where)
    assert not runs.run._compiles(False, settings, Distribution())


@pytest.mark.parametrize("shards", [1, 2])
def test_several_steps_follow_each_other_unless_devices_share_a_batch(
    shards, tiny_run, tmp_path, monkeypatch
):
    given = []

    def compiled(*_, steps_per_execution, **__):
        given.append(steps_per_execution)
        raise InterruptedError

    monkeypatch.setattr(runs.run, "compile_model", compiled)
    settings = replace(tiny_run.settings, steps=6, batch_size=14)
    with pytest.raises(InterruptedError):
        runs.train(
            tiny_run.train,
            tiny_run.validation,
            tmp_path,
            settings,
            distribution=Distribution(shards=shards),
            verbose=0,
        )
    assert given == [steps_at_once(6) if shards == 1 else 1]


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="only PyTorch has no XLA")
def test_xla_where_there_is_none_is_refused(tiny_run, tmp_path):
    with pytest.raises(ValueError, match=r"XLA cannot compile .* PyTorch .* must be False"):
        runs.train(tiny_run.train, tiny_run.validation, tmp_path / "run", jit_compile=True)


@pytest.mark.thorough
def test_a_resumed_run_keeps_its_number_of_shapes(tiny_run, killed, monkeypatch):
    monkeypatch.setattr(runs.run, "STEPS_A_SHAPE", 20)  # of 4 epochs of 19 steps, 3 more shapes
    before = json.loads((killed / "config.json").read_text())["shapes"]
    assert before == (1 if uses_xla() else None)
    counts = []
    of_pairs = corpora.Batches.of_pairs
    monkeypatch.setattr(
        corpora.Batches,
        "of_pairs",
        lambda *args, **kwargs: counts.append(kwargs["most_shapes"]) or of_pairs(*args, **kwargs),
    )
    arguments = (tiny_run.train, tiny_run.validation, killed, tiny_run.settings)
    runs.train(*arguments, sources=tiny_run.sources, resume=True, verbose=0)
    assert counts == [before, before]
    assert_same_run(killed, tiny_run.folder)


@pytest.mark.thorough
def test_a_run_killed_with_kill_9_loses_at_most_an_epoch(tiny_run, tmp_path):
    script = Path(sys.executable).with_name("keras-attention")
    if not script.exists():
        pytest.skip(f"the package is not installed: there is no {script}")
    folder = tmp_path / "run"
    command = [script, "train", "--out", folder]
    environment = {k: v for k, v in os.environ.items() if k != "TF_CPP_MIN_LOG_LEVEL"}
    with subprocess.Popen(
        [*command, *tiny_run.options],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        while process.poll() is None and not (folder / "checkpoints" / "epoch-00001").exists():
            time.sleep(0.003)
        process.send_signal(signal.SIGKILL)
        _, errors = process.communicate()
    assert (process.returncode, errors) == (-signal.SIGKILL, b"")
    epochs = [path.name for path in (folder / "checkpoints").glob("epoch-*")]
    assert epochs
    assert max(epochs) < "epoch-00004"
    assert not (folder / "model.keras").exists()
    kept = history(folder / "checkpoints" / max(epochs))

    # It knows its corpus and settings, and goes on with the next epoch.
    result = subprocess.run([*command, "--resume"], env=environment, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    assert "Epoch 1/4" not in result.stdout
    assert "Epoch 4/4" in result.stdout
    assert files(folder) == RUN_FILES
    assert len(kept["loss"]) >= 1
    for name, values in history(folder).items():
        assert len(values) == 4
        assert values[: len(kept[name])] == kept[name]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"units": 19}, "other settings: expected units 17, got 19"),
        ({"seed": 5, "steps": 23}, "expected steps 19, got 23; seed 3, got 5"),
    ],
)
def test_a_run_is_not_resumed_with_other_settings(tiny_run, killed, changes, message):
    settings = replace(tiny_run.settings, **changes)
    arguments = (tiny_run.train, tiny_run.validation, killed, settings)
    with pytest.raises(ValueError, match=message):
        runs.train(*arguments, resume=True)


def test_a_run_is_not_resumed_with_other_pairs(tiny_run, killed):
    for train, validation in (
        (tiny_run.train[1:], tiny_run.validation),
        (tiny_run.train[::-1], tiny_run.validation),
        (tiny_run.train, tiny_run.validation[::-1]),
    ):
        with pytest.raises(ValueError, match="was trained on other sentence pairs"):
            runs.train(train, validation, killed, tiny_run.settings, resume=True)


def test_a_finished_run_is_not_resumed(tiny_run):
    arguments = (tiny_run.train, tiny_run.validation, tiny_run.folder, tiny_run.settings)
    with pytest.raises(ValueError, match="has finished; there is nothing to resume"):
        runs.train(*arguments, resume=True)


def test_a_run_killed_while_it_removed_its_checkpoints_has_finished(tiny_run, tmp_path):
    run = Path(shutil.copytree(tiny_run.folder, tmp_path / "run"))
    (run / "checkpoints" / "epoch-00004").mkdir(parents=True)
    with pytest.raises(ValueError, match="has finished; there is nothing to resume"):
        runs.train(tiny_run.train, tiny_run.validation, run, tiny_run.settings, resume=True)
    assert files(run) == RUN_FILES


def test_a_folder_that_another_process_writes_to_is_refused(tiny_run, killed):
    before = files(killed)
    with locked(killed), pytest.raises(BlockingIOError, match="another process is writing to"):
        runs.train(tiny_run.train, tiny_run.validation, killed, tiny_run.settings, resume=True)
    assert files(killed) == before


def test_nothing_is_not_resumed(tiny_run, tmp_path):
    arguments = (tiny_run.train, tiny_run.validation, tmp_path, tiny_run.settings)
    with pytest.raises(FileNotFoundError, match="holds no run to resume"):
        runs.train(*arguments, resume=True)
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"settings": None}, "settings must be an object, got None"),
        ({"settings": [1]}, r"settings must be an object, got \[1\]"),
        ({"settings": {"colour": "blue"}}, "settings has no colour; it has model, attention"),
        ({"settings": {"units": "many"}}, "settings.units must be a whole number, got 'many'"),
        ({"settings": {"model": "horse"}}, "model must be one of rnn, .*, got 'horse'"),
        ({"settings": {"units": 0}}, "units must be at least 1, got 0"),
        ({"sources": 7}, "sources must be an object, got 7"),
        ({"sources": {"corpus": 7}}, "sources.corpus must be a text, got 7"),
        ({"corpus": None}, "corpus must be an object, got None"),
        ({"corpus": {"train_pairs": 3}}, "corpus must have validation_pairs, sha256"),
        ({"shapes": "many"}, "shapes must be a whole number, got 'many'"),
        ({"shapes": [1]}, r"shapes must be a whole number, got \[1\]"),
        ({"shapes": 0}, "shapes must be at least 1, got 0"),
        ({"corpus": ...}, "the contents must have corpus, got"),
    ],
)
def test_a_damaged_configuration_is_not_resumed(killed, change, message):
    change_config(killed, **change)
    with pytest.raises(ValueError, match=rf"config\.json: {message}"):
        runs.read_settings(killed)


def test_a_run_whose_files_have_changed_is_not_resumed(tiny_run, killed):
    for path in (killed / "config.json", *killed.glob("checkpoints/*/[!s]*.*")):  # but sha256.json
        content = path.read_bytes()
        changed = bytearray(content)
        changed[len(changed) // 2] ^= 1
        path.write_bytes(changed)
        with pytest.raises(ValueError, match=re.escape(path.name)):
            runs.train(tiny_run.train, tiny_run.validation, killed, tiny_run.settings, resume=True)
        path.write_bytes(content)


def test_a_run_is_not_resumed_with_a_checkpoint_of_another_model(tiny_run, killed, tmp_path):
    checkpoint = next(killed.glob("checkpoints/epoch-*"))
    inputs = keras.Input((3,))
    keras.Model(inputs, keras.layers.Dense(2)(inputs)).save(checkpoint / "model.keras")
    hashes = json.loads((checkpoint / "sha256.json").read_text())
    hashes["model.keras"] = sha256_of(checkpoint / "model.keras")
    (checkpoint / "sha256.json").write_text(json.dumps(hashes))
    with pytest.raises(ValueError, match=r"model\.keras is of another model than the settings"):
        runs.train(tiny_run.train, tiny_run.validation, killed, tiny_run.settings, resume=True)


def test_a_finished_run_killed_before_its_history_appears_is_resumed(tiny_run, killed, monkeypatch):
    replace_file, arguments = os.replace, (killed, tiny_run.settings)

    def kill_before_the_history(source, destination):
        if Path(destination) == killed / "history.json":
            raise KeyboardInterrupt
        replace_file(source, destination)

    monkeypatch.setattr(os, "replace", kill_before_the_history)
    with pytest.raises(KeyboardInterrupt):
        runs.train(tiny_run.train, tiny_run.validation, *arguments, resume=True, verbose=0)
    monkeypatch.undo()
    assert (killed / "model.keras").is_file()
    runs.ensure(tiny_run.train, tiny_run.validation, *arguments, verbose=0)
    assert files(killed) == RUN_FILES
    Translator.load(killed)


def test_a_run_is_never_overwritten(tiny_run):
    before = {path: path.read_bytes() for path in tiny_run.folder.iterdir()}
    arguments = (tiny_run.train, tiny_run.validation, tiny_run.folder, tiny_run.settings)
    with pytest.raises(FileExistsError, match=r"holds a run already: resume it \(--resume\)"):
        runs.train(*arguments)
    assert {path: path.read_bytes() for path in tiny_run.folder.iterdir()} == before


def test_a_new_run_does_not_go_on_from_checkpoints_of_another(tiny_run, killed):
    (killed / "config.json").unlink()
    with pytest.raises(FileExistsError, match=r"holds the checkpoints .* without its config\.json"):
        runs.train(tiny_run.train, tiny_run.validation, killed, tiny_run.settings)


# Bad input


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "horse"}, "model must be one of rnn, bilstm, seq2seq, transformer, got 'horse'"),
        ({"units": 0}, "units must be at least 1, got 0"),
        ({"shapes": 0}, "shapes must be at least 1, got 0"),
        ({"batch_tokens": 15}, "batch_tokens must be at least 16, got 15"),
        ({"epochs": -1}, "epochs must be at least 1, got -1"),
        ({"patience": 0}, "patience must be at least 1, got 0"),
        ({"units": "many"}, "units must be a whole number, got 'many'"),
        ({"units": True}, "units must be a whole number, got True"),
        ({"model": ["rnn"]}, r"model must be a text, got \['rnn'\]"),
        ({"vocabulary": 10**12}, r"vocabulary must be below 2\*\*31, .* got 1,000,000,000,000"),
        ({"learning_rate": 0.0}, "learning_rate must be positive, got 0.0"),
        ({"learning_rate": float("nan")}, "learning_rate must be positive, got nan"),
        ({"seed": -1}, r"seed must be at least 0 and below 2\*\*32, got -1"),
        ({"seed": 2**32}, "seed must be at least 0"),
        ({"tokens": "letter"}, "tokens must be one of word, wordpiece, got 'letter'"),
        ({"warm_up": -1}, "warm_up must be at least 0, got -1"),
        ({"decay": True}, "decay needs a warm_up of at least 1 .* got 0 of 10000"),
        ({"decay": True, "warm_up": 9, "epochs": 3, "steps": 3}, "decay .* got 9 of 9"),
        ({"label_smoothing": 1.0}, "label_smoothing must be at least 0 and below 1, got 1.0"),
        (
            {"dtype_policy": "int4"},
            "dtype_policy must be one of float32, mixed_bfloat16, got 'int4'",
        ),
        ({"weight_decay": -0.1}, "weight_decay must be at least 0, got -0.1"),
        ({"joined": 1.1}, "joined must be at least 0 and at most 1, got 1.1"),
        ({"num_heads": 3}, "rnn has no num_heads; it has attention, score, half_width, got"),
        ({"model": "transformer", "score": "dot"}, "transformer has no score; it has num_layers"),
    ],
)
def test_settings_out_of_range_are_errors_that_name_them(settings, message):
    with pytest.raises(ValueError, match=message):
        Settings(**settings)


def test_the_defaults_are_those_of_the_tutorial():
    settings = Settings()
    assert (settings.units, settings.vocabulary, settings.batch_size) == (256, 5000, 64)
    assert (settings.epochs, settings.steps, settings.patience) == (100, 100, 3)


def test_a_transformer_has_defaults_of_its_own():
    settings = Settings(model="transformer")
    assert (settings.tokens, settings.units, settings.vocabulary) == ("wordpiece", 192, 4000)
    assert (settings.num_layers, settings.num_heads, settings.norm_first) == (3, 4, True)
    assert (settings.warm_up, settings.decay, settings.tied) == (400, True, True)
    assert Settings(model="transformer", decay=False).decay is False


@pytest.mark.thorough
def test_a_learning_rate_that_hangs_on_the_number_of_epochs_keeps_it(tiny_run, tmp_path):
    settings = replace(
        tiny_run.settings, model="transformer", units=16, num_layers=1, warm_up=3, epochs=1
    )
    settings = replace(settings, decay=True)
    folder = tmp_path / "run"
    runs.train(tiny_run.train, tiny_run.validation, folder, settings, verbose=0)
    with pytest.raises(ValueError, match="other settings: expected epochs 1, got 2"):
        runs.ensure(
            tiny_run.train, tiny_run.validation, folder, replace(settings, epochs=2), verbose=0
        )


@pytest.mark.thorough
def test_a_pair_that_is_too_long_to_learn_from_is_left_out(tiny_run, tmp_path, capsys):
    pairs = [*tiny_run.train, Pair("Sí.", "yes " * 65)]
    settings = replace(tiny_run.settings, epochs=1, steps=1)
    runs.train(pairs, tiny_run.validation, tmp_path / "run", settings, verbose=2)
    assert "1 training pairs left out: a sentence has more than 64" in (capsys.readouterr().out)


@pytest.mark.parametrize(
    "settings",
    [
        {"units": 10**6},
        {"batch_size": 10**9},
        {"batch_tokens": 10**11},
        {"model": "transformer", "num_layers": 10**9},
        {"model": "transformer", "feed_forward_dim": 10**12},
        {"model": "transformer", "num_heads": 10**9, "key_dim": 4},
    ],
)
def test_what_does_not_fit_into_memory_is_refused_before_it_is_made(settings):
    with pytest.raises(ValueError, match=r"take at least [\d,.e+]+ GB of memory, this machine has"):
        runs.check_model(Settings(**settings))


def test_the_vocabularies_count_where_memory_is_short(tiny_run, tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "machine_memory", lambda: 50_000)
    with pytest.raises(ValueError, match=r"rnn with vocabulary [\d,]+, units .* 0\.0 GB"):
        runs.train(tiny_run.train, tiny_run.validation, tmp_path / "run", tiny_run.settings)
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    ("train", "validation", "settings", "message"),
    [
        ([], ["Sí.", "Yes."], {}, "train_pairs must hold at least one pair, got none"),
        (["Sí.", "Yes."], [], {}, "validation_pairs must hold at least one pair.*--validation"),
        (["Sí.", "yes " * 65], ["Sí.", "Yes."], {}, "at most 64 tokens, got 66.*'yes yes"),
        (["Sí.", "Yes."], ["sí " * 63, "Yes."], {}, "at most 64 tokens, got 65.*'sí sí"),
        (["Sí.", "Yes."], ["Sí.", "Yes."], {"attention": "none"}, "attention must be one of"),
        (["Sí.", "Yes."], ["Sí.", "Yes."], {"vocabulary": 3}, "size must be above 4, got 3"),
    ],
)
def test_a_run_that_cannot_begin_leaves_nothing(tmp_path, train, validation, settings, message):
    pairs = [[Pair(*sentences)] if sentences else [] for sentences in (train, validation)]
    with pytest.raises(ValueError, match=message):
        runs.train(*pairs, tmp_path / "new" / "run", Settings(units=5, **settings))
    assert files(tmp_path) == []


def test_a_full_disk_leaves_nothing(tmp_path, full_disk):
    pairs = [Pair("Sí.", "Yes.")]
    with full_disk(101), pytest.raises(OSError, match="File too large"):
        runs.train(pairs, pairs, tmp_path / "new" / "run")
    assert files(tmp_path) == []


def test_a_run_that_diverges_stops_and_says_at_which_step(tiny_run, tmp_path):
    settings = replace(tiny_run.settings, learning_rate=1e30)
    message = r"diverged: the loss is (nan|inf) at step \d+\. Try a smaller learning rate"
    with pytest.raises(ValueError, match=message):
        runs.train(tiny_run.train, tiny_run.validation, tmp_path / "run", settings, verbose=0)


@pytest.mark.parametrize(("count", "number"), [(199, 100), (10, 10), (7, 10), (1199, 1000)])
def test_a_sample_reaches_from_the_first_pair_to_the_last_ones(count, number):
    sample = _sample(list(range(count)), number)
    assert len(sample) == min(count, number)
    assert (sample[0], len(set(sample))) == (0, len(sample))
    assert sample[-1] >= count - 1 - count / number
    assert _sample([1, 2], 0) == []


def test_only_corpora_with_a_name_say_their_languages(tiny_run, tmp_path):
    for source, languages in (
        ("bundled", ("Spanish", "English")),
        ("a.tsv", ("context", "target")),
    ):
        folder = tmp_path / source
        settings = replace(tiny_run.settings, epochs=1, steps=1)
        arguments = tiny_run.train, tiny_run.validation, folder, settings
        translator = runs.train(*arguments, sources={"corpus": source}, verbose=0)
        assert translator("casa").languages == languages
