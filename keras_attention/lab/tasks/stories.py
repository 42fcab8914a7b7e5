"""Stories with questions: those of bAbI, read from files, and similar ones, generated here.

The sentences of a story are the memory; each question names its supporting facts.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

TASKS = (1, 2)
PEOPLE = ("Daniel", "John", "Mary", "Sandra")
PLACES = ("bathroom", "bedroom", "garden", "hallway", "kitchen", "office")
THINGS = ("apple", "football", "milk")
_GO = ("moved to", "went to", "went back to", "travelled to", "journeyed to")
_TAKE = ("took", "got", "picked up", "grabbed")
_LEAVE = ("dropped", "left", "put down", "discarded")


class Question(NamedTuple):
    """A question about a story.

    Attributes:
        story: the sentences before it, the oldest first, each a tuple of words in lower case.
        words: the words of the question.
        answer: one word.
        facts: positions in the story, from 0, of the sentences that the answer follows from.
    """

    story: tuple[tuple[str, ...], ...]
    words: tuple[str, ...]
    answer: str
    facts: tuple[int, ...]


class StoryArrays(NamedTuple):
    """N questions as ids; 0 is padding, at the end.

    Attributes:
        story: int32 (N, S, J), the latest sentence first.
        words: the words of the questions, int32 (N, J).
        answer: int32 (N,).
        facts: booleans (N, S), True for the sentences that the answer follows from.
    """

    story: np.ndarray
    words: np.ndarray
    answer: np.ndarray
    facts: np.ndarray


def load_babi(folder: Path | str, task: int) -> tuple[list[Question], list[Question]]:
    """Read the questions of a bAbI task.

    Args:
        folder: holds the files of the task, such as `qa1_single-supporting-fact_train.txt`.
        task: its number, from 1.

    Returns:
        Lists of `Question` for training and for testing.

    Raises:
        FileNotFoundError: the folder or a file is missing.
        ValueError: a file is malformed, or several files fit.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"expected a folder with the stories of bAbI, got '{folder}'")
    parts = []
    for part in ("train", "test"):
        pattern = f"qa{task}_*_{part}.txt"
        paths = sorted(folder.glob(pattern))
        if not paths:
            raise FileNotFoundError(
                f"expected a file {pattern} of bAbI in the folder '{folder}', found none"
            )
        if len(paths) > 1:
            raise ValueError(f"expected one file {pattern} in '{folder}', found {len(paths)}")
        parts.append(read_stories(paths[0]))
    return parts[0], parts[1]


def read_stories(path: Path | str) -> list[Question]:
    """Read a bAbI file: `1 Mary moved to the bathroom.`, `2 Where is Mary?⇥bathroom⇥1`.

    Each line begins with its number in the story; 1 begins a new story. A line with tabs is a
    question with its answer and the numbers of the lines that the answer follows from.

    Args:
        path: the file.

    Returns:
        A list of `Question`.

    Raises:
        ValueError: a line is malformed (the message names it), or there is no question.
        OSError: the file cannot be read.
    """
    path = Path(path)
    questions: list[Question] = []
    story: list[tuple[str, ...]] = []
    places: dict[int, int] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8: {error}") from error
    last = 0
    for count, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            number, text = _numbered(line, last)
            if number == 1:
                story, places = [], {}
            if "\t" in text:
                questions.append(_as_question(text, story, places))
            else:
                places[number] = len(story)
                story.append(split_words(text))
            last = number
        except ValueError as error:
            raise ValueError(f"{path}, line {count}: {error}") from error
    if not questions:
        raise ValueError(f"{path} holds no question: expected lines such as '2 Where is Mary?⇥…'")
    return questions


def _numbered(line, last):
    """Split the number from a line; it must follow the last number or begin a new story."""
    number, _, text = line.strip("\r\n").partition(" ")
    if not (number.isdecimal() and int(number) in (1, last + 1)):
        raise ValueError(f"expected a line that begins with 1 or {last + 1}, got {line[:50]!r}")
    return int(number), text


def _as_question(text, story, places):
    """Return the question of a line; `places` maps numbers of lines to positions in the story."""
    fields = [field.strip() for field in text.split("\t")]
    if len(fields) != 3 or not all(fields):
        raise ValueError(f"expected question⇥answer⇥numbers of facts, got {text[:80]!r}")
    words, answer, numbers = fields
    facts = []
    for number in numbers.split():
        if not number.isdecimal() or int(number) not in places:
            raise ValueError(f"expected numbers of sentences before the question, got {number!r}")
        facts.append(places[int(number)])
    return Question(tuple(story), split_words(words), answer.lower(), tuple(facts))


def split_words(text: str) -> tuple[str, ...]:
    """Split a sentence into its words, in lower case and without punctuation.

    Raises:
        ValueError: the sentence has no words.
    """
    words = tuple(re.findall(r"[^\W_]+(?:['’-][^\W_]+)*", text.lower()))
    if not words:
        raise ValueError(f"expected a sentence, got {text!r}")
    return words


