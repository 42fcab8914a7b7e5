import numpy as np
import pytest

from keras_attention.plotting import plot_history

HISTORY = {
    "loss": [3.0, 2.0, 1.0],
    "val_loss": [3.5, 2.25, 2.5],
    "masked_accuracy": [0.2, 0.5, 0.7],
    "val_masked_accuracy": [0.125, 0.375, 0.5],
    "learning_rate": [0.1, 0.1, 0.1],
}


def test_history_has_a_panel_a_quantity_the_loss_first(tmp_path):
    backwards = dict(reversed(HISTORY.items()))
    panels = plot_history(backwards, title="$5 run_1", path=tmp_path / "history.png")
    assert [panel.get_title("left") for panel in panels] == ["loss", "masked accuracy"]
    for panel, name in zip(panels, ("loss", "masked_accuracy"), strict=True):
        training, validation, mark = panel.lines
        np.testing.assert_array_equal(
            training.get_xydata(), [*enumerate(HISTORY[name], 1)], err_msg=name
        )
        np.testing.assert_array_equal(
            validation.get_xydata(), [*enumerate(HISTORY[f"val_{name}"], 1)]
        )
        assert (training.get_label(), validation.get_label()) == ("training", "validation")
        assert list(mark.get_xdata()) == [2, 2]
    texts = [[text.get_text() for text in panel.get_legend().get_texts()] for panel in panels]
    assert texts[0][-1] == "best epoch 2: 2.25"
    assert texts[1][-1] == "best epoch 2: 0.375"


def test_history_without_validation_and_of_one_epoch(tmp_path):
    (panel,) = plot_history({"loss": [1.5]}, path=tmp_path / "history.svg")
    assert [line.get_label() for line in panel.lines] == ["training"]
    assert [tick for tick in panel.get_xticks() if tick != round(tick)] == []


def test_history_that_diverged_is_drawn_and_never_best(tmp_path):
    curves = {"loss": [2.0, np.nan, np.inf], "val_loss": [np.nan, 3.0, np.inf]}
    (panel,) = plot_history(curves, path=tmp_path / "history.png")
    assert panel.get_legend().get_texts()[-1].get_text() == "best epoch 2: 3"
    curves["val_loss"] = [np.nan] * 3
    (panel,) = plot_history(curves, path=tmp_path / "history.png")
    assert panel.get_legend().get_texts()[-1].get_text() == "validation"


def test_a_long_run_is_a_line_and_a_short_one_has_dots(tmp_path):
    for epochs, marker in ((7, "o"), (61, "")):
        curve = np.linspace(3.0, 1.0, epochs).tolist()
        history = {"loss": curve, "val_loss": curve, "learning_rate": curve}
        panels = plot_history(history, path=tmp_path / "history.png")
        assert [panel.get_title("left") for panel in panels] == ["loss"]
        training, validation, _ = panels[0].lines
        assert training.get_marker() == validation.get_marker() == marker
        assert len(training.get_xydata()) == epochs


def test_a_long_run_that_diverged_at_once_is_seen(tmp_path):
    (panel,) = plot_history({"loss": [1.5] + 60 * [np.nan]}, path=tmp_path / "history.png")
    assert panel.lines[0].get_marker() == "o"


def test_the_history_object_of_keras_will_do(tmp_path):
    class History:
        history = HISTORY

    panels = plot_history(History(), path=tmp_path / "history.png")
    same = plot_history(HISTORY, path=tmp_path / "same.png")
    assert [panel.get_title("left") for panel in panels] == ["loss", "masked accuracy"]
    assert (tmp_path / "history.png").read_bytes() == (tmp_path / "same.png").read_bytes()
    for panel, other in zip(panels, same, strict=True):
        for line, expected in zip(panel.lines, other.lines, strict=True):
            np.testing.assert_array_equal(line.get_xydata(), expected.get_xydata())


@pytest.mark.parametrize(
    ("history", "message"),
    [
        ({}, r"at least one curve and epoch, got \[\]"),
        ({"loss": []}, r"at least one curve and epoch, got \['loss'\]"),
        ({"lr": [0.1]}, "at least one curve"),
        ({"loss": [1, 2, 3], "val_loss": [1, 2]}, r"history\['val_loss'\] .* \(3,\), got \(2,\)"),
        ({"loss": [1, 2], "accuracy": [1]}, r"history\['accuracy'\] .* \(2,\), got \(1,\)"),
    ],
)
def test_a_history_that_does_not_fit_is_refused(history, message):
    with pytest.raises(ValueError, match=message):
        plot_history(history)


def test_names_that_the_font_lacks_are_boxes_and_one_warning_names_them(tmp_path):
    with pytest.warns(UserWarning, match="the font has no 犬 猫: drawn as □") as caught:
        (panel,) = plot_history({"猫": [1.0]}, title="犬", path=tmp_path / "history.png")
    assert len(caught) == 1
    assert panel.get_title("left") == "□"
