"""Sentence pairs with gold word alignment, from a synchronous grammar of Spanish and English.

One derivation writes both sentences at once, so it knows which Spanish word each English word
comes from:

    Clause -> Subject no *Verb *Complement = Subject~Verb Do~Verb not~no Verb.english Complement

The rules and the word tables are text files in the package `keras_attention.data`; its README
explains how to read and extend them. The links follow these conventions:

- content words, articles, numbers and marks link to their counterparts;
- a subject without a Spanish pronoun links to the conjugated verb, and so do "do", "does", "did";
- "not" links to "no", "the" and "to" in "to the" both to "al" (a + el);
- the personal "a" and "¿" stay without a link; every English token has at least one.
"""

from __future__ import annotations

import random
import re
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from importlib import resources
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

MARKS = frozenset(".?!,¿")
START = "Sentence"
PATIENCE = 1000  # repeated sentences in a row before the rest is enumerated

Features = dict[str, frozenset[str]]
Pattern = dict[str, str | frozenset[str]]  # a string is a variable


class AlignedPair(NamedTuple):
    """A Spanish sentence, its English translation, and which words belong together.

    Attributes:
        context: The Spanish sentence as written: `"¿Comieron los niños la manzana roja?"`.
        target: The English sentence as written: `"Did the boys eat the red apple?"`.
        links: Pairs `(context token, target token)`, counted from 0, in the order of the target.
            Words are tokens, and so is each of `. ? ! , ¿`.
    """

    context: str
    target: str
    links: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class _Item:
    """One symbol of a rule: `*Verb1[tense person=1/2]`, `Verb1.english`, `not~no`, a bare word."""

    name: str
    category: str | None
    features: Pattern
    head: bool
    column: str | None
    source: str | None


@dataclass(frozen=True)
class _Rule:
    weight: float
    features: Pattern
    spanish: tuple[_Item, ...]
    english: tuple[_Item, ...]
    where: str

    @cached_property
    def order(self) -> tuple[_Item, ...]:
        """The Spanish categories in the order of choice: heads first, then from left to right."""
        categories = [item for item in self.spanish if item.category]
        return tuple(sorted(categories, key=lambda item: not item.head))


@dataclass(frozen=True)
class _Phrase:
    """A word or derived phrase; each English token carries the positions of its Spanish tokens."""

    features: Features
    spanish: tuple[str, ...]
    english: tuple[tuple[str, tuple[int, ...]], ...]
    row: dict[str, str] | None = None
    weight: float = 1.0
    order: tuple = ()