def generate_stories(number: int, task: int, rng: np.random.Generator) -> list[Question]:
    """Generate questions like those of bAbI.

    Task 1: people go from place to place, and the question is where one of them is. Task 2: they
    also carry things, and the question is where a thing is. That takes two facts: who has or left
    the thing, and where this person was then. Each story has five questions.

    Args:
        number: number of questions.
        task: 1 or 2.
        rng: a `numpy.random.Generator`.

    Returns:
        A list of `Question`.

    Raises:
        ValueError: there is no such task, or the number is not positive.
    """
    if task not in TASKS:
        raise ValueError(f"task must be 1 or 2, got {task}")
    if number < 1:
        raise ValueError(f"number of questions must be positive, got {number}")
    questions: list[Question] = []
    while len(questions) < number:
        world = _World(rng)
        for _ in range(5):
            questions.append(_ask_for_a_person(world) if task == 1 else _ask_for_a_thing(world))
    return questions[:number]


class _World:
    """Who is where and has what, and the sentences that say so."""

    def __init__(self, rng):
        self.rng, self.story = rng, []
        self.place, self.moved = {}, {}  # by person: place, and its sentence
        self.holder, self.found = {}, {}  # by thing: its holder; its place and facts

    def choose(self, options):
        return options[self.rng.integers(len(options))]

    def tell(self, who, does, what):
        self.story.append(split_words(f"{who} {does} the {what}."))
        return len(self.story) - 1

    def move(self):
        who = self.choose(PEOPLE)
        place = self.choose([place for place in PLACES if place != self.place.get(who)])
        self.moved[who] = self.tell(who, self.choose(_GO), place)
        self.place[who] = place

    def handle(self):
        """Let somebody take or leave a thing, if anybody can."""
        thing = self.choose(THINGS)
        holder = self.holder.get(thing)
        if holder:
            fact = self.tell(holder, self.choose(_LEAVE), thing)
            self.found[thing] = self.place[holder], (fact, self.moved[holder])
            self.holder[thing] = None
            return
        near = self.found.get(thing, (None,))[0]  # a new thing may be anywhere
        takers = [who for who in self.place if near in (None, self.place[who])]
        if takers:
            who = self.choose(takers)
            self.holder[thing] = who
            self.found[thing] = None, (self.tell(who, self.choose(_TAKE), thing),)

    def where(self, thing):
        """Return the place of a thing, and the facts that it follows from."""
        place, facts = self.found[thing]
        holder = self.holder[thing]
        return (self.place[holder], (*facts, self.moved[holder])) if holder else (place, facts)

    def ask(self, what, answer, facts):
        return Question(tuple(self.story), split_words(f"Where is {what}?"), answer, facts)


def _ask_for_a_person(world):
    """Tell two moves, and return a question as in task 1."""
    world.move(), world.move()
    who = world.choose(list(world.place))
    return world.ask(who, world.place[who], (world.moved[who],))


def _ask_for_a_thing(world):
    """Tell some sentences, and return a question as in task 2."""
    until = len(world.story) + world.rng.integers(2, 8)
    while len(world.story) < until or not world.found:
        world.handle() if world.rng.random() < 0.4 else world.move()
    thing = world.choose(list(world.found))
    return world.ask(f"the {thing}", *world.where(thing))


def learn_words(questions: Sequence[Question]) -> list[str]:
    """Return "" and all words of the questions, their stories and answers, sorted."""
    words = {question.answer for question in questions}
    for question in questions:
        words.update(question.words, *question.story)
    return ["", *sorted(words)]


def story_arrays(
    questions: Sequence[Question],
    words: Sequence[str],
    sentences: int = 50,
    length: int | None = None,
) -> StoryArrays:
    """Turn questions into ids.

    Args:
        questions: a list of `Question`.
        words: the words by id, from `learn_words`.
        sentences: slots of the memory, S; only the latest sentences of a longer story count.
        length: words per sentence, J; None: as many as the longest sentence has.

    Returns:
        `StoryArrays`. Facts without a slot in the memory are left out.

    Raises:
        ValueError: a word is not in the list, a sentence is too long, or there is no question.
    """
    if not questions:
        raise ValueError("questions must hold at least one, got none")
    ids = {word: number for number, word in enumerate(words)}
    length = length or longest(questions)
    story = np.zeros((len(questions), sentences, length), "int32")
    asked = np.zeros((len(questions), length), "int32")
    answer = np.zeros(len(questions), "int32")
    facts = np.zeros((len(questions), sentences), bool)
    try:
        for row, question in enumerate(questions):
            asked[row, : len(question.words)] = [ids[word] for word in question.words]
            answer[row] = ids[question.answer]
            for place, sentence in enumerate(question.story[: -sentences - 1 : -1]):
                story[row, place, : len(sentence)] = [ids[word] for word in sentence]
            ages = len(question.story) - 1 - np.array(question.facts, int)
            facts[row, ages[ages < sentences]] = True
    except KeyError as error:
        raise ValueError(f"a word is not among those that were learned: {error}") from error
    except ValueError as error:
        raise ValueError(f"a sentence has more than {length} words: {error}") from error
    return StoryArrays(story, asked, answer, facts)


def longest(questions: Sequence[Question]) -> int:
    """Return the number of words in the longest sentence of the stories and questions."""
    return max(
        max(map(len, (question.words, *question.story)), default=0) for question in questions
    )
