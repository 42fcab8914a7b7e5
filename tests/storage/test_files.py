import errno
import os
from pathlib import Path

import pytest

from keras_attention.storage import remove, written_whole


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_only_at_the_end(tmp_path):
    with written_whole(tmp_path / "notes.txt") as path:
        path.write_text("all")
        assert not (tmp_path / "notes.txt").exists()
        assert path.suffix == ".txt"
    assert (tmp_path / "notes.txt").read_text() == "all"
    assert names(tmp_path) == ["notes.txt"]


def test_a_folder_appears_only_at_the_end(tmp_path):
    with written_whole(tmp_path / "epoch") as folder:
        folder.mkdir()
        (folder / "model").write_text("weights")
        assert not (tmp_path / "epoch").exists()
    assert (tmp_path / "epoch" / "model").read_text() == "weights"
    assert names(tmp_path) == ["epoch"]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
def test_what_was_there_survives_an_interrupted_write(tmp_path, error):
    (tmp_path / "notes.txt").write_text("before")

    def write():
        with written_whole(tmp_path / "notes.txt") as path:
            path.write_text("half")
            raise error

    with pytest.raises(type(error)):
        write()
    assert (tmp_path / "notes.txt").read_text() == "before"
    assert names(tmp_path) == ["notes.txt"]


def test_an_interrupted_write_leaves_no_folder_that_was_made_for_it(tmp_path):
    def write(folder):
        with written_whole(folder / "notes.txt") as path:
            path.write_text("half")
            raise OSError(errno.ENOSPC, "No space left")

    with pytest.raises(OSError, match="No space left"):
        write(tmp_path / "new" / "deep")
    assert names(tmp_path) == []

    (tmp_path / "old").mkdir()
    with pytest.raises(OSError, match="No space left"):
        write(tmp_path / "old" / "deep")
    assert names(tmp_path) == ["old"]


def test_folders_are_made_as_needed(tmp_path):
    with written_whole(tmp_path / "a" / "b" / "notes.txt") as path:
        path.write_text("all")
    assert (tmp_path / "a" / "b" / "notes.txt").read_text() == "all"


def test_the_rest_of_a_killed_write_is_in_nobodys_way(tmp_path):
    killed = written_whole(tmp_path / "epoch")
    killed.__enter__().mkdir()  # and nothing more: the process is gone
    with written_whole(tmp_path / "epoch") as folder:
        folder.mkdir()
        (folder / "model").write_text("weights")
    assert names(tmp_path) == ["epoch"]


def test_a_path_below_a_file_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "notes.txt", tmp_path / "file" / "deep" / "notes.txt"):
        with (
            pytest.raises(NotADirectoryError, match=f"{tmp_path / 'file'} is a file"),
            written_whole(path),
        ):
            pytest.fail("there is nothing to write to")
    assert names(tmp_path) == ["file"]


def test_a_folder_is_not_replaced(tmp_path):
    with pytest.raises(IsADirectoryError, match="it is a folder"), written_whole(tmp_path):
        pytest.fail("there is nothing to write to")


def test_remove_deletes_files_and_folders_and_does_not_mind_that_there_is_none(tmp_path):
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    (tmp_path / "folder" / "inner" / "file").write_text("")
    (tmp_path / "file").write_text("")
    for name in ("folder", "file", "none"):
        remove(tmp_path / name)
    assert names(tmp_path) == []


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="what is a descriptor's file?")
def test_what_appears_has_reached_the_disk(tmp_path, monkeypatch):
    reached, appeared = set(), []

    def fsync(descriptor):
        reached.add(Path(f"/proc/self/fd/{descriptor}").resolve())

    def replace(source, destination, actually=os.replace):
        appeared.append([path for path in (source, *source.glob("**/*")) if path not in reached])
        reached.discard(tmp_path)
        actually(source, destination)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    with written_whole(tmp_path / "epoch") as folder:
        (folder / "deep").mkdir(parents=True)
        (folder / "deep" / "model").write_text("weights")
    with written_whole(tmp_path / "notes.txt") as path:
        path.write_text("all")
    assert appeared == [[], []]
    assert tmp_path in reached  # the new name