class Grammar:
    """A synchronous grammar, which generates Spanish–English pairs with gold word alignment.

    `Grammar.load().generate(50_000)` is the bundled corpus. A sentence is built from the category
    `Sentence` down: of the rules whose features agree, one is chosen with probability proportional
    to its weight; then its starred parts are built, then the others from left to right, each
    agreeing with all that has been chosen before.

    Example:
        >>> from keras_attention.grammar import Grammar
        >>> pair = Grammar.load().generate(1, seed=1)[0]
        >>> print(pair.context, pair.target)
        No estuve cansado. I was not tired.
        >>> pair.links
        ((1, 0), (1, 1), (0, 2), (2, 3), (3, 4))
    """

    def __init__(self, ways: dict[str, list], contractions: dict, elisions: dict):
        self._all_ways = ways
        self._contractions = contractions
        self._elisions = elisions
        self._ways = lru_cache(maxsize=None)(self._agreeing_ways)
        self._tally = lru_cache(maxsize=None)(self._count)

    @classmethod
    def load(cls, folder=None) -> Grammar:
        """Read `grammar.txt` and the tables it names.

        Args:
            folder: Path of a folder with a grammar of your own; the bundled files by default.

        Raises:
            FileNotFoundError: A file is missing.
            ValueError: A file is malformed; the message names the file and the line.
        """
        root = resources.files("keras_attention.data") if folder is None else Path(folder)
        return _Reader(root).read()

    def generate(self, count: int, seed: int = 0) -> list[AlignedPair]:
        """`count` pairs with distinct Spanish sentences; the same for a seed on every machine.

        Args:
            count: How many pairs.
            seed: Seed of the random choices.

        Raises:
            ValueError: `count` is below 1, or the grammar has fewer sentences.
        """
        if count < 1:
            raise ValueError(f"count must be at least 1, got {count}")
        if count > self.size:
            raise ValueError(
                f"count must be at most {self.size}, the size of the grammar, got {count}"
            )
        rng = random.Random(seed)
        pairs: dict[str, AlignedPair] = {}
        misses = 0
        while len(pairs) < count and misses < PATIENCE:
            pair = self._write(next(self._derive(START, {}, lambda *ways: _shuffled(*ways, rng))))
            misses = misses + 1 if pair.context in pairs else 0
            pairs.setdefault(pair.context, pair)
        if len(pairs) < count:
            for node in self._derive(START, {}, _in_order):
                pair = self._write(node)
                pairs.setdefault(pair.context, pair)
                if len(pairs) == count:
                    break
            else:
                raise ValueError(
                    f"the grammar gives {len(pairs)} distinct sentences, got count={count}: "
                    "ask for fewer, or add words or rules"
                )
        return list(pairs.values())

    @cached_property
    def size(self) -> int:
        """How many derivations the grammar has: it cannot give more sentences than that."""
        return sum(self._tally(START, ()).values())

    def _count(self, category: str, wanted: tuple) -> Counter:
        """How many derivations a category has for each set of features that they can end with."""
        total = Counter()
        for way in self._ways(category, wanted)[0]:
            states = Counter({_key(_bind(way.features, dict(wanted), {})): 1})
            for item in way.order:
                grown = Counter()
                for state, ways in states.items():
                    bindings = dict(state)
                    parts = self._tally(item.category, _key(_resolve(item.features, bindings)))
                    for features, more in parts.items():
                        grown[_key(_bind(item.features, dict(features), bindings))] += ways * more
                states = grown
            for state, ways in states.items():
                features = _unify(_resolve(way.features, dict(state)), dict(wanted))
                total[_key(features)] += ways
        return total

    def _agreeing_ways(self, category: str, wanted: tuple) -> tuple[tuple, tuple]:
        """What can become of a category with the wanted features, and running sums of weights."""
        ways = tuple(
            way
            for way in self._all_ways[category]
            if _unify(_resolve(way.features, {}), dict(wanted)) is not None
        )
        return ways, tuple(accumulate(way.weight for way in ways))

    def _derive(self, category: str, wanted: Features, order: Callable) -> Iterator[_Phrase]:
        """All derivations of a category that agree with the wanted features, in the given order."""
        for way in order(*self._ways(category, _key(wanted))):
            if isinstance(way, _Phrase):
                yield replace(way, features=_unify(way.features, wanted))
            else:
                bindings = _bind(way.features, wanted, {})
                for found, parts in self._fill(way.order, bindings, {}, order):
                    features = _unify(_resolve(way.features, found), wanted)
                    yield self._join(way, found, parts, features)

    def _fill(self, todo, bindings, parts, order) -> Iterator[tuple[Features, dict]]:
        """Choose the parts of a rule so that they agree; step back where none does."""
        if not todo:
            yield bindings, parts
            return
        item = todo[0]
        for node in self._derive(item.category, _resolve(item.features, bindings), order):
            found = _bind(item.features, node.features, bindings)
            yield from self._fill(todo[1:], found, {**parts, item.name: node}, order)

    def _join(self, rule: _Rule, bindings: Features, parts: dict, features: Features) -> _Phrase:
        """Write both sides of a rule from its parts, with their links where the parts stand."""
        spanish: list[str] = []
        places: dict[str, tuple[int, ...]] = {}
        for item in rule.spanish:
            words = parts[item.name].spanish if item.category else (item.name,)
            places[item.name] = tuple(range(len(spanish), len(spanish) + len(words)))
            spanish += words
        english = []
        for item in rule.english:
            if item.name in parts:
                node = parts[item.name]
                start = places[item.name][0] if places[item.name] else 0
                tokens = [(word, tuple(start + i for i in links)) for word, links in node.english]
                if item.column:
                    tokens = [(word, places[item.name]) for word in node.row[item.column].split()]
            elif item.category:
                found = next(
                    self._derive(item.category, _resolve(item.features, bindings), _in_order), None
                )
                if found is None:
                    raise ValueError(f"{rule.where}: no {item.category} agrees with this rule")
                tokens = [(word, ()) for word, _ in found.english]
            else:
                tokens = [(item.name, ())]
            fallback = places[item.source] if item.source else ()
            english += [(word, links or fallback) for word, links in tokens]
        return _Phrase(features, tuple(spanish), tuple(english))

    def _write(self, node: _Phrase) -> AlignedPair:
        """Contract, elide and capitalise the words of a sentence, and number its links."""
        spanish: list[str] = []
        moved: list[int] = []
        for word in node.spanish:
            contracted = self._contractions.get((spanish[-1], word)) if spanish else None
            if contracted:
                spanish[-1] = contracted
            else:
                spanish.append(word)
            moved.append(len(spanish) - 1)
        english = [word for word, _ in node.english]
        for i, following in enumerate(english[1:]):
            if following[0].lower() in "aeiou":
                english[i] = self._elisions.get(english[i], english[i])
        links = {(moved[i], j) for j, (_, places) in enumerate(node.english) for i in places}
        links = tuple(sorted(links, key=lambda link: (link[1], link[0])))
        return AlignedPair(_sentence(spanish), _sentence(english), links)


