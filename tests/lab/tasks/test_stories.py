"""Stories: what is read and made is as the rules of the tasks say, and mistakes are named."""

import re

import numpy as np
import pytest

from keras_attention.lab.tasks import (
    Question,
    generate_stories,
    learn_words,
    load_babi,
    read_stories,
    story_arrays,
)
from keras_attention.lab.tasks.stories import PEOPLE, PLACES, THINGS, longest

STORIES = """\
1 Mary moved to the bathroom.
2 Mary got the football there.
3 Where is the football? \tbathroom\t2 1
4 Mary went back to the garden.
5 Where is the football? \tGarden\t2 4
1 John went to the kitchen.
2 Where is John? \tkitchen\t1
"""


@pytest.fixture
def questions(tmp_path):
    (tmp_path / "qa2.txt").write_text(STORIES, encoding="utf-8")
    return read_stories(tmp_path / "qa2.txt")


def test_a_file_is_read_with_facts_as_places_in_the_story(questions):
    first, second, third = questions
    assert first.story == (
        ("mary", "moved", "to", "the", "bathroom"),
        ("mary", "got", "the", "football", "there"),
    )
    assert first.words == ("where", "is", "the", "football")
    assert (first.answer, first.facts) == ("bathroom", (1, 0))
    assert second.story == (*first.story, ("mary", "went", "back", "to", "the", "garden"))
    assert (second.answer, second.facts) == ("garden", (1, 2))  # questions are no sentences
    assert third == Question((("john", "went", "to", "the", "kitchen"),),
                             ("where", "is", "john"), "kitchen", (0,))  # fmt: skip


@pytest.mark.parametrize(
    ("number", "line", "message"),
    [
        (2, "Mary got the football.", "expected a line that begins with 1 or 2, got 'Mary got"),
        (2, "7 Mary got the football.", "begins with 1 or 2, got '7 Mary"),
        (2, "-1 Mary", "begins with 1 or 2"),
        (3, "3 Where is Mary? \tgarden", "expected question⇥answer⇥numbers of facts, got 'Where"),
        (3, "3 Where is Mary? \t\t1", "expected question⇥answer⇥numbers"),
        (3, "3 Where is Mary? \tgarden\t4", "numbers of sentences before the question, got '4'"),
        (3, "3 Where is Mary? \tgarden\tone", "before the question, got 'one'"),
        (5, "5 Where is Mary? \tgarden\t3", "before the question, got '3'"),  # itself a question
        (4, "4 ...", "expected a sentence, got '...'"),
    ],
)
def test_a_broken_line_is_named(tmp_path, number, line, message):
    path = tmp_path / "broken.txt"
    lines = STORIES.splitlines()
    path.write_text("\n".join([*lines[: number - 1], line, *lines[number:]]), encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(f"{path}, line {number}: ")) as error:
        read_stories(path)
    assert message in str(error.value)


@pytest.mark.parametrize("text", ["", "\n\n", "1 Mary moved to the bathroom.\n"])
def test_a_file_without_questions_is_refused(tmp_path, text):
    (tmp_path / "empty.txt").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"empty\.txt holds no question"):
        read_stories(tmp_path / "empty.txt")


def test_a_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "latin.txt").write_bytes("1 Où ?".encode("latin-1"))
    with pytest.raises(ValueError, match=r"latin\.txt is not UTF-8"):
        read_stories(tmp_path / "latin.txt")


def test_a_folder_must_hold_both_files_of_the_task(tmp_path):
    with pytest.raises(FileNotFoundError, match="expected a folder with the stories of bAbI"):
        load_babi(tmp_path / "nowhere", 2)
    with pytest.raises(FileNotFoundError, match=r"expected a file qa2_\*_train.txt of bAbI"):
        load_babi(tmp_path, 2)
    (tmp_path / "qa2_two_train.txt").write_text(STORIES, encoding="utf-8")
    (tmp_path / "qa20_other_train.txt").write_text("", encoding="utf-8")
    with pytest.raises(FileNotFoundError, match=r"expected a file qa2_\*_test.txt"):
        load_babi(tmp_path, 2)
    (tmp_path / "qa2_two_test.txt").write_text(STORIES, encoding="utf-8")
    assert [len(part) for part in load_babi(tmp_path, 2)] == [3, 3]
    (tmp_path / "qa2_again_test.txt").write_text(STORIES, encoding="utf-8")
    with pytest.raises(ValueError, match=r"expected one file qa2_\*_test.txt"):
        load_babi(tmp_path, 2)


@pytest.mark.parametrize("task", [1, 2, 3])
def test_the_real_stories_are_read(shared_data, task):
    train, test = load_babi(shared_data / "babi" / "en", task)
    assert (len(train), len(test)) == (1000, 1000)
    assert {len(question.facts) for question in train} == {task}
    assert set(learn_words(test)) == set(learn_words(train))


