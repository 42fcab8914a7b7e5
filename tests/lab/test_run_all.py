import keras
import pytest

from keras_attention.lab import Experiment, Figure, perform, perform_all, runs_of


def experiment(performed, **kwargs):
    """An experiment that notes what it was run with and measures its seed."""

    def run(folder, *, seed, quick, verbose, **options):
        performed.append((folder.name, seed, quick, options))
        (folder / "picture.png").write_bytes(b"picture")
        return [Figure("seed", float(seed), "units", at_most=1)], ["picture.png"]

    return Experiment(run=run, says="Seeds are numbers.", source="Nobody (2026)", **kwargs)


@pytest.fixture
def performed():
    return []


def test_a_report_says_how_it_came_about(performed, tmp_path):
    options = {"task": 2}
    report = perform("toy", experiment(performed), tmp_path / "a" / "b", seed=5, **options)
    assert performed == [("b", 5, False, options)]
    assert report.experiment == "toy"
    assert (report.seed, report.quick, report.options) == (5, False, {"task": "2"})
    assert report.backend == keras.backend.backend()
    assert report.seconds >= 0
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == [
        "picture.png",
        "results.json",
    ]


def test_a_failed_run_leaves_no_old_figures(performed, tmp_path):
    perform("toy", experiment(performed), tmp_path)

    def fail(folder, **options):
        raise ValueError("diverged")

    with pytest.raises(ValueError, match="diverged"):
        perform("toy", Experiment(run=fail, says="", source=""), tmp_path)
    assert not (tmp_path / "results.json").exists()


def test_a_collection_has_every_variant_and_seed(performed):
    experiments = {
        "one": experiment(performed, seeds=(0, 1)),
        "two": experiment(performed, variants=({"task": 1}, {"task": 2})),
    }
    outside = {"two": {"data": "some/folder/en-10k"}}
    assert [run.folder for run in runs_of(experiments, outside)] == [
        "one",
        "one-seed-1",
        "two-task-1",
        "two-task-2",
        "two-task-1-data-en-10k",
        "two-task-2-data-en-10k",
    ]


def test_what_is_there_is_not_run_again(performed, tmp_path):
    runs = runs_of({"toy": experiment(performed, seeds=(0, 1, 2))})
    perform_all(runs[:2], tmp_path)
    told = []
    reports = perform_all(runs, tmp_path, tell=told.append)
    assert [seed for _, seed, _, _ in performed] == [0, 1, 2]
    assert [("found" in line) for line in told] == [True, True, False]
    assert list(reports) == ["toy", "toy-seed-1", "toy-seed-2"]
    assert [len(report.missed) for report in reports.values()] == [0, 0, 1]
    perform_all(runs[:1], tmp_path, quick=True)
    assert performed[-1] == ("toy", 0, True, {})


def test_the_page_shows_every_figure_with_its_bar_and_the_pictures(performed, tmp_path):
    perform_all(runs_of({"toy": experiment(performed, seeds=(0, 1, 2))}), tmp_path)
    page = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "## `lab toy`" in page
    assert "Seeds are numbers. (Nobody (2026))" in page
    assert "| seed | 0 / 1 / 2 | units | ≤ 1, missed |" in page
    assert "![picture of toy](toy/picture.png)" in page
    assert "Seed 0 / 1 / 2; 0 / 0 / 0 seconds" in page


def test_a_wrong_option_is_found_before_anything_is_done(performed, tmp_path):
    def check(*, quick, task):
        if task > 2:
            raise ValueError(f"no task {task}")

    toy = experiment(performed, check=check, variants=({"task": 1}, {"task": 3}))
    perform("toy", toy, tmp_path / "old", task=1)
    with pytest.raises(ValueError, match="no task 3"):
        perform("toy", toy, tmp_path / "old", task=3)
    assert (tmp_path / "old" / "results.json").exists()
    with pytest.raises(ValueError, match="no task 3"):
        perform_all(runs_of({"toy": toy}), tmp_path / "all")
    with pytest.raises(ValueError, match="seed must be 0 or above, got -1"):
        perform("toy", toy, tmp_path / "new", seed=-1, task=1)
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert len(performed) == 1


def test_a_folder_that_is_a_file_is_an_error(performed, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="expected a folder for the results, got the file"):
        perform("toy", experiment(performed), tmp_path / "file")


def test_other_data_of_the_same_name_are_run_anew(performed, tmp_path):
    for content in ("one", "two", "two"):
        (tmp_path / content).mkdir(exist_ok=True)
        (tmp_path / content / "text.txt").write_text(content)
        toy = experiment(performed, variants=({"text": tmp_path / content / "text.txt"},))
        (report,) = perform_all(runs_of({"toy": toy}), tmp_path / "all").values()
        assert report.options == {"text": "text.txt"}
    assert len(performed) == 2


def test_an_option_that_is_called_like_a_file_is_no_data(performed, tmp_path, monkeypatch):
    (tmp_path / "lstm").write_text("content")
    monkeypatch.chdir(tmp_path)
    assert perform("toy", experiment(performed), tmp_path / "a", model="lstm").data == ""
    assert perform("toy", experiment(performed), tmp_path / "b", text="lstm").data != ""
