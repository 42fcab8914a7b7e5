"""What tests of several rooms share.

Imports no backend, so that the trunk's tests run on each of them.
"""

import gc
import importlib.util
import itertools
import json
import os
import shutil
import sys
from contextlib import contextmanager
from mmap import ACCESS_READ, mmap
from pathlib import Path
from types import SimpleNamespace

import pytest

# Before TensorFlow is imported: its C++ logs would hide what a test prints.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("MPLBACKEND", "Agg")
# Where libtpu is installed JAX would look for a TPU, and complain that there is none.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
# A program of a test runs a few times: it is not worth the time that optimising it would take.
FAST_TO_COMPILE = [
    "--xla_backend_optimization_level=0",
    "--xla_llvm_disable_expensive_passes=true",
]

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests"


def jax_knows(flag):
    """Say whether the installed JAX has a flag of XLA; it aborts at one that it does not know."""
    jaxlib = importlib.util.find_spec("jaxlib")
    libraries = Path(jaxlib.origin).parent.glob("*jax_common*") if jaxlib else ()
    for library in libraries:
        with library.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
            if content.find(flag.encode()) >= 0:
                return True
    return False


if os.environ.get("KERAS_BACKEND") == "jax":
    # JAX compiles each operation for each shape: half of that time went into these emitters.
    if jax_knows("xla_cpu_use_fusion_emitters"):
        FAST_TO_COMPILE.append("--xla_cpu_use_fusion_emitters=false")
    # What JAX compiles is kept for the next module, for the other processes and the next run.
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(ROOT / ".pytest_cache" / "jax")
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
if os.environ.get("KERAS_BACKEND") == "torch":
    # Each process has a core; threads that wait for another turn in circles, and take it from them.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
# What the environment says comes last, and so prevails.
os.environ["XLA_FLAGS"] = " ".join([*FAST_TO_COMPILE, os.environ.get("XLA_FLAGS", "")])

RUN_FILES = [  # what a training run leaves in its folder
    "config.json",
    "context_vocabulary.txt",
    "curves.png",
    "history.json",
    "model.keras",
    "target_vocabulary.txt",
]
PIECES_FILES = sorted([*RUN_FILES, "known_words.txt"])  # the same with word pieces

# Rooms whose tests train and compile much, or start processes: part of the whole suite only.
THOROUGH_ROOMS = {"benchmarks", "compiling", "distribution", "export", "lab"}
EVERYDAY = ("lab/tasks/", "lab/test_writer.py")  # but these
# Of these, the rooms that are about programs.
COMPILED_ROOMS = {"compiling", "distribution"}

# Files that take long begin first, so that no process waits for another at the end.
LONG = (
    *("lab/test_experiments.py", "distribution/test_runs.py", "distribution/test_processes.py"),
    *("compiling/test_tpu.py", "benchmarks/test_same_work.py", "export/test_saved_model.py"),
    *("test_notebooks.py", "runs/test_run.py", "test_cli.py", "layers/test_contract.py"),
    *("translation/test_translator.py", "models/test_contract.py"),
)

# What tests with the marker `extra(name)` import, by the extra of the package that brings it.
EXTRAS = {
    "campaign": ("hypothesis", "psutil"),
    "browser": ("selenium",),
    "ctranslate2": ("ctranslate2",),
    "demo": ("gradio",),
    "docs": ("mkdocs", "material", "mkdocstrings"),
    "jax": ("jax",),
    "notebooks": ("ipykernel", "jupytext", "nbclient", "nbformat"),
    "onnx": ("onnxruntime", "tf2onnx"),
    "torch": ("torch",),
    "tpu": ("jax", "libtpu"),
}


def is_everyday(config):
    """Say whether the tests are those that `addopts` of setup.cfg chooses."""
    return config.option.markexpr == "not slow and not thorough"


def pytest_report_header(config):
    if is_everyday(config):
        return "the everyday suite; -m 'not slow' runs the whole"
    return None


def pytest_ignore_collect(collection_path, config):
    """Do not even import what the everyday suite leaves out, unless it is asked for by name."""
    name = collection_path.name
    named = any(name in str(argument) for argument in config.invocation_params.args)
    if is_everyday(config) and is_thorough(collection_path) and not named:
        return True
    return None


def is_thorough(path):
    """Say whether a file or folder holds thorough tests alone."""
    if path == TESTS or TESTS not in path.parents:
        return False
    place = path.relative_to(TESTS).as_posix()
    everyday = any(place.startswith(each) or each.startswith(f"{place}/") for each in EVERYDAY)
    return place.split("/")[0] in THOROUGH_ROOMS and not everyday


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark whole rooms; what needs an extra is not everyday either: its environment is light."""
    rank = {name: number for number, name in enumerate(LONG)}
    items.sort(key=lambda item: rank.get(item.path.relative_to(TESTS).as_posix(), len(LONG)))
    for item in items:
        room = item.path.relative_to(TESTS).parts[0]
        if is_thorough(item.path) or item.get_closest_marker("extra"):
            item.add_marker("thorough")
        if room in COMPILED_ROOMS:
            item.add_marker("xla")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    XLA.is_on = any(map(item.get_closest_marker, ("xla", "slow")))
    for marker in item.iter_markers("extra"):
        (extra,) = marker.args
        if not installed(extra):
            pytest.skip(f"needs the extra {extra}: pip install '.[{extra}]'")


def installed(extra):
    return all(importlib.util.find_spec(module) for module in EXTRAS[extra])


def files(folder):
    """Return the paths of all that is in a folder, sorted."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def change_config(folder, **values):
    """Change the configuration in a folder and sign it anew; a value of ... leaves a field out."""
    from keras_attention.translation.configuration import signed_text

    path = folder / "config.json"
    config = {**json.loads(path.read_text(encoding="utf-8")), **values}
    config = {name: value for name, value in config.items() if value is not ...}
    path.write_text(signed_text(config), encoding="utf-8")


