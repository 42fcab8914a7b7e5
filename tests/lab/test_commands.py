"""The commands of `keras-attention lab`, beside the experiments that they run."""

import pytest
import typer

pytest.importorskip("tensorflow")

from keras_attention import lab
from keras_attention.cli.lab import app
from keras_attention.cli.lab.everything import everything
from keras_attention.lab import Figure, Report


def test_every_experiment_has_a_command():
    commands = typer.main.get_command(app).commands
    assert set(commands) == {*lab.EXPERIMENTS, "all"}


@pytest.mark.parametrize(("value", "status"), [(0.99, None), (0.97, 1)])
def test_a_missed_figure_is_named_and_ends_with_status_1(
    value, status, monkeypatch, tmp_path, capsys
):
    figure = Figure("share of right answers", value, at_least=0.98)
    report = Report("babi", {}, 0, False, "tensorflow", 1.0, [figure], [])
    monkeypatch.setattr(lab, "perform_all", lambda *args, **kwargs: {"babi-task-1": report})
    if status:
        with pytest.raises(typer.Exit) as ending:
            everything(tmp_path)
        assert ending.value.exit_code == status
    else:
        everything(tmp_path)
    missed = "✗ babi-task-1: share of right answers is 0.97, expected ≥ 0.98"
    assert (missed in capsys.readouterr().out) == bool(status)
