"""Training curves: from the history of a run to matplotlib."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from keras_attention.plotting.figures import (
    AS_WRITTEN,
    boxes_for,
    check_plot_path,
    draw_grid_lines,
    new_figure,
    save,
)

if TYPE_CHECKING:
    import keras

# Blue and vermillion of Okabe and Ito: readers with any colour vision can tell them apart.
_TRAINING_COLOR, _VALIDATION_COLOR = "#0072b2", "#d55e00"
_MOST_DOTS = 30


def plot_history(
    history: "Mapping[str, Sequence[float]] | keras.callbacks.History",
    *,
    monitor: str = "val_loss",
    title: str | None = None,
    path: Path | str | None = None,
) -> np.ndarray:
    """Draw loss and metrics over the epochs, in training and in validation.

    Each quantity has a panel, which it shares with its `val_` twin; losses come first. Every panel
    marks the best epoch, where `monitor` is lowest. The learning rate, which Keras may also
    record, is left out. `path` works as in `plot_attention`.

    Args:
        history: the dict of a Keras `History`, such as `{"loss": [...], "val_loss": [...],
            "masked_accuracy": [...], "val_masked_accuracy": [...]}` with one number per epoch; or
            the `History` itself, as `fit` returns it.
        monitor: the curve whose lowest value marks the best epoch.
        title: a line above the panels.
        path: file to save to; its extension sets the format (`.png`, `.svg`, `.pdf`, …).

    Returns:
        The matplotlib `Axes` in an array, one per panel.

    Raises:
        ValueError: there is nothing to draw, two curves differ in length, or the extension is
            not supported.
        OSError: `path` cannot be written (`FileNotFoundError`: its folder is missing).
    """
    from matplotlib.ticker import MaxNLocator

    if path is not None:
        path = check_plot_path(path)
    curves, names = _as_curves(getattr(history, "history", history))
    best = _best_epoch(curves.get(monitor))
    boxes = boxes_for([*names, title or ""])

    figure = new_figure((4.6 * len(names), 3.6 if title else 3.3), path)
    panels = figure.subplots(1, len(names), squeeze=False)[0]
    for panel, name in zip(panels, names, strict=True):
        _draw_curves(panel, curves[name], curves.get(f"val_{name}"), best)
        shown = name.replace("_", " ").translate(boxes)
        panel.set_title(shown, loc="left", fontsize=11, **AS_WRITTEN)
        panel.set_xlabel("epoch")
        panel.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        panel.spines[["top", "right"]].set_visible(False)
        draw_grid_lines(panel)
        panel.legend(frameon=False, fontsize=9)
    if title:
        figure.suptitle(title.translate(boxes), fontsize=12, **AS_WRITTEN)
    if path is not None:
        save(figure, path)
    return panels


def _as_curves(history):
    """Return a dict of the curves as arrays, and the names of the panels."""
    curves = {str(name): np.asarray(values, dtype=float) for name, values in history.items()}
    names = [n for n in curves if not n.startswith("val_") and n not in ("learning_rate", "lr")]
    names.sort(key=lambda name: "loss" not in name)
    if not names or not curves[names[0]].size:
        raise ValueError(f"history must hold at least one curve and epoch, got {list(curves)}")
    epochs = curves[names[0]].shape
    for name in names:
        for curve in (name, f"val_{name}"):
            if curve in curves and (curves[curve].shape != epochs or len(epochs) != 1):
                raise ValueError(
                    f"history['{curve}'] must have one number per epoch, as '{names[0]}' has: "
                    f"shape {epochs}, got {curves[curve].shape}"
                )
    return curves, names


def _best_epoch(curve):
    """Return the index of the lowest finite value of a curve, or None if there is none."""
    if curve is None or not np.isfinite(curve).any():
        return None
    return int(np.nanargmin(np.where(np.isfinite(curve), curve, np.nan)))


def _draw_curves(panel, training, validation, best):
    """Draw the two curves of a quantity over the epochs, and mark the best epoch."""
    epochs = np.arange(1, len(training) + 1)
    _draw_curve(panel, epochs, training, color=_TRAINING_COLOR, label="training")
    if validation is None:
        return
    _draw_curve(panel, epochs, validation, color=_VALIDATION_COLOR, label="validation")
    if best is not None:
        value = validation[best]
        panel.axvline(best + 1, color="0.6", linewidth=0.8, linestyle=":")
        ring = {"marker": "o", "s": 80, "fc": "none", "ec": _VALIDATION_COLOR, "lw": 1.2}
        panel.scatter(best + 1, value, label=f"best epoch {best + 1}: {value:.4g}", **ring)


def _draw_curve(panel, epochs, values, **style):
    """Draw a curve with a dot per epoch, unless so many dots would hide the line."""
    few = np.isfinite(values).sum() <= _MOST_DOTS
    panel.plot(epochs, values, marker="o" if few else "", markersize=3.5, **style)
