import re

import pytest

from keras_attention.compiling import topologies
from keras_attention.installing import pip_install

DESCRIBE = """
import json, sys
import keras_attention_command  # so that the package does not load Keras
from keras_attention.compiling import topologies

def described(name):
    try:
        found = topologies.describe(name)
    except ValueError as error:
        return str(error)
    return {**found._asdict(), "devices": len(found.devices)}

names = sys.argv[1:] or topologies.names()
print(json.dumps({name: described(name) for name in names}))
"""


def test_libtpu_knows_every_slice_of_the_table(fresh):
    described = fresh(DESCRIBE)
    assert len(described) == len(topologies.names()) >= 50
    for name, found in described.items():
        generation, sides = name.split(":")
        chips = 1
        for side in sides.split("x"):
            chips *= int(side)
        assert found["chips"] == chips, name
        # On these, JAX has a device a core
        cores = 2 if generation in ("v2", "v3", "tpu7x") else 1
        assert found["devices"] == cores * chips, name
        assert found["hosts"] == max(chips // 4, 1), name


def test_libtpu_has_the_last_word_on_slices_that_are_not_in_the_table(fresh):
    names = ("v5e:2x6", "v5:2x2x1", "horse:2x2", "v5e:3x5")
    described = fresh(DESCRIBE, *names)
    assert described["v5e:2x6"]["chips"] == 12
    assert described["v5:2x2x1"]["generation"] is None
    for name in names[2:]:
        assert f"got '{name}'; libtpu reports:" in described[name]
        assert "Known: v2: 2x2, 4x4" in described[name]


@pytest.mark.parametrize(
    "name", ["", "v5e", "v5e:", "v5e:2", "v5e:2x2x2x2", "2x2", "v5e:axb", "v5e:0x2"]
)
def test_a_name_of_another_form_is_refused_with_those_that_are_known(name):
    with pytest.raises(ValueError, match=f"such as v5e:2x2, got '{name}'. Known: v2: 2x2"):
        topologies.describe(name)


@pytest.mark.parametrize("missing", [("jax",), ("libtpu",), ("jax", "libtpu")])
def test_what_is_missing_is_named_with_the_extra_that_has_it(monkeypatch, missing):
    monkeypatch.setattr(
        topologies.importlib.util, "find_spec", lambda name: None if name in missing else name
    )
    said = f"needs {' and '.join(missing)}: {pip_install('tpu')}"
    with pytest.raises(ImportError, match=re.escape(said)):
        topologies.describe("v5e:2x2")
