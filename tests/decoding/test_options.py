"""What a wrong option says."""

import keras
import pytest
from keras import ops

from keras_attention.decoding import Generator, beam_search, check_options, generate

BAD = [
    ({"max_length": 0}, "max_length must be at least 1, got 0"),
    ({"temperature": -1}, r"temperature must be 0 \(greedy\) or from 1e-30 to 1e\+30, got -1"),
    ({"temperature": 1e-50}, "temperature must be .* got 1e-50"),
    ({"temperature": float("nan")}, "temperature must be .* got nan"),
    ({"temperature": float("inf")}, "temperature must be .* got inf"),
    ({"top_k": -1, "temperature": 1}, r"top_k must be 0 \(off\) or above, got -1"),
    ({"top_p": 0, "temperature": 1}, "top_p must be above 0 and at most 1 .* got 0"),
    ({"top_p": 1.5, "temperature": 1}, "top_p must be above 0 and at most 1 .* got 1.5"),
    ({"top_k": 5}, "for sampling, at a temperature above 0, got temperature=0.0, top_k=5"),
    ({"top_p": 0.5}, "for sampling, at a temperature above 0, .* top_p=0.5"),
    ({"beam": 0}, "beam must be at least 1, got 0"),
    ({"beam": 4, "n_best": 5}, "n_best must be at least 1 and at most the beam, 4, got 5"),
    ({"beam": 4, "n_best": 0}, "n_best must be at least 1 and at most the beam, 4, got 0"),
    ({"n_best": 2}, "n_best must be at least 1 and at most the beam, 1, got 2"),
    ({"beam": 4, "length_penalty": -0.1}, r"length_penalty must be from 0 \(off\) to 10, got -0.1"),
    ({"beam": 4, "length_penalty": 11}, r"length_penalty must be from 0 \(off\) to 10, got 11"),
    ({"max_length": 10_001}, "max_length must be at most 10,000, got 10,001"),
    ({"beam": 1001}, "beam must be at most 1,000, got 1,001"),
    ({"beam": 4, "temperature": 1.0}, "for sampling, not for a beam of 4, got temperature=1.0"),
    ({"beam": 4, "top_k": 3}, "for sampling, not for a beam of 4, .* top_k=3"),
    ({"beam": 4, "top_p": 0.9}, "for sampling, not for a beam of 4, .* top_p=0.9"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_a_wrong_option_says_what_was_received(options, message):
    with pytest.raises(ValueError, match=message):
        check_options(**options)
    with pytest.raises(ValueError, match=message):
        Generator(keras.layers.Layer(), keras.layers.Layer(), **{"max_length": 3, **options})


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({"beam": 4, "n_best": 4, "top_k": 0, "top_p": 1, "temperature": 0}, 8),
        ({"beam": 4, "length_penalty": 0}, 8),
        ({"beam": 3, "length_penalty": 10}, 6),
        ({"beam": None, "top_k": None, "top_p": None}, 1),
        ({"beam": 1, "top_k": 3, "top_p": 0.5, "temperature": 1}, None),
    ],
)
def test_what_is_off_goes_with_everything_and_limits_are_allowed(options, count):
    check_options(**options)
    generator = Generator(keras.layers.Layer(), keras.layers.Layer(), max_length=3, **options)
    assert generator.search.count == count


def test_the_functions_check_their_options():
    state = ops.convert_to_tensor([0])
    with pytest.raises(ValueError, match="max_length must be at least 1, got 0"):
        generate(None, None, state, max_length=0)
    with pytest.raises(ValueError, match="top_k must be 0"):
        generate(None, None, state, max_length=1, temperature=1.0, top_k=-1)
    with pytest.raises(ValueError, match="beam must be at least 1, got 0"):
        beam_search(None, None, state, beam=0, max_length=1)
    with pytest.raises(ValueError, match="n_best must be"):
        beam_search(None, None, state, beam=2, max_length=1, n_best=3)
