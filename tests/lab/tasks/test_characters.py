"""Texts as rows of characters, and the game of recall."""

import numpy as np
import pytest

from keras_attention.lab import tasks
from keras_attention.lab.tasks import characters
from keras_attention.lab.tasks.characters import RECALL_CHARACTERS as LETTERS


def rng(seed=0):
    return np.random.default_rng(seed)


def test_characters_are_numbered_from_1_in_order_and_come_back():
    known = tasks.Characters.learn("¡señor!")
    assert known.letters == "!eors¡ñ"
    assert len(known) == 8
    assert known.encode("so").tolist() == [5, 3]
    assert known.decode([*known.encode("¡señor!"), 0, 0]) == "¡señor!"


def test_unknown_characters_are_named():
    with pytest.raises(ValueError, match=r"does not know 'x', 'ž'; it knows 'abn'"):
        tasks.Characters.learn("banana").encode("banxž")
    with pytest.raises(ValueError, match="each once"):
        tasks.Characters("aa")
    with pytest.raises(ValueError, match="at least one"):
        tasks.Characters("")


def test_reads_a_file_as_it_is(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes("\ufeffuno\r\ndos €".encode())
    assert tasks.load_text(str(path)) == "uno\ndos €"


def test_says_what_is_wrong_with_a_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no text file"):
        tasks.load_text(tmp_path / "none.txt")
    empty, latin = tmp_path / "empty.txt", tmp_path / "latin.txt"
    empty.write_bytes(b"")
    latin.write_bytes("uno\ndos\ntres años".encode("latin-1"))
    with pytest.raises(ValueError, match=r"empty\.txt is empty"):
        tasks.load_text(empty)
    with pytest.raises(ValueError, match="is not UTF-8: byte 14, in line 3, is 0xf1"):
        tasks.load_text(latin)


@pytest.mark.thorough
def test_the_bundled_text_is_english_sentences():
    text = tasks.load_text("bundled")
    lines = text.splitlines()
    assert 0.9 * characters.BUNDLED_SENTENCES < len(lines) == len(set(lines))
    assert text.endswith("\n")
    assert len(set(text)) < 60
    assert all(line and line == line.strip() for line in lines[:100])


def test_a_download_that_is_another_file_is_refused(tmp_path):
    pytest.importorskip("keras")
    other = tmp_path / "input.txt"
    other.write_text("not Shakespeare")
    with pytest.raises(ValueError, match="is not the official file: expected sha256"):
        characters.download_tiny_shakespeare(other.as_uri(), tmp_path / "cache")
    with pytest.raises(ConnectionError, match="pass a local file instead: --text"):
        characters.download_tiny_shakespeare((tmp_path / "none.txt").as_uri(), tmp_path / "cache-2")


def test_knows_tiny_shakespeare(shared_data):
    text = tasks.load_text(shared_data / "tinyshakespeare.txt")
    assert len(text) == 1_115_394
    assert tasks.is_tiny_shakespeare(text)
    assert not tasks.is_tiny_shakespeare(text[1:])


def test_the_last_tenth_is_for_validation():
    train, validation = tasks.split_text(np.arange(203), 13)
    assert train.tolist() == list(range(183))
    assert validation.tolist() == list(range(183, 203))


def test_says_how_long_a_text_must_be():
    with pytest.raises(ValueError, match=r"at least 140 characters, .* got 99"):
        tasks.split_text(np.arange(99), 13)
    tasks.split_text(np.arange(140), 13)


def test_windows_are_followed_by_what_comes_next():
    ids, targets = tasks.draw_windows(np.arange(29), 997, 7, rng())
    assert ids.shape == targets.shape == (997, 7)
    assert (targets == ids + 1).all()
    assert (ids[:, 0] + np.arange(7)[:, None] == ids.T).all()
    assert set(ids[:, 0]) == set(range(22))


@pytest.mark.parametrize(("count", "length"), [(101, 16), (17, 16), (18, 16), (113, 13), (9, 3)])
def test_every_character_but_the_first_is_a_target_once(count, length):
    text = np.arange(1, count + 1)
    ids, targets = tasks.covering_windows(text, length)
    assert sorted(targets[targets > 0]) == text[1:].tolist()
    rows, places = np.nonzero(targets)
    assert (targets[rows, places] == ids[rows, places] + 1).all()
    past = places[rows > 0]
    assert (past >= length - length // 4 - 1).all()


def test_the_game_asks_for_what_was_told():
    game = tasks.key_recall(97, rng(), pairs=5, questions=3)
    assert game.ids.shape == game.targets.shape == game.distances.shape == (97, 4 * 8 - 1)
    for row in range(97):
        text = LETTERS.decode(game.ids[row])
        told = {text[n - 1]: text[n + 1] for n in range(len(text)) if text[n] == "="}
        assert len(told) == 5
        asked = np.flatnonzero(game.targets[row])
        assert len({text[place - 1] for place in asked}) == 3
        for place in asked:
            assert text[place] == "?"
            key = text[place - 1]
            assert LETTERS.decode([game.targets[row, place]]) == told[key]
            between = text[text.index(f"{key}=") + 2 : place].count("=")
            assert game.distances[row, place] == between
        assert not game.distances[row, game.targets[row] == 0].any()


def test_the_game_asks_from_near_and_from_far():
    game = tasks.key_recall(499, rng(), pairs=7, questions=3)
    counts = np.bincount(game.distances[game.targets > 0])
    assert counts.sum() == 3 * 499
    assert len(counts) == 7
    assert counts[0] > 0.2 * counts.sum()
    assert counts[5:].sum() > 0.02 * counts.sum()


def test_the_game_is_drawn_afresh_and_values_are_fair():
    game = tasks.key_recall(2000, rng(1), pairs=3, questions=2)
    answers = game.targets[game.targets > 0]
    counts = np.bincount(answers)[answers.min() :]
    assert len(counts) == 10
    np.testing.assert_allclose(counts / len(answers), 0.1, atol=0.03)
    other = tasks.key_recall(2000, rng(2), pairs=3, questions=2)
    assert (game.ids != other.ids).any()


def test_an_impossible_game_is_refused():
    with pytest.raises(ValueError, match=r"1 ≤ questions ≤ pairs ≤ 26, got 3 and 2"):
        tasks.key_recall(1, rng(), pairs=2, questions=3)
    with pytest.raises(ValueError, match=r"got 1 and 27"):
        tasks.key_recall(1, rng(), pairs=27, questions=1)
