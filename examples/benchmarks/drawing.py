"""Pictures: bars with their spread, and lines on axes that both grow by factors."""

import statistics

# Of Okabe and Ito, told apart by readers with any colour vision; this package has the first.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
OTHERS = "#a9bfd0"


def bars(panel, values, strong=()):
    """Draw the medians of lists of values as bars, and from – to as lines.

    Args:
        panel: matplotlib axes.
        values: lists by name.
        strong: names that have the strong colour, those of this package.
    """
    names = list(values)[::-1]
    middles = [statistics.median(values[name]) for name in names]
    colors = [COLORS[0] if name in strong else OTHERS for name in names]
    around = [
        [abs(middle - edge(values[name])) for name, middle in zip(names, middles, strict=True)]
        for edge in (min, max)
    ]
    drawn = panel.barh(names, middles, xerr=around, color=colors, error_kw={"ecolor": "0.35"})
    panel.bar_label(drawn, [_short(middle) for middle in middles], padding=5, fontsize=9)
    panel.spines[["top", "right", "bottom"]].set_visible(False)
    panel.set_xticks([])
    panel.tick_params(length=0, labelsize=9)
    panel.set_xlim(0, 1.25 * max(max(each) for each in values.values()))


def growth(panel, series, xlabel, colors):
    """Draw lines of cost by size with both axes logarithmic, and dotted what theory says.

    Args:
        panel: matplotlib axes.
        series: by name: sizes, medians, and what theory says in the same unit.
        xlabel: what grows.
        colors: by name.
    """
    from matplotlib.ticker import LogLocator

    for name, (sizes, middles, theory) in series.items():
        panel.plot(sizes, middles, color=colors[name], marker="o", markersize=4, label=name)
        panel.plot(sizes, theory, color=colors[name], linestyle=":", linewidth=1.2)
    panel.set_xscale("log", base=2)
    panel.set_yscale("log")
    panel.set_xticks(sizes, [f"{size:,}" for size in sizes])
    panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    panel.minorticks_off()
    panel.set_xlabel(xlabel, fontsize=9)
    panel.tick_params(labelsize=8)
    panel.grid(color="0.92")
    panel.spines[["top", "right"]].set_visible(False)


def finish(figure, title):
    """Give a figure its title."""
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)


def _short(value):
    return f"{value:,.0f}" if value >= 20 else f"{value:.2g}"
