"""Every experiment of the lab: quickly, and, where minutes are given, to its bars."""

from itertools import groupby

import pytest

pytest.importorskip("tensorflow")

from keras_attention import lab

# The runs that differ in their seed alone stand together.
HELD = {
    runs[0].folder: runs
    for _, group in groupby(
        lab.runs_of(lab.EXPERIMENTS), key=lambda run: (run.name, str(run.options))
    )
    for runs in [[*group]]
}


@pytest.mark.parametrize("name", lab.EXPERIMENTS)
def test_a_quick_run_leaves_figures_and_pictures(performed_quickly, name):
    performed_quickly(name, **lab.EXPERIMENTS[name].variants[0])


@pytest.mark.slow
@pytest.mark.parametrize("runs", HELD.values(), ids=HELD)
def test_every_figure_is_where_it_should_be(runs, tmp_path):
    """Of three machines two must learn all; how a CPU rounds decides which one is late."""
    missed = []
    for run in runs:
        report = lab.perform(
            run.name, run.experiment, tmp_path / run.folder, seed=run.seed, verbose=2, **run.options
        )
        print(*report.figures, sep="\n")
        missed.append(report.missed)
    assert sum(map(bool, missed)) <= len(runs) // 3, missed
