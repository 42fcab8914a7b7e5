"""The index of concepts: it is complete, and what it names is there."""

import re
from functools import reduce
from pathlib import Path
from typing import NamedTuple

import pytest

import keras_attention
from examples import notebooks
from keras_attention import layers, models
from keras_attention.plotting.diagrams import NAMES

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8")
HEAD, INDEX, LEFT_OUT = re.split(r"(?m)^(?=## Context)|^## Left out$", PAGE)
PUBLIC = [*layers.__all__, *(name for name in models.__all__ if name.startswith("build_"))]
CHAPTERS = {f"../examples/{script.stem}.ipynb": script for script in notebooks.scripts()}


class Row(NamedTuple):
    """An idea; its chapters, names and diagrams, each a dictionary of links."""

    idea: str
    chapters: dict
    names: dict
    diagrams: dict


def links(text):
    """Return where the words of a text lead to; names in code without a link lead nowhere."""
    found = dict.fromkeys(re.findall(r"`([^`]+)`", text), "")
    return found | {word.strip("`"): to for word, to in re.findall(r"\[([^]]+)\]\(([^)]+)\)", text)}


def table(text):
    """Return the cells of the rows of all tables in a text, without their heads."""
    lines = re.findall(r"(?m)^\| (?!---)(.*) \|$(?!\n\| ---)", text)
    return [[cell.strip() for cell in line.split(" | ")] for line in lines]


ROWS = [Row(idea, *map(links, cells)) for idea, *cells in table(INDEX)]
REASONS = {name: why for cell, why in table(LEFT_OUT) for name in links(cell)}


def meant(name):
    """Return what a name of the page stands for."""
    for room in (layers, models, keras_attention):
        try:
            return reduce(getattr, name.split("."), room)
        except AttributeError:
            continue
    raise AssertionError(f"there is no {name}")


def places_of(name):
    """Return the files, or folders, that a name may lead to."""
    if name.split(".")[0] == "scores":
        return {"../keras_attention/layers/scores.py"}
    if name in layers.__all__ or name in models.__all__:
        path = meant(name).__module__.replace(".", "/")
        return {f"../{path}.py#{name}"}
    if name.startswith("models."):  # the views lead nowhere
        return {""}
    if name == "Translator":
        return {"../keras_attention/translation/translator.py"}
    *rooms, _ = name.split(".")
    paths = ["/".join(rooms[:count]) for count in range(1, len(rooms) + 1)]
    return {f"../keras_attention/{path}{end}" for path in paths for end in ("", ".py")}


def test_every_note_has_a_section_and_every_idea_is_told_and_computed():
    for number in range(5):
        assert len(re.findall(rf"(?m)^## .* \(note 00{number}\)$", INDEX)) == 1
    assert len(ROWS) > 100
    ideas = [row.idea for row in ROWS]
    assert sorted(ideas) == sorted(set(ideas))
    for row in ROWS:
        assert row.chapters, f"no notebook tells of {row.idea!r}"
        assert row.names, f"nothing computes {row.idea!r}"


@pytest.mark.parametrize("name", PUBLIC)
def test_every_layer_and_model_builder_is_in_a_row_or_left_out_for_a_reason(name):
    is_there = any(name in row.names for row in ROWS)
    assert is_there != (name in REASONS), f"{name} belongs in a row, or among those left out"
    assert is_there or len(REASONS[name].split()) >= 5


def test_only_layers_and_model_builders_are_left_out():
    assert set(REASONS) <= set(PUBLIC)


def test_every_chapter_is_listed_by_its_title_and_tells_of_something():
    titles = {to: title for title, to in re.findall(r"(?m)^\| \d+ \| \[(.*)\]\((.*)\) \|$", HEAD)}
    for to, script in CHAPTERS.items():
        text = script.read_text(encoding="utf-8")
        assert titles[to] == re.search(r"(?m)^# # \d+ · (.*)$", text)[1]
    assert set(titles) == set(CHAPTERS) == {to for row in ROWS for to in row.chapters.values()}
    for row in ROWS:
        for number, to in row.chapters.items():
            assert int(number) == int(CHAPTERS[to].name[:2]), row


def test_every_name_stands_for_something_and_leads_to_its_file():
    for row in ROWS:
        for name, to in row.names.items():
            meant(name)
            assert to in places_of(name), f"{name} leads to {to!r}"


def test_every_diagram_is_there():
    for row in ROWS:
        for name, to in row.diagrams.items():
            assert name in NAMES
            assert to == f"../keras_attention/plotting/diagrams/{name}.svg"


@pytest.mark.parametrize("name", PUBLIC)
def test_a_name_is_beside_a_chapter_that_uses_it(name):
    uses = {
        to
        for to, script in CHAPTERS.items()
        if re.search(rf"\b{name}\b", script.read_text(encoding="utf-8"))
    }
    beside = {to for row in ROWS if name in row.names for to in row.chapters.values()}
    assert uses & beside or not (uses and beside), f"{name} is used in {sorted(uses)}"


def test_the_page_is_in_the_navigation():
    assert re.search(r"(?m)^ +- .*: concepts\.md$", (ROOT / "mkdocs.yml").read_text("utf-8"))