def _unify(one: Features, other: Features) -> Features | None:
    """Both sets of features together, or None where they contradict each other."""
    merged = dict(one)
    for name, values in other.items():
        merged[name] = merged.get(name, values) & values
        if not merged[name]:
            return None
    return merged


def _resolve(features: Pattern, bindings: Features) -> Features:
    """The features of an item, its variables replaced by what they are bound to."""
    resolved = {}
    for name, value in features.items():
        value = bindings.get(value) if isinstance(value, str) else value
        if value is not None:
            resolved[name] = value
    return resolved


def _bind(features: Pattern, found: Features, bindings: Features) -> Features:
    """The bindings, with the variables of an item bound to the features found."""
    bindings = dict(bindings)
    for name, value in features.items():
        if isinstance(value, str) and name in found:
            bindings[value] = found[name]
    return bindings


def _key(features: Features) -> tuple:
    """The features as a key for a dictionary."""
    return tuple(sorted(features.items()))


def _in_order(ways: tuple, sums: tuple) -> tuple:
    """All ways, as they stand in the files."""
    return ways


def _shuffled(ways: tuple, sums: tuple, rng: random.Random) -> Iterator:
    """All ways, drawn one after the other with probability proportional to their weights."""
    while ways:
        drawn = min(bisect(sums, rng.random() * sums[-1]), len(ways) - 1)
        yield ways[drawn]
        ways = ways[:drawn] + ways[drawn + 1 :]
        sums = tuple(accumulate(way.weight for way in ways))


def _sentence(words: list[str]) -> str:
    """Words as a written sentence: `["¿", "comes", "pan", "?"]` gives `"¿Comes pan?"`."""
    text = re.sub(r" (?=[.?!,])|(?<=¿) ", "", " ".join(words))
    return re.sub(r"[^\W\d_]", lambda letter: letter[0].upper(), text, count=1)


