"""The bounds of setup.cfg allow what Colab has, so that pip leaves it in peace."""

import pytest
from packaging.utils import canonicalize_name

from tests.colab.__main__ import SUITES
from tests.colab.requirements import needed, versions


@pytest.mark.parametrize("image", SUITES)
def test_the_bounds_allow_the_versions_of_colab(image):
    there = versions(image)
    named = [each for _, each in needed() if canonicalize_name(each.name) in there]
    assert {"keras", "numpy", "ipykernel"} <= {each.name for each in named}
    too_old = [
        f"{each}: Colab has {there[canonicalize_name(each.name)]}"
        for each in named
        if there[canonicalize_name(each.name)] not in each.specifier
    ]
    assert too_old == []
