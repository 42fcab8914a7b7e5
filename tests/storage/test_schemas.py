import json
from dataclasses import dataclass
from typing import Any

import pytest

from keras_attention.storage import check_fields, check_type, read_json


@dataclass
class Horse:
    name: str
    legs: int = 4
    friends: list[str] | None = None


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (7, int),
        (7, float),
        (None, int | None),
        ("a", bool | str),
        (True, bool | str),
        ([1, "a"], tuple[int, str]),
        ({"a": [1]}, dict[str, list[int]]),
        ({"anything": [object]}, Any),
        ({"name": "Ada", "friends": ["Bo"]}, Horse),
    ],
)
def test_a_value_of_its_type_passes(value, kind):
    check_type(value, kind, "it")


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        (True, int, "it must be a whole number, got True"),
        (7.0, int, "it must be a whole number, got 7.0"),
        (False, float, "it must be a number, got False"),
        ("7", float | None, "it must be a number, got '7'"),
        (7, bool | str, "it must be true or false or a text, got 7"),
        (None, str, "it must be a text, got None"),
        ([1], tuple[int, str], r"it must be a list of 2, got \[1\]"),
        ([1, 2], tuple[int, str], r"it\[1\] must be a text, got 2"),
        ({"a": [1, "b"]}, dict[str, list[int]], r"it.a\[1\] must be a whole number, got 'b'"),
        ({"name": "Ada", "legs": None}, Horse, "it.legs must be a whole number, got None"),
        ({"legs": 3}, Horse, r"it must have name, got \['legs'\]"),
        ({"name": "Ada", "wings": 2}, Horse, "it has no wings; it has name, legs, friends"),
        ("x" * 10**6, int, "it must be a whole number, got 'xxx.{1,40}x'"),
    ],
)
def test_another_type_is_an_error_that_says_what_was_expected(value, kind, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        check_type(value, kind, "it")


def test_other_fields_are_allowed_where_they_are_the_callers_own():
    check_fields({"name": "Ada", "wings": 2}, Horse, others=True)


def test_a_file_is_read_up_to_a_size_and_a_depth(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    for depth, opening, closing in ((16, "[", "]"), (16, '{"a":', "}")):
        path.write_text(opening * (depth - 1) + "[]" + closing * (depth - 1))
        read_json(path)
        for deeper in (1, 10**5):
            path.write_text(opening * (depth + deeper) + "1" + closing * (depth + deeper))
            with pytest.raises(ValueError, match=r"a\.json has values inside each other more than"):
                read_json(path)
    path.write_text(json.dumps("four"))
    monkeypatch.setattr("keras_attention.storage.schemas.MOST_BYTES", 5)
    with pytest.raises(ValueError, match=r"a\.json has at most 5 bytes, got 6"):
        read_json(path)
