import hashlib
import random
import zipfile
from collections import defaultdict

import numpy as np
import pytest

pytest.importorskip("tensorflow")

from keras_attention import corpora
from keras_attention.corpora import BUCKETS, Batches, Pair, Split, bucket_of
from keras_attention.grammar import Grammar
from keras_attention.text import END, START, Vocabulary, normalize

LINES = "Go.\tVe.\nI am at home.\tEstoy en casa.\n"
PAIRS = [Pair("Ve.", "Go."), Pair("Estoy en casa.", "I am at home.")]


@pytest.fixture(scope="module")
def bundled():
    return Grammar.load().generate(4999, seed=1)


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


def test_a_zip_with_damaged_bytes_is_an_error(archive):
    content = archive.read_bytes()
    for place in range(100, len(content) // 2, 97):
        archive.write_bytes(content[:place] + bytes(31) + content[place + 31 :])
        with pytest.raises(ValueError, match="cut off, damaged or not a zip"):
            corpora.read_pairs(archive)


def test_a_zip_without_spa_txt_is_an_error(tmp_path):
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as file:
        file.writestr("readme.txt", LINES)
    with pytest.raises(ValueError, match=r"holds no spa\.txt, only readme\.txt"):
        corpora.read_pairs(tmp_path / "other.zip")


def test_the_bundled_corpus_comes_with_its_alignment(monkeypatch):
    monkeypatch.setattr(corpora, "BUNDLED_PAIRS", 11)
    pairs = corpora.load("bundled")
    assert len(pairs) == 11
    assert all(pair.links for pair in pairs)


# Download


@pytest.fixture
def official(archive, monkeypatch):
    """Pretend that `archive` is the official file; return its address."""
    monkeypatch.setattr(corpora, "SPA_ENG_SHA256", hashlib.sha256(archive.read_bytes()).hexdigest())
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
    assert f"expected sha256 {corpora.SPA_ENG_SHA256}, got {received}" in str(error.value)
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
    monkeypatch.setattr(corpora, "download_spa_eng", lambda: archive)
    assert corpora.load("spa-eng")[:2] == PAIRS


# Splits


def sides(parts):
    """Return for each language the sides on which each normalised sentence is."""
    found = {"context": defaultdict(set), "target": defaultdict(set)}
    for side, pairs in parts._asdict().items():
        for pair in pairs:
            for language, places in found.items():
                places[normalize(getattr(pair, language))].add(side)
    return found


def assert_no_leak(parts):
    for places in sides(parts).values():
        assert all(len(each) == 1 for each in places.values())


def test_a_sentence_of_either_language_is_on_one_side_of_the_split(bundled):
    repeated = [
        Pair(one.context.upper(), other.target)
        for one, other in zip(bundled[:997], bundled[1000:1997], strict=True)
    ]
    parts = corpora.split(bundled + repeated)
    assert sum(map(len, parts)) == len(bundled) + len(repeated)
    assert_no_leak(parts)


def test_real_pairs_do_not_leak(shared_data):
    pairs = corpora.read_pairs(shared_data / "spa-eng" / "spa.txt")[::3]
    parts = corpora.split(pairs)
    assert_no_leak(parts)
    shares = [len(part) / len(pairs) for part in parts]
    np.testing.assert_allclose(shares, (0.96, 0.02, 0.02), atol=0.01)


def test_pairs_that_hang_together_through_others_stay_together():
    chain = [Pair(f"c{n // 2}", f"t{(n + 1) // 2}") for n in range(499)]
    letters = str.maketrans("0123456789", "abcdefghij")  # digits are lost in normalisation
    chain = [Pair(*(side.translate(letters) for side in pair)) for pair in chain]
    random.Random(0).shuffle(chain)
    assert sorted(map(len, corpora.split(chain, (0.3, 0.3, 0.4)))) == [0, 0, 499]


def test_a_split_has_the_shares_that_were_asked_for(bundled):
    for shares in ((0.96, 0.02, 0.02), (0.5, 0.3, 0.2)):
        parts = corpora.split(bundled, shares)
        np.testing.assert_allclose([len(p) / len(bundled) for p in parts], shares, atol=0.03)


def test_the_order_of_the_pairs_does_not_change_their_side(bundled):
    parts = corpora.split(bundled)
    shuffled = random.Random(1).sample(bundled, len(bundled))
    again = corpora.split(shuffled)
    for part, other in zip(parts, again, strict=True):
        assert set(part) == set(other)


def test_each_part_is_in_the_order_of_the_pairs(bundled):
    place = {pair: number for number, pair in enumerate(bundled)}
    for part in corpora.split(bundled):
        numbers = [place[pair] for pair in part]
        assert len(numbers) > 1
        assert numbers == sorted(numbers)


def test_sides_are_the_same_on_every_machine():
    # The side is a hash of "context", a tab and the normalised sentence, so anyone can check it.
    for sentence, digest in (("Ve.", "context\tve ."), ("¿Sí?", "context\t¿ si ?")):
        place = int(hashlib.sha256(digest.encode()).hexdigest()[:16], 16) / 2**64
        parts = corpora.split([Pair(sentence, "x")], (place + 1e-6, 1 - place - 1e-6, 0))
        assert list(map(len, parts)) == [1, 0, 0]
        parts = corpora.split([Pair(sentence, "x")], (place - 1e-6, 1 - place + 1e-6, 0))
        assert list(map(len, parts)) == [0, 1, 0]


def test_no_pairs_are_split_into_nothing():
    assert corpora.split([]) == Split([], [], [])


def test_a_fingerprint_knows_sentences_and_order():
    same = corpora.fingerprint(PAIRS)
    assert corpora.fingerprint(list(PAIRS)) == same
    assert corpora.fingerprint(PAIRS[::-1]) != same
    assert corpora.fingerprint([Pair(pair.target, pair.context) for pair in PAIRS]) != same


# Batches


def ids_of_lengths(lengths, first):
    """Return rows [START], words, [END], padding; every word of all rows is another number."""
    rows = np.zeros((len(lengths), max(lengths)), dtype="int32")
    number = first
    for row, length in zip(rows, lengths, strict=True):
        row[0], row[length - 1] = START, END
        row[1 : length - 1] = range(number, number + length - 2)
        number += length
    return rows


LENGTHS = np.random.default_rng(0).integers(3, 41, (2, 149))


@pytest.fixture(scope="module")
def ids():
    return ids_of_lengths(LENGTHS[0], 10), ids_of_lengths(LENGTHS[1], 100_010)


@pytest.fixture(scope="module")
def batches(ids):
    return Batches(*ids, batch_size=7)


def as_numpy(dataset):
    return [({k: v.numpy() for k, v in x.items()}, y.numpy()) for x, y in dataset]


def assert_equal_batches(one, other):
    assert len(one) == len(other) > 0
    for (x, y), (u, v) in zip(one, other, strict=True):
        for a, b in ((x["context"], u["context"]), (x["target"], u["target"]), (y, v)):
            np.testing.assert_array_equal(a, b)


def test_a_bucket_holds_up_to_its_length():
    assert [bucket_of(n) for n in (1, 8, 9, 10, 11, 63, 64)] == [8, 8, 10, 10, 12, 64, 64]
    with pytest.raises(ValueError, match="at most 64 tokens, got 65"):
        bucket_of(65)


def test_the_batches_have_few_shapes(batches):
    shapes = set()
    for inputs, labels in as_numpy(batches.in_order()):
        assert inputs["context"].shape == inputs["target"].shape == labels.shape
        assert inputs["context"].dtype == inputs["target"].dtype == labels.dtype == np.int32
        shapes.add(labels.shape)
    assert shapes <= {(7, length) for length in BUCKETS}
    assert batches.in_order().element_spec[1].shape.as_list() == [7, None]


def test_labels_are_the_target_shifted_by_one(batches):
    for inputs, labels in as_numpy(batches.in_order()):
        for target, label in zip(inputs["target"], labels, strict=True):
            length = int((label != 0).sum())
            assert (target != 0).sum() == length
            if length:
                assert target[0] == START
                assert label[length - 1] == END
                np.testing.assert_array_equal(target[1:length], label[: length - 1])


def test_each_pair_comes_once_and_whole(batches, ids):
    found = []
    for inputs, labels in as_numpy(batches.in_order()):
        for context, label in zip(inputs["context"], labels, strict=True):
            if label.any():
                found.append((tuple(context[context != 0]), (START, *label[label != 0])))
    expected = [(tuple(c[c != 0]), tuple(t[t != 0])) for c, t in zip(*ids, strict=True)]
    assert sorted(found) == sorted(expected)


def test_batches_come_from_short_to_long(batches):
    lengths = [labels.shape[1] for _, labels in as_numpy(batches.in_order())]
    assert lengths == sorted(lengths)
    assert len(lengths) == len(batches) == batches.in_order().cardinality().numpy()


def test_a_tail_is_filled_with_sentences_without_labels():
    ids = ids_of_lengths([4, 5, 6], 10)
    ((inputs, labels),) = as_numpy(Batches(ids, ids, batch_size=5).in_order())
    assert labels.shape == (5, 8)
    assert not labels[3:].any()
    assert not inputs["target"][3:].any()
    np.testing.assert_array_equal(inputs["context"][3:], [[START, 0, 0, 0, 0, 0, 0, 0]] * 2)


def test_a_pass_of_shuffled_batches_is_a_pass_in_another_order(batches):
    count = len(batches)
    passes = as_numpy(batches.shuffled(seed=5).take(2 * count))
    words = [
        sorted(np.concatenate([y.ravel() for _, y in p])) for p in (passes[:count], passes[count:])
    ]
    in_order = sorted(np.concatenate([y.ravel() for _, y in as_numpy(batches.in_order())]))
    assert words == [in_order, in_order]
    with pytest.raises(AssertionError):
        assert_equal_batches(passes[:count], passes[count:])


def test_a_seed_decides_the_order(batches):
    one = as_numpy(batches.shuffled(seed=5).take(len(batches)))
    assert_equal_batches(one, as_numpy(batches.shuffled(seed=5).take(len(batches))))
    with pytest.raises(AssertionError):
        assert_equal_batches(one, as_numpy(batches.shuffled(seed=6).take(len(batches))))


def test_shuffled_batches_go_on_exactly_where_a_run_was(batches):
    count = len(batches)
    whole = as_numpy(batches.shuffled(seed=5).take(2 * count + 3))
    for start in (1, count - 1, count, count + 2):
        rest = as_numpy(batches.shuffled(seed=5, start=start).take(len(whole) - start))
        assert_equal_batches(rest, whole[start:])


def test_batches_of_pairs_hold_the_ids_of_their_sentences():
    spanish, english = (Vocabulary.learn(side) for side in zip(*PAIRS, strict=True))
    batches = Batches.of_pairs(PAIRS, spanish, english, batch_size=3)
    ((inputs, labels),) = as_numpy(batches.in_order())
    for place, pair in enumerate(PAIRS):
        assert spanish.words_of(inputs["context"][place]) == normalize(pair.context).split()
        assert english.words_of(labels[place]) == normalize(pair.target).split()


def test_a_target_may_be_one_longer_than_its_bucket():
    # [START] is no label and [END] no input, so that each of both is one token shorter.
    target = ids_of_lengths([65], 10)
    ((inputs, labels),) = as_numpy(Batches(target[:, :9], target, batch_size=1).in_order())
    assert labels.shape == (1, 64)
    assert labels[0, -1] == END
    assert inputs["target"].all()


@pytest.mark.parametrize(("context", "target"), [(65, 5), (5, 66)])
def test_a_sentence_that_no_bucket_holds_is_an_error(context, target):
    with pytest.raises(ValueError, match="at most 64 tokens, got 65"):
        Batches(ids_of_lengths([3, context], 10), ids_of_lengths([3, target], 10))


def test_both_languages_must_have_as_many_sentences():
    ids = ids_of_lengths([4, 5, 6], 10)
    with pytest.raises(ValueError, match="got 3 and 2"):
        Batches(ids, ids[:2])
    with pytest.raises(ValueError, match="got 0 and 0"):
        Batches(ids[:0], ids[:0])