def sign_files(folder):
    """Let the configuration in a folder hold the hashes of the files as they are now."""
    from keras_attention.storage import sha256_of

    files = json.loads((folder / "config.json").read_text(encoding="utf-8"))["files"]
    change_config(folder, files={name: sha256_of(folder / name) for name in files})


TESTS_RUN = itertools.count(1)


class XLA:
    """Whether TensorFlow's programs are compiled where the package asks for it."""

    is_on = True


@pytest.fixture(scope="session", autouse=True)
def programs_are_compiled_where_they_are_the_claim():
    """Leave XLA out where a program is no more than a way to a number.

    It would take half of the everyday suite. Tests with the marker `xla`, and slow ones, have it.
    """
    if "tensorflow" not in sys.modules:
        yield
        return
    import tensorflow as tf

    original = tf.function

    def function(*args, jit_compile=None, **kwargs):
        return original(*args, jit_compile=jit_compile if XLA.is_on else None, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tf, "function", function)
        yield


@pytest.fixture(autouse=True)
def programs_are_forgotten():
    """Let JAX forget what it compiled, whenever that has become much.

    Every program has memory of its own, and maps it: a process with some thousands of them takes
    gigabytes, and crashes at the number of mappings that Linux allows (65,530; vm.max_map_count).
    What is forgotten is traced again.
    """
    yield
    if "jax" in sys.modules and next(TESTS_RUN) % 25 == 0 and has_many_mappings():
        gc.collect()
        sys.modules["jax"].clear_caches()


def has_many_mappings():
    """Say whether this process has more than 10,000, or a system that does not tell."""
    maps = Path("/proc/self/maps")
    return not maps.exists() or maps.read_bytes().count(b"\n") > 10_000


@pytest.fixture(scope="session")
def shared_data():
    """Return the folder of the real data, which is not part of the repository."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real data are not there: no folder ../shared/data beside the repository")
    return folder


@pytest.fixture
def dropouts(monkeypatch):
    """Return a list to which every call of a dropout adds the rate at which it drops."""
    from keras_attention.layers.dropout import Dropout

    drops, original = [], Dropout.call

    def call(self, inputs, training=False):
        drops.append(self.rate if training else 0.0)
        return original(self, inputs, training=training)

    monkeypatch.setattr(Dropout, "call", call)
    return drops


@pytest.fixture
def full_disk():
    """Return a context in which no file can grow beyond so many bytes."""
    resource = pytest.importorskip("resource", reason="limits of a process exist on POSIX only")

    @contextmanager
    def limited(size):
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return limited


@pytest.fixture(scope="session")
def short_pairs():
    return made_short_pairs()


def made_short_pairs():
    """Return 97 aligned pairs of the bundled grammar that fit into the smallest bucket."""
    from keras_attention.corpora.grammar import Grammar
    from keras_attention.text import split_words

    def is_short(pair):
        return len(split_words(pair.context)) <= 6 and len(split_words(pair.target)) <= 7

    return list(filter(is_short, Grammar.load().generate(499, seed=5)))[:97]


@pytest.fixture(scope="session")
def tiny_run(short_pairs, tmp_path_factory):
    """Train the one tiny model of the suite; the run, its pairs and files that hold these."""
    from keras_attention import runs
    from keras_attention.training import RunCheckpoint

    base = tmp_path_factory.mktemp("tiny")
    run = SimpleNamespace(
        folder=base / "run",
        killed=base / "killed",  # what the folder was after two epochs
        train=short_pairs[:73],
        validation=short_pairs[73:],
        corpus=base / "train.tsv",
        validation_corpus=base / "validation.tsv",
        settings=runs.Settings(
            units=17,
            vocabulary=211,
            batch_size=13,
            epochs=4,
            steps=19,
            patience=4,
            learning_rate=0.02,
            seed=3,
        ),
    )
    for path, pairs in ((run.corpus, run.train), (run.validation_corpus, run.validation)):
        path.write_text("".join(f"{p.target}\t{p.context}\n" for p in pairs), encoding="utf-8")
    run.options = [
        *("--corpus", str(run.corpus), "--validation", str(run.validation_corpus)),
        *("--units", "17", "--vocabulary", "211", "--batch-size", "13", "--epochs", "4"),
        *("--steps", "19", "--patience", "4", "--learning-rate", "0.02", "--seed", "3"),
    ]
    run.sources = {"corpus": str(run.corpus), "validation": str(run.validation_corpus)}

    class CopyingCheckpoint(RunCheckpoint):
        def on_epoch_end(self, epoch, logs=None):
            super().on_epoch_end(epoch, logs)
            if self.epochs == 2:
                shutil.copytree(run.folder, run.killed)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs.run, "RunCheckpoint", CopyingCheckpoint)
        patch.setattr(XLA, "is_on", False)  # whichever test is the first to want it
        run.translator = runs.train(
            run.train, run.validation, run.folder, run.settings, sources=run.sources, verbose=0
        )
    return run
