"""A small translator and a translation by it, which every attribution is tried on."""

import pytest

from tests.attributions.sentences import translation_of, translator_of
from tests.models.transformers import stirred


@pytest.fixture(scope="module")
def translator():
    return translator_of(stirred())


@pytest.fixture(scope="module")
def translation(translator):
    return translation_of(translator)
