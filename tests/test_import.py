import json
import subprocess
import sys

import pytest

pytest.importorskip("tensorflow")

LATER = ("tensorflow_text", "matplotlib", "sacrebleu", "typer", "rich", "keras_nlp", "keras_hub")


def printed(program, *arguments):
    command = [sys.executable, "-c", program, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(result.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """Import the package in a fresh process: what it loads, the seconds, its names, a model."""
    from keras_attention.models import build_rnn_attention

    path = tmp_path_factory.mktemp("saved") / "model.keras"
    build_rnn_attention(11, 13, units=5, attention="global").save(path)
    program = """
import json, sys, time
sys.argv[0] = "keras-attention"  # whatever the process is called
import keras
before = set(sys.modules)
start = time.process_time()  # waiting does not count
import keras_attention
seconds = time.process_time() - start
modules = sorted(set(sys.modules) - before)
missing = [name for name in keras_attention.__all__ if getattr(keras_attention, name) is None]
shape = keras.saving.load_model(sys.argv[1]).output_shape
print(json.dumps({"modules": modules, "seconds": seconds, "missing": missing, "shape": shape}))
"""
    return printed(program, str(path))


def test_importing_the_package_imports_keras_and_nothing_else(fresh):
    assert "keras_attention.models" in fresh["modules"]
    assert [name for name in fresh["modules"] if name.split(".")[0] in LATER] == []
    others = [name for name in fresh["modules"] if not name.startswith("keras_attention")]
    assert others == ["lazy_loader"]
    assert fresh["seconds"] < 1


def test_names_are_loaded_when_they_are_asked_for(fresh):
    assert fresh["missing"] == []
    assert "keras_attention.translation.translator" not in fresh["modules"]


def test_a_name_that_is_not_there_is_an_attribute_error():
    import keras_attention

    with pytest.raises(AttributeError, match="keras_attention attribute horse"):
        _ = keras_attention.horse


def test_help_does_not_wait_for_keras():
    program = """
import json, sys
from keras_attention_command import main
sys.argv = ["anything", "train", "--help"]
main()
print(json.dumps([name for name in ("keras", "tensorflow", "numpy") if name in sys.modules]))
"""
    assert printed(program) == []


def test_the_command_line_does_not_search_what_it_imports_for_garbage():
    program = """
import gc, json, sys
from keras_attention_command import main
sys.argv = ["anything", "--help"]
searches = sum(each["collections"] for each in gc.get_stats())
main()
searched = sum(each["collections"] for each in gc.get_stats()) - searches
print(json.dumps([searched, len(gc.get_objects()) < gc.get_freeze_count()]))
"""
    assert printed(program) == [0, True]


def test_layers_are_known_to_keras_once_the_package_is_imported(fresh):
    assert fresh["shape"] == [None, None, 13]
