"""The files of a synchronous grammar: words and rules, read from a folder and checked.

The README of `data/` explains the format. A mistake in a file raises a `ValueError`
that names the file and the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

MARKS = frozenset(".?!,¿")
START_SYMBOL = "Sentence"

Features = dict[str, frozenset[str]]
Pattern = Mapping[str, str | frozenset[str]]  # a string is a variable


class GrammarFiles(NamedTuple):
    """The contents of a folder.

    Attributes:
        ways: The expansions of each category, a `Rule` or a `Phrase` each.
        contractions: Pairs of Spanish words and the contraction of each: a, el → al.
        elisions: English words and their forms before a vowel: a → an.
    """

    ways: dict[str, list[Rule | Phrase]]
    contractions: dict[tuple[str, str], str]
    elisions: dict[str, str]


@dataclass(frozen=True)
class Item:
    """One symbol of a rule: `*Verb1[tense person=1/2]`, `Verb1.english`, `not~no`, a bare word."""

    name: str
    category: str  # empty for a bare word
    features: Pattern
    head: bool
    column: str | None
    source: str | None


@dataclass(frozen=True)
class Rule:
    """A way to expand a category into parts: both sides, and the line in the file."""

    weight: float
    features: Pattern
    spanish: tuple[Item, ...]
    english: tuple[Item, ...]
    where: str

    @cached_property
    def order(self) -> tuple[Item, ...]:
        """The Spanish categories in order of choice: heads first, then the rest left to right."""
        categories = [item for item in self.spanish if item.category]
        return tuple(sorted(categories, key=lambda item: not item.head))


@dataclass(frozen=True)
class Phrase:
    """A word or derived phrase; each English token has the positions of its Spanish tokens."""

    features: Features
    spanish: tuple[str, ...]
    english: tuple[tuple[str, tuple[int, ...]], ...]
    row: dict[str, str] | None = None
    weight: float = 1.0
    order: tuple = ()


def read_grammar_files(root: Path) -> GrammarFiles:
    """Read `grammar.txt` and the tables that it names.

    Args:
        root: A folder.

    Raises:
        FileNotFoundError: `grammar.txt` is missing.
        ValueError: A file is malformed, or a table is missing.
    """
    return _Reader(root).read()


class _Reader:
    """Read a folder with `grammar.txt` and its tables; errors name the file and the line."""

    def __init__(self, root: Path):
        self.root = root
        self.tables: dict[str, list] = {}
        self.words: dict[str, list[Phrase]] = {}
        self.known: dict[str, set[str]] = {}

    def read(self) -> GrammarFiles:
        contractions, elisions, lines = {}, {}, []
        for where, line in self._lines("grammar.txt"):
            if match := re.fullmatch(r"contract (\w+) (\w+) -> (\w+)", line):
                contractions[match[1], match[2]] = match[3]
            elif match := re.fullmatch(r"elide (\w+) -> (\w+)", line):
                elisions[match[1]] = match[2]
            elif match := re.fullmatch(
                r"word ([A-Z]\w*(?:\[[^\]]*\])?) +(\S+) +(.+?) = (.+)", line
            ):
                self._read_words(where, *match.groups())
            elif match := re.fullmatch(r"(\d+(?:\.\d+)?) +([A-Z].*?) +->(| .*?) =(| .*)", line):
                lines.append((where, *match.groups()))
            else:
                raise ValueError(f"{where}: expected a rule, word, contract or elide, got {line!r}")
        names = {re.split(r"\W", line[2], maxsplit=1)[0] for line in lines} | set(self.words)
        ways: dict[str, list] = {name: list(words) for name, words in self.words.items()}
        for where, weight, head, spanish, english in lines:
            head = _item(where, head, names)
            sides = (
                [_item(where, text, names) for text in _symbols(side)]
                for side in (spanish, english)
            )
            rule = _rule(where, float(weight), head.features, *sides)
            ways.setdefault(head.category, []).append(rule)
            self.known.setdefault(head.category, set()).update(head.features)
        _check(ways, self.known)
        return GrammarFiles(ways, contractions, elisions)

    def _lines(self, name: str) -> Iterator[tuple[str, str]]:
        """Yield the lines of a file with their locations, without empty lines and comments."""
        try:
            text = self.root.joinpath(name).read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            number = error.object[: error.start].count(b"\n") + 1
            raise ValueError(f"{name}, line {number}: expected UTF-8 text") from None
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip() and not line.startswith("#"):
                yield f"{name}, line {number}", line.strip(" ")

    def _table(self, where: str, name: str) -> list[tuple[str, dict[str, str]]]:
        """Return the rows of a table, each with its location and a dict from column to cell."""
        if name not in self.tables:
            try:
                lines = list(self._lines(name))
            except FileNotFoundError:
                raise ValueError(f"{where}: there is no table {name}") from None
            columns = lines[0][1].split("\t") if lines else []
            rows = []
            for place, line in lines[1:]:
                cells = line.split("\t")
                if len(cells) != len(columns) or not all(cell.strip() for cell in cells):
                    raise ValueError(
                        f"{place}: expected {len(columns)} filled columns ({', '.join(columns)}), "
                        f"got {len(cells)}"
                    )
                rows.append((place, dict(zip(columns, cells, strict=True))))
            self.tables[name] = rows
        return self.tables[name]

    def _read_words(self, where: str, head: str, table: str, spanish: str, english: str):
        """Add the words in two columns of a table to a category."""
        item = _item(where, head, {re.split(r"\W", head, maxsplit=1)[0]})
        fixed: Features = {}
        for name, value in item.features.items():
            if isinstance(value, str):
                raise ValueError(f"{where}: the feature {name!r} of words needs a value")
            fixed[name] = value
        found = self.words.setdefault(item.category, [])
        self.known.setdefault(item.category, set()).update(item.features)
        for place, row in self._table(where, table):
            for column in (spanish, english):
                if column not in row:
                    raise ValueError(f"{where}: {table} has no column {column!r}, only {list(row)}")
            features = {
                name[:-1]: frozenset(cell.split("/"))
                for name, cell in row.items()
                if name.endswith("=")
            }
            self.known[item.category].update(features)
            if "-" in (row[spanish], row[english]):
                continue
            words, target = ([_plain(place, w) for w in row[c].split()] for c in (spanish, english))
            linked = tuple((word, tuple(range(len(words)))) for word in target)
            word = Phrase({**features, **fixed}, tuple(words), linked, row)
            found.append(word)


def _symbols(side: str) -> list[str]:
    """Split one side of a rule into symbols at the spaces outside brackets."""
    return re.split(r"\s+(?![^\[]*\])", side.strip()) if side.strip() else []


def _plain(where: str, word: str) -> str:
    """Return a word, after checking that it consists of letters or is a punctuation mark."""
    if word.isalpha() or word in MARKS:
        return word
    raise ValueError(f"{where}: expected a word of letters or one of . ? ! , ¿, got {word!r}")


def _item(where: str, text: str, names: Iterable[str]) -> Item:
    """Read one symbol; a capitalised name is a category unless it is in quotes."""
    pattern = r"(\*?)(\"\w+\"|\w+|[.?!,¿])(\[.*?\])?(?:\.([^~]+))?(?:~(\S+))?"
    match = re.fullmatch(pattern, text)
    if not match:
        raise ValueError(f"{where}: cannot read {text!r}")
    star, name, brackets, column, source = match.groups()
    features: dict[str, str | frozenset[str]] = {}
    for part in (brackets or "[]")[1:-1].split():
        key, _, value = part.partition("=")
        constant = value and not value.isupper()
        features[key] = frozenset(value.split("/")) if constant else value or key.upper()
    category = name.rstrip("0123456789") if name[0].isupper() else ""
    if category and category not in names:
        raise ValueError(
            f"{where}: {category} has no rules and no words; a plain word needs quotes"
        )
    if not category:
        name = _plain(where, name.strip('"'))
    return Item(name, category, features, bool(star), column, source and source.strip('"'))


def _rule(where: str, weight: float, features, spanish: list[Item], english: list[Item]):
    """Return a rule after checking that its two sides match; bare words make a phrase."""
    names = [item.name for item in spanish]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{where}: {name} occurs twice; number categories: {name}1, {name}2")
    for item in english:
        if item.source and item.source not in names:
            raise ValueError(f"{where}: ~{item.source} names nothing on the Spanish side")
        if item.column and item.name not in names:
            raise ValueError(f"{where}: .{item.column} needs {item.name} on the Spanish side")
    if any(item.category for item in spanish + english):
        return Rule(weight, features, tuple(spanish), tuple(english), where)
    for name, value in features.items():
        if isinstance(value, str):
            raise ValueError(f"{where}: the feature {name!r} of bare words needs a value")
    linked = ((item.name, (names.index(item.source),) if item.source else ()) for item in english)
    return Phrase(features, tuple(names), tuple(linked), None, weight)


def _check(ways: dict[str, list], known: dict[str, set[str]]):
    """Reject features that a category does not have, and rules that lead back to themselves."""
    if START_SYMBOL not in ways:
        raise ValueError(f"grammar.txt, line 1: there is no rule for {START_SYMBOL}")
    done: set[str] = set()

    def visit(category: str, path: tuple[str, ...]):
        for rule in ways[category]:
            for item in () if isinstance(rule, Phrase) else rule.spanish + rule.english:
                for name in sorted(set(item.features) - known.get(item.category, set())):
                    raise ValueError(f"{rule.where}: {item.category} has no feature {name!r}")
                if item.column and not all(
                    item.column in (getattr(word, "row", None) or ())
                    for word in ways[item.category]
                ):
                    raise ValueError(f"{rule.where}: {item.category} has no column {item.column!r}")
                if item.category in path:
                    raise ValueError(f"{rule.where}: {item.category} leads back to itself")
                if item.category and item.category not in done:
                    visit(item.category, (*path, item.category))
        done.add(category)

    for category in ways:
        visit(category, (category,))
