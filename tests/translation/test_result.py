"""A translation and its pictures: which weights are drawn, and with which words."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from keras_attention.translation.result import (
    Translation,
    check_choice,
    layers_of,
    mean_attention,
)

S, T, H = 5, 4, 3  # with [START] and [END]; the fourth context token continues the third
LAYERS = 11


def random_weights(*shape):
    weights = np.random.default_rng(sum(shape)).random(shape)
    return weights / weights.sum(-1, keepdims=True)


@pytest.fixture(scope="module")
def translation():
    return Translation(
        source="Casitas",
        text="cottages",
        context_tokens=("[START]", "Casi", "ta", "s", "[END]"),
        target_tokens=("cot", "tage", "s", "[END]"),
        weights={
            "cross_attention": [random_weights(H, T, S) ** n for n in range(1, LAYERS + 1)],
            "encoder_self_attention": [random_weights(H, S, S)],
            "decoder_self_attention": [random_weights(H, T, T)],
        },
        unknown=(2,),
        finished=True,
        context_groups=([0], [1, 2, 3], [4]),
        target_groups=([0, 1, 2], [3]),
    )


def drawn(axes):
    return np.asarray(axes.images[0].get_array())


def words(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def test_weights_without_heads_are_those_of_one_head(translation):
    one_head = random_weights(T, S)
    layers = layers_of({"cross_attention": [one_head, *translation.weights["cross_attention"]]})
    assert [len(weights) for weights in layers] == [1, *LAYERS * [H]]
    np.testing.assert_array_equal(layers[0][0], one_head)
    assert layers_of({"cross_attention": [one_head]}, "encoder") == []


def test_the_mean_is_over_heads_and_layers_of_what_looks_at_the_context(translation):
    expected = np.mean(translation.weights["cross_attention"], axis=(0, 1))
    np.testing.assert_allclose(translation.attention, expected)
    np.testing.assert_allclose(mean_attention(translation.weights), expected)


def test_pieces_are_merged_to_words_unless_they_are_wanted(translation, tmp_path):
    whole = translation.plot(tmp_path / "whole.png")
    weights = translation.attention
    rows = np.stack([weights[:3].mean(axis=0), weights[3]])
    expected = np.stack([rows[:, 0], rows[:, 1:4].sum(axis=1), rows[:, 4]], axis=1)
    np.testing.assert_allclose(drawn(whole), expected)
    assert words(whole.xaxis) == ["[START]", "Casitas", "[END]"]
    assert words(whole.yaxis) == ["cottages", "[END]"]

    apart = translation.plot(tmp_path / "apart.png", pieces=True)
    np.testing.assert_allclose(drawn(apart), weights)
    assert words(apart.xaxis) == list(translation.context_tokens)


def test_a_layer_and_a_head_can_be_chosen(translation, tmp_path):
    weights = translation.weights["cross_attention"][9]
    layer = translation.plot(tmp_path / "a.png", layer=10, pieces=True)
    np.testing.assert_allclose(drawn(layer), weights.mean(axis=0))
    head = translation.plot(tmp_path / "a.png", layer=10, head=2, pieces=True)
    np.testing.assert_allclose(drawn(head), weights[1])


def test_a_grid_has_a_panel_for_every_head_of_a_layer(translation, tmp_path):
    panels = translation.plot_grid(tmp_path / "a.png", layer=2, pieces=True)
    assert [panel.get_title() for panel in panels] == ["head 1", "head 2", "head 3"]
    for panel, weights in zip(panels, translation.weights["cross_attention"][1], strict=True):
        np.testing.assert_allclose(drawn(panel), weights)


@pytest.mark.parametrize("picture", ["plot", "plot_grid"])
def test_an_option_of_the_caller_wins(translation, picture):
    panels = getattr(translation, picture)(axis_names=("words", "their sources"))
    panels = panels if picture == "plot_grid" else [panels]
    named = {name for each in panels for name in (each.get_ylabel(), each.get_xlabel()) if name}
    assert named == {"words", "their sources"}


def test_a_grid_has_a_panel_for_every_layer(translation, tmp_path):
    panels = translation.plot_grid(tmp_path / "a.png", by="layers", pieces=True)
    assert [panel.get_title() for panel in panels] == [f"layer {n}" for n in range(1, LAYERS + 1)]
    np.testing.assert_allclose(
        drawn(panels[9]), translation.weights["cross_attention"][9].mean(axis=0)
    )


def test_every_head_of_every_layer_is_in_one_picture_with_a_row_a_layer(translation, tmp_path):
    panels = translation.plot_grid(tmp_path / "a.png", pieces=True)
    assert len(panels) == LAYERS * H
    assert panels[H * 9 + 1].get_title() == "layer 10, head 2"
    np.testing.assert_allclose(
        drawn(panels[H * 9 + 1]), translation.weights["cross_attention"][9][1]
    )
    tops = [round(panel.get_position().y1, 3) for panel in panels]
    assert len(set(tops)) == LAYERS


def test_the_encoder_looks_at_the_context_and_the_decoder_at_what_it_was_fed(translation, tmp_path):
    encoder = translation.plot(tmp_path / "a.png", of="encoder")
    assert words(encoder.xaxis) == words(encoder.yaxis) == ["[START]", "Casitas", "[END]"]
    decoder = translation.plot(tmp_path / "a.png", of="decoder")
    assert words(decoder.yaxis) == ["cottages", "[END]"]
    assert words(decoder.xaxis) == ["[START]", "cottages"]
    pieces = translation.plot(tmp_path / "a.png", of="decoder", pieces=True)
    assert words(pieces.xaxis) == ["[START]", "cot", "tage", "s"]
    np.testing.assert_allclose(
        drawn(pieces), translation.weights["decoder_self_attention"][0].mean(axis=0)
    )


def test_an_unknown_piece_marks_its_word(translation, tmp_path):
    axes = translation.plot(tmp_path / "a.png")
    outlined = [label.get_text() for label in axes.get_xticklabels() if label.get_bbox_patch()]
    assert outlined == ["Casitas"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"of": "nothing"}, "of must be one of cross, encoder, decoder, got 'nothing'"),
        ({"layer": 12}, "layer must be from 1 to 11 in this model, got 12"),
        ({"layer": 0}, "layer must be from 1 to 11 in this model, got 0"),
        ({"head": 4}, "head must be from 1 to 3 in this model, got 4"),
        ({"of": "encoder", "layer": 2}, "layer must be from 1 to 1 in this model, got 2"),
    ],
)
def test_a_choice_that_the_model_lacks_is_an_error_that_says_what_it_has(
    translation, options, message
):
    with pytest.raises(ValueError, match=message):
        translation.plot("a.png", **options)


def test_a_model_without_self_attention_says_so():
    with pytest.raises(ValueError, match="the decoder of this model does not attend to itself"):
        check_choice([], "decoder")


def test_coloured_text_and_an_animation_show_what_the_heat_map_shows(translation, tmp_path):
    from PIL import Image

    text = translation.plot_text(tmp_path / "a.png", layer=2, head=1)
    heat_map = translation.plot(tmp_path / "b.png", layer=2, head=1)
    shown = drawn(heat_map)
    assert len(text.patches) == shown.size
    darkest = min(text.patches, key=lambda patch: sum(patch.get_facecolor()))
    assert text.patches.index(darkest) == shown.argmax()
    with Image.open(translation.animate(tmp_path / "a.gif", pieces=True)) as moving:
        assert moving.n_frames == T
    with Image.open(translation.animate(tmp_path / "b.gif")) as moving:
        assert moving.n_frames == 2  # words


def test_an_unknown_grid_is_an_error(translation):
    with pytest.raises(ValueError, match="by must be one of heads, layers, got 'words'"):
        translation.plot_grid("a.png", by="words")


def test_a_view_has_every_layer_head_and_token(translation, tmp_path):
    page = translation.view(tmp_path / "view.html").html
    assert (tmp_path / "view.html").read_text(encoding="utf-8") == page
    data = json.loads(re.search(r'<script type="application/json".*?>(.*?)</script>', page)[1])
    cross, encoder, decoder = data["panels"]
    assert cross["name"] == "translation → sentence"
    assert len(cross["layers"]) == LAYERS
    assert {layer["heads"] for layer in cross["layers"]} == {H}
    assert cross["keys"]["tokens"] == ["[START]", "Casi", "ta", "s", "[END]"]
    assert cross["keys"]["unknown"] == encoder["queries"]["unknown"] == [2]
    assert cross["queries"]["groups"] == [[0, 1, 2], [3]]
    assert encoder["name"] == "sentence → itself"
    assert decoder["keys"]["tokens"] == ["[START]", "cot", "tage", "s"]
    assert decoder["keys"]["groups"] == [[0], [1, 2, 3]]
    assert decoder["queries"]["tokens"] == ["cot", "tage", "s", "[END]"]


def test_a_view_without_weights_is_an_error(translation):
    with pytest.raises(ValueError, match="translated with attention=False"):
        replace(translation, weights={}).view()


def test_axes_have_the_names_of_the_languages():
    import matplotlib.pyplot as plt

    weights = {"cross_attention": [np.eye(2)], "encoder_self_attention": [np.eye(2)]}
    one = Translation("a", "b", ("a", "."), ("b", "."), weights, (), True)
    for languages, names in ((None, ("context", "target")), (("Dutch", "Frisian"),) * 2):
        named = one if languages is None else replace(one, languages=languages)
        ax = named.plot()
        assert (ax.get_xlabel(), ax.get_ylabel()) == names
        ax = named.plot(of="encoder")
        assert (ax.get_xlabel(), ax.get_ylabel()) == (names[0], names[0])
        plt.close("all")


def test_translations_may_be_compared_and_kept_in_a_set():
    weights = {"cross_attention": [np.eye(2)]}
    one, same, other = (
        Translation("a", text, ("a", "."), (text, "."), weights, (), True) for text in "bbc"
    )
    assert one == same != other
    assert {one, same, other} == {one, other}