class _Reader:
    """Reads a folder with `grammar.txt` and its tables; a complaint names the file and the line."""

    def __init__(self, root):
        self.root = root
        self.tables: dict[str, list] = {}
        self.words: dict[str, list[_Phrase]] = {}
        self.known: dict[str, set[str]] = {}

    def read(self) -> Grammar:
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
        names = {re.match(r"\w+", line[2])[0] for line in lines} | set(self.words)
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
        return Grammar(ways, contractions, elisions)

    def _lines(self, name: str) -> Iterator[tuple[str, str]]:
        """The lines of a file that are not empty or comments, each with its place."""
        try:
            text = self.root.joinpath(name).read_bytes().decode("utf-8")
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            raise ValueError(f"{name}, line {line}: expected UTF-8 text") from None
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip() and not line.startswith("#"):
                yield f"{name}, line {number}", line.strip(" ")

    def _table(self, where: str, name: str) -> list[tuple[str, dict[str, str]]]:
        """The rows of a table, each a dictionary from column to cell."""
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
        """Enter the words of two columns of a table under a category."""
        item = _item(where, head, {re.match(r"\w+", head)[0]})
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
            word = _Phrase({**features, **item.features}, tuple(words), linked, row)
            found.append(word)


def _symbols(side: str) -> list[str]:
    """The symbols of one side of a rule, split at spaces outside brackets."""
    return re.split(r"\s+(?![^\[]*\])", side.strip()) if side.strip() else []


def _plain(where: str, word: str) -> str:
    """The word itself, if it is made of letters or is a punctuation mark."""
    if word.isalpha() or word in MARKS:
        return word
    raise ValueError(f"{where}: expected a word of letters or one of . ? ! , ¿, got {word!r}")


def _item(where: str, text: str, names: Iterable[str]) -> _Item:
    """Read one symbol; a name with a capital is a category, unless it stands in quotes."""
    pattern = r"(\*?)(\"\w+\"|\w+|[.?!,¿])(\[.*?\])?(?:\.([^~]+))?(?:~(\S+))?"
    match = re.fullmatch(pattern, text)
    if not match:
        raise ValueError(f"{where}: cannot read {text!r}")
    star, name, brackets, column, source = match.groups()
    features = {}
    for part in (brackets or "[]")[1:-1].split():
        key, _, value = part.partition("=")
        constant = value and not value.isupper()
        features[key] = frozenset(value.split("/")) if constant else value or key.upper()
    category = name.rstrip("0123456789") if name[0].isupper() else None
    if category and category not in names:
        raise ValueError(
            f"{where}: {category} has no rules and no words; a plain word needs quotes"
        )
    if not category:
        name = _plain(where, name.strip('"'))
    return _Item(name, category, features, bool(star), column, source and source.strip('"'))


def _rule(where: str, weight: float, features, spanish: list[_Item], english: list[_Item]):
    """A rule whose two sides fit together; one of bare words is a phrase already."""
    names = [item.name for item in spanish]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{where}: {name} stands twice; number categories: {name}1, {name}2")
    for item in english:
        if item.source and item.source not in names:
            raise ValueError(f"{where}: ~{item.source} names nothing on the Spanish side")
        if item.column and item.name not in names:
            raise ValueError(f"{where}: .{item.column} needs {item.name} on the Spanish side")
    if any(item.category for item in spanish + english):
        return _Rule(weight, features, tuple(spanish), tuple(english), where)
    for name, value in features.items():
        if isinstance(value, str):
            raise ValueError(f"{where}: the feature {name!r} of bare words needs a value")
    linked = ((item.name, (names.index(item.source),) if item.source else ()) for item in english)
    return _Phrase(features, tuple(names), tuple(linked), None, weight)


def _check(ways: dict[str, list], known: dict[str, set[str]]):
    """Refuse features that a category does not have, and rules that lead back to themselves."""
    if START not in ways:
        raise ValueError(f"grammar.txt, line 1: there is no rule for {START}")
    done: set[str] = set()

    def visit(category: str, path: tuple[str, ...]):
        for rule in ways[category]:
            for item in () if isinstance(rule, _Phrase) else rule.spanish + rule.english:
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