@pytest.mark.parametrize("task", [1, 2])
def test_the_real_answers_follow_from_the_facts_as_the_made_ones_do(shared_data, task):
    for question in load_babi(shared_data / "babi" / "en", task)[0]:
        check_facts(question)


def check_facts(question):
    """Find the answer of task 1 or 2 anew, by reading the story from its beginning."""
    places, things = {}, {}
    for number, (who, does, *more) in enumerate(question.story):
        what = next(word for word in reversed(more) if word in (*PLACES, *THINGS))
        if what in PLACES:
            places[who] = what, number
        else:
            held = does not in ("dropped", "left", "put", "discarded")
            things[what] = number, who, None if held else places.get(who)
    asked = question.words[-1]
    if asked in things:
        fact, who, left_at = things[asked]
        answer, second = left_at or places[who]
        assert question.facts == (fact, second)
    else:
        answer, fact = places[asked]
        assert question.facts == (fact,)
    assert question.answer == answer


@pytest.mark.parametrize("task", [1, 2])
def test_made_answers_follow_from_the_facts(task):
    questions = generate_stories(499, task, np.random.default_rng(0))
    assert len(questions) == 499
    for question in questions:
        check_facts(question)
        assert len(question.facts) == task
    assert {question.answer for question in questions} == set(PLACES)


def test_made_stories_keep_to_the_rules():
    for question in generate_stories(499, 2, np.random.default_rng(1)):
        places, things = {}, {}
        for who, _, *more in question.story:
            what = more[-1]
            if what in PLACES:
                assert places.get(who) != what  # one goes to another place
                places[who] = what
                continue
            holder, place = things.get(what, (None, None))
            if holder:
                assert holder == who  # only who has a thing can leave it
                things[what] = None, places[who]
            else:
                assert place in (None, places[who])  # it is taken where it lies
                things[what] = who, None


def test_stories_go_on_from_question_to_question():
    questions = generate_stories(7, 1, np.random.default_rng(0))
    assert [len(question.story) for question in questions] == [2, 4, 6, 8, 10, 2, 4]
    assert questions[1].story[:2] == questions[0].story
    assert {word.title() for question in questions for (word, *_) in question.story} <= set(PEOPLE)


def test_a_seed_gives_the_same_stories_and_another_gives_others():
    one, same, other = (generate_stories(31, 2, np.random.default_rng(s)) for s in (1, 1, 2))
    assert one == same
    assert one != other


@pytest.mark.parametrize(("number", "task", "message"), [(0, 1, "got 0"), (5, 3, "got 3")])
def test_what_cannot_be_made_is_refused(number, task, message):
    with pytest.raises(ValueError, match=message):
        generate_stories(number, task, np.random.default_rng(0))


def test_ids_have_the_latest_sentence_first(questions):
    words = learn_words(questions)
    assert words[0] == ""
    assert words[1:] == sorted(set(words[1:]))
    arrays = story_arrays(questions, words, sentences=5)
    assert arrays.story.shape == (3, 5, 6)
    assert arrays.words.shape == (3, 6)

    def read(row):
        return " ".join(words[number] for number in row if number)

    assert [read(row) for row in arrays.story[1]] == [
        "mary went back to the garden",
        "mary got the football there",
        "mary moved to the bathroom",
        "",
        "",
    ]
    assert read(arrays.words[2]) == "where is john"
    assert [words[number] for number in arrays.answer] == ["bathroom", "garden", "kitchen"]
    assert arrays.facts.tolist() == [
        [True, True, False, False, False],
        [True, True, False, False, False],
        [True, False, False, False, False],
    ]
    assert {array.dtype.name for array in arrays} == {"int32", "bool"}


def test_a_memory_that_is_too_small_forgets_the_oldest(questions):
    arrays = story_arrays(questions[1:2], learn_words(questions), sentences=2, length=7)
    whole = story_arrays(questions[1:2], learn_words(questions), sentences=3, length=7)
    np.testing.assert_array_equal(arrays.story, whole.story[:, :2])
    assert arrays.facts.tolist() == [[True, True]]
    one = story_arrays(questions[1:2], learn_words(questions), sentences=1, length=7)
    assert one.facts.tolist() == [[True]]  # the other one has no place any more


def test_what_has_no_id_or_place_is_refused(questions):
    words = learn_words(questions)
    assert longest(questions) == 6
    with pytest.raises(ValueError, match="questions must hold at least one, got none"):
        story_arrays([], words)
    with pytest.raises(ValueError, match="not among those that were learned: 'mary'"):
        story_arrays(questions, [word for word in words if word != "mary"])
    with pytest.raises(ValueError, match="a sentence has more than 5 words"):
        story_arrays(questions, words, length=5)
