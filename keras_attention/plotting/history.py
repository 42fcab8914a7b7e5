"""Training curves: the history of a run -> matplotlib."""

import numpy as np

from keras_attention.plotting.figures import boxes_for, check_plot_path, new_figure, save

# Blue and vermillion of Okabe and Ito: told apart by readers with any colour vision.
_TRAINING_COLOR, _VALIDATION_COLOR = "#0072b2", "#d55e00"
_MOST_DOTS = 30


def plot_history(history, *, monitor="val_loss", title=None, path=None):
    """Draw how loss and metrics went from epoch to epoch, in training and in validation.

    One panel a quantity, losses first; a quantity and its `val_` twin share a panel. The best
    epoch, the one with the least `monitor`, is marked in all of them. The learning rate, which
    Keras may record as well, is left out. What `path` means for the figure is as in
    `plot_attention`.

    Args:
        history: the dict of a Keras `History`, such as `{"loss": [...], "val_loss": [...],
            "masked_accuracy": [...], "val_masked_accuracy": [...]}` with one number an epoch; or
            the `History` itself, as `fit` returns it.
        monitor: the curve whose least value makes the best epoch.
        title: a line above the panels.
        path: file to save to; its extension says how (`.png`, `.svg`, `.pdf`, …).

    Returns:
        The matplotlib `Axes`, one a panel, as an array.

    Raises:
        ValueError: there is nothing to draw, two curves differ in length, or the extension does
            not fit.
        OSError: `path` cannot be written (`FileNotFoundError`: its folder is missing).
    """
    from matplotlib.ticker import MaxNLocator

    if path is not None:
        path = check_plot_path(path)
    curves, names = _as_curves(getattr(history, "history", history))
    best = _best_epoch(curves.get(monitor))

    figure = new_figure((4.6 * len(names), 3.6 if title else 3.3), path)
    panels = figure.subplots(1, len(names), squeeze=False)[0]
    for panel, name in zip(panels, names, strict=True):
        _draw_curves(panel, curves[name], curves.get(f"val_{name}"), best)
        panel.set_title(name.replace("_", " "), loc="left", fontsize=11, parse_math=False)
        panel.set_xlabel("epoch")
        panel.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(axis="y", color="0.9", linewidth=0.8)
        panel.set_axisbelow(True)
        panel.legend(frameon=False, fontsize=9)
    if title:
        figure.suptitle(title.translate(boxes_for([title])), fontsize=12, parse_math=False)
    if path is not None:
        save(figure, path)
    return panels


def _as_curves(history):
    """Return the curves as arrays by name, and the names of the panels."""
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
                    f"history['{curve}'] must have one number an epoch, as '{names[0]}' has: "
                    f"shape {epochs}, got {curves[curve].shape}"
                )
    return curves, names


def _best_epoch(curve):
    """Return the index of the least finite value of a curve, or None where there is none."""
    if curve is None or not np.isfinite(curve).any():
        return None
    return int(np.nanargmin(np.where(np.isfinite(curve), curve, np.nan)))


def _draw_curves(panel, training, validation, best):
    """Draw the two curves of a quantity over the epochs, the best epoch marked."""
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
    """Draw a curve with a dot an epoch, unless there are so many that they hide the line."""
    few = np.isfinite(values).sum() <= _MOST_DOTS
    panel.plot(epochs, values, marker="o" if few else "", markersize=3.5, **style)
