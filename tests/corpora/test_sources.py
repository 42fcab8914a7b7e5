import hashlib
import zipfile

import pytest

pytest.importorskip("tensorflow")

from keras_attention import corpora
from keras_attention.corpora import Pair, sources
from keras_attention.storage import memory

LINES = "Go.\tVe.\nI am at home.\tEstoy en casa.\n"
PAIRS = [Pair("Ve.", "Go."), Pair("Estoy en casa.", "I am at home.")]


@pytest.fixture
def corpus(tmp_path):
    """Return a function that writes a corpus file and gives its path."""

    def write(content, name="pairs.tsv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture
def archive(tmp_path):
    """Return a zip laid out as the official one, with many lines so that it has a middle."""
    path = tmp_path / "made.zip"
    words = [hashlib.sha256(bytes([n])).hexdigest() for n in range(199)]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("spa-eng/_about.txt", "terms")
        file.writestr("spa-eng/spa.txt", LINES + "".join(f"{w}\t{w}\n" for w in words))
    return path


# Reading


def test_a_line_is_english_tab_spanish(corpus):
    assert corpora.read_pairs(corpus(LINES)) == PAIRS
    assert corpora.load(str(corpus(LINES))) == PAIRS


@pytest.mark.parametrize(
    "content",
    [
        "\ufeff" + LINES,
        LINES.replace("\n", "\r\n"),
        LINES.removesuffix("\n"),
        LINES.replace("\n", "\tCC-BY 2.0 (France)\t17\n"),
        LINES.replace("\t", " \t "),
    ],
    ids=["byte order mark", "CRLF", "no last line end", "more columns", "spaces"],
)
def test_what_editors_do_to_a_file_changes_no_pair(corpus, content):
    assert corpora.read_pairs(corpus(content)) == PAIRS


def test_a_line_separator_of_unicode_is_no_line_end(corpus):
    assert corpora.read_pairs(corpus("A\u2028B\tC\u0085D\n")) == [Pair("C\u0085D", "A\u2028B")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        (" \n\n", "is empty"),
        ("\ufeff", "is empty"),
        (LINES.encode() + b"Where?\t\xbfD\xf3nde?\n", "line 3 is not UTF-8"),
        (LINES.encode("utf-16"), "line 1 is not UTF-8"),
        (LINES + "Where is it?\n", "line 3: expected English⇥Spanish.* got 'Where is it[?]'"),
        (LINES + "Where is it?\t \n", "line 3: expected English⇥Spanish"),
        ("\tVe.\n" + LINES, "line 1: expected English⇥Spanish"),
        ("Go.\tVe.\n\n" + LINES, "line 2: expected English⇥Spanish"),
    ],
)
def test_a_bad_line_is_an_error_that_names_file_and_line(corpus, content, message):
    path = corpus(content)
    with pytest.raises(ValueError, match=message) as error:
        corpora.read_pairs(path)
    assert str(path) in str(error.value)


def test_a_missing_file_or_a_folder_is_not_found(tmp_path):
    for path in (tmp_path / "none.tsv", tmp_path):
        with pytest.raises(FileNotFoundError, match=path.name):
            corpora.load(str(path))


def test_a_zip_is_read_as_it_is(archive):
    assert corpora.read_pairs(archive)[:2] == PAIRS


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.99])
def test_a_cut_off_zip_is_an_error(archive, share):
    content = archive.read_bytes()
    archive.write_bytes(content[: int(share * len(content))] or b"P")
    with pytest.raises(ValueError, match="cut off, damaged or not a zip") as error:
        corpora.read_pairs(archive)
    assert str(archive) in str(error.value)


