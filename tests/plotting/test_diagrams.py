"""The diagrams: well-formed, readable on light and dark pages, and those that the code draws."""

import importlib
import xml.etree.ElementTree as ElementTree

import pytest

from keras_attention.plotting import diagram
from keras_attention.plotting.diagrams import NAMES

SVG = "{http://www.w3.org/2000/svg}"
every = pytest.mark.parametrize("name", NAMES)


def test_there_are_diagrams():
    assert len(NAMES) >= 25


@every
def test_a_diagram_says_what_it_shows(name):
    shown = diagram(name)
    assert shown.caption.endswith(".")
    assert 20 < len(shown.caption) <= 110
    assert repr(shown) == f"Diagram({name!r}): {shown.caption}"
    assert shown._repr_svg_() == shown.svg


@every
def test_a_phone_can_show_it(name):
    """It is 480 wide, so letters of 13.5 are 10 pixels high on a phone that is 360 wide."""
    root = ElementTree.fromstring(diagram(name).svg)
    left, top, width, height = map(float, root.get("viewBox").split())
    assert (left, top, width) == (0, 0, 480)
    assert 100 <= height <= 640
    texts = list(root.iter(f"{SVG}text"))
    assert texts
    assert all(float(text.get("font-size")) >= 13.5 for text in texts)


@every
def test_it_is_drawn_for_light_and_for_dark_pages(name):
    """Every class has a colour of its own on each kind of page."""
    root = ElementTree.fromstring(diagram(name).svg)
    light, dark = root.find(f"{SVG}style").text.split("@media (prefers-color-scheme:dark)")
    classes = {each for element in root.iter() for each in element.get("class", "").split()}
    for each in classes - {root.get("class")}:
        rule = f" .{each}{{"
        assert rule in light
        assert dark.count(rule) == 3  # dark, and on a page that can be switched both
        assert light.split(rule)[1].split("}")[0] != dark.split(rule)[1].split("}")[0]


def test_an_unknown_name_is_an_error_that_lists_the_known():
    with pytest.raises(ValueError, match=r"name must be one of .*one-vector.* got 'none'"):
        diagram("none")


def test_it_is_saved_whole(tmp_path):
    diagram(NAMES[0]).save(tmp_path / "new.svg")
    assert (tmp_path / "new.svg").read_text(encoding="utf-8") == diagram(NAMES[0]).svg


@pytest.mark.extra("docs")
def test_the_files_are_those_that_the_code_draws():
    drawn = importlib.import_module("docs.diagrams").drawn()
    assert sorted(drawn) == list(NAMES)
    for name, svg in drawn.items():
        ours, theirs = map(ElementTree.canonicalize, (diagram(name).svg, svg))
        assert ours == theirs, f"{name} has changed: python -m docs.diagrams"


@pytest.mark.extra("docs")
def test_text_that_would_be_cut_off_is_an_error():
    canvas = importlib.import_module("docs.diagrams.canvas").Canvas(100)
    with pytest.raises(ValueError, match=r"'too far' leaves the diagram: from 470"):
        canvas.text(470, 10, "too far", anchor="start")
    with pytest.raises(ValueError, match="too much for a box of 30"):
        canvas.box(0, 0, 30, 20, "too wide a label")
