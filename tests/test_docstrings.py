import doctest
import importlib
import importlib.util
import pkgutil

import pytest

pytest.importorskip("tensorflow")

import keras_attention

MODULES = ["keras_attention"] + [
    module.name
    for module in pkgutil.walk_packages(keras_attention.__path__[:1], "keras_attention.")
    if not module.name.startswith("keras_attention.data")
]
if importlib.util.find_spec("jax") is None:
    MODULES.remove("keras_attention.kernels.fused_lookup")  # Pallas is a part of JAX


@pytest.fixture(autouse=True)
def no_figure_stays_open():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_are_right(name):
    module = importlib.import_module(name)
    failures = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed
    assert failures == 0


def test_the_package_has_examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    modules = map(importlib.import_module, MODULES)
    assert sum(bool(test.examples) for m in modules for test in finder.find(m)) > 5