def test_a_zip_that_may_not_be_read_is_not_called_damaged(archive, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(zipfile, "ZipFile", refuse)
    with pytest.raises(PermissionError):
        corpora.read_pairs(archive)


def test_a_zip_with_damaged_bytes_is_an_error(archive):
    content = archive.read_bytes()
    for place in range(100, len(content) // 2, 97):
        archive.write_bytes(content[:place] + bytes(31) + content[place + 31 :])
        with pytest.raises(ValueError, match="cut off, damaged or not a zip"):
            corpora.read_pairs(archive)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_whose_compressed_data_is_broken_is_an_error(tmp_path, method):
    path = tmp_path / "broken.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("spa.txt", "".join(f"Go {n}.\tVe {n}.\n" for n in range(99)))
    content = path.read_bytes()
    path.write_bytes(content[:57] + b"\xff" * 31 + content[88:])
    with pytest.raises(ValueError, match=r"broken\.zip is cut off, damaged or not a zip"):
        corpora.read_pairs(path)


@pytest.mark.parametrize("name", ["zeros.zip", "zeros.tsv"])
def test_a_file_that_does_not_fit_into_memory_is_an_error(tmp_path, monkeypatch, name):
    path = tmp_path / name
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("spa.txt", bytes(2**20))
    else:
        path.write_bytes(bytes(2**20))
    monkeypatch.setattr(memory, "machine_memory", lambda: 2**23)
    with pytest.raises(ValueError, match=rf"{name} with 1,048,576 bytes .*least 0\.0 GB of memory"):
        corpora.read_pairs(path)


def test_a_zip_without_spa_txt_is_an_error(tmp_path):
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as file:
        file.writestr("readme.txt", LINES)
    with pytest.raises(ValueError, match=r"holds no spa\.txt, only readme\.txt"):
        corpora.read_pairs(tmp_path / "other.zip")


def test_the_bundled_corpus_comes_with_its_alignment(monkeypatch):
    monkeypatch.setattr(sources, "BUNDLED_PAIRS", 11)
    pairs = corpora.load("bundled")
    assert len(pairs) == 11
    assert all(pair.links for pair in pairs)


# Download


@pytest.fixture
def official(archive, monkeypatch):
    """Pretend that `archive` is the official file; return its address."""
    monkeypatch.setattr(sources, "SPA_ENG_SHA256", hashlib.sha256(archive.read_bytes()).hexdigest())
    return archive.as_uri()


def test_the_right_download_is_taken(official, archive, tmp_path):
    path = corpora.download_spa_eng(official, tmp_path / "cache")
    assert path.is_relative_to(tmp_path / "cache")
    assert path.read_bytes() == archive.read_bytes()
    assert corpora.read_pairs(path)[:2] == PAIRS


def test_a_second_time_nothing_is_downloaded(official, archive, tmp_path):
    first = corpora.download_spa_eng(official, tmp_path / "cache")
    archive.unlink()
    assert corpora.download_spa_eng(official, tmp_path / "cache") == first


def test_a_download_of_another_file_is_refused_and_removed(archive, tmp_path):
    received = hashlib.sha256(archive.read_bytes()).hexdigest()
    with pytest.raises(ValueError, match="is not the official file") as error:
        corpora.download_spa_eng(archive.as_uri(), tmp_path / "cache")
    assert f"expected sha256 {sources.SPA_ENG_SHA256}, got {received}" in str(error.value)
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_a_damaged_cache_is_repaired_by_trying_again(official, archive, tmp_path):
    path = corpora.download_spa_eng(official, tmp_path / "cache")
    path.write_bytes(b"half")
    with pytest.raises(ValueError, match="it was deleted, try again"):
        corpora.download_spa_eng(official, tmp_path / "cache")
    assert corpora.download_spa_eng(official, tmp_path / "cache") == path
    assert path.read_bytes() == archive.read_bytes()


def test_without_a_network_the_error_says_how_to_pass_a_local_file(tmp_path):
    url = (tmp_path / "none.zip").as_uri()
    with pytest.raises(
        ConnectionError, match=r"pass a local file instead: --corpus \S+txt"
    ) as error:
        corpora.download_spa_eng(url, tmp_path / "cache")
    assert str(error.value).startswith(f"cannot download {url}")
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_spa_eng_is_the_download(official, archive, monkeypatch):
    monkeypatch.setattr(sources, "download_spa_eng", lambda: archive)
    assert corpora.load("spa-eng")[:2] == PAIRS
