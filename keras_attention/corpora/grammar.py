"""Sentence pairs with gold word alignment, from a synchronous grammar of Spanish and English.

One derivation writes both sentences at once, so it links each English word to the Spanish word
that it comes from:

    Clause -> Subject no *Verb *Complement = Subject~Verb Do~Verb not~no Verb.english Complement

The rules and the word tables are text files in the folder `data/`; its README
explains how to read and extend them. The links follow these conventions:

- content words, articles, numbers and marks link to their counterparts;
- a subject without a Spanish pronoun links to the conjugated verb, and so do "do", "does", "did";
- "not" links to "no"; in "to the", both words link to "al" (a + el);
- the personal "a" and "¿" have no link; every English token has at least one.
"""

from __future__ import annotations

import random
import re
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from keras_attention.corpora.grammar_files import (
    START_SYMBOL,
    Features,
    GrammarFiles,
    Pattern,
    Phrase,
    Rule,
    read_grammar_files,
)
from keras_attention.storage import bundled

PATIENCE = 1000  # successive repeats of sentences before the grammar is enumerated


class AlignedPair(NamedTuple):
    """A Spanish sentence, its English translation, and the links between their words.

    Attributes:
        context: The Spanish sentence as written: `"¿Comieron los niños la manzana roja?"`.
        target: The English sentence as written: `"Did the boys eat the red apple?"`.
        links: Pairs `(context token, target token)`, counted from 0, in the order of the target.
            Each word and each of `. ? ! , ¿` is a token.
    """

    context: str
    target: str
    links: tuple[tuple[int, int], ...]


class Grammar:
    """A synchronous grammar that generates Spanish–English pairs with gold word alignment.

    `Grammar.load().generate(60_000)` is the bundled corpus. The grammar builds a sentence from the
    category `Sentence` down. It chooses one of the rules whose features agree, with probability
    proportional to its weight. It then builds the starred parts of the rule and after them the
    others from left to right; each part agrees with all earlier choices.

    Example:
        >>> from keras_attention.corpora.grammar import Grammar
        >>> pair = Grammar.load().generate(1, seed=1)[0]
        >>> print(pair.context, pair.target)
        No estuve cansado. I was not tired.
        >>> pair.links
        ((1, 0), (1, 1), (0, 2), (2, 3), (3, 4))
    """

    def __init__(self, files: GrammarFiles):
        self._all_ways, self._contractions, self._elisions = files
        self._ways = lru_cache(maxsize=None)(self._agreeing_ways)
        self._tally = lru_cache(maxsize=None)(self._count)

    @classmethod
    def load(cls, folder: Path | str | None = None) -> Grammar:
        """Read `grammar.txt` and the tables that it names.

        Args:
            folder: A folder with a grammar of your own; by default the bundled files.

        Raises:
            FileNotFoundError: A file is missing.
            ValueError: A file is malformed; the message names the file and the line.
        """
        root = bundled() if folder is None else Path(folder)
        return cls(read_grammar_files(root))

    def generate(self, count: int, seed: int = 0) -> list[AlignedPair]:
        """Return `count` pairs with distinct Spanish sentences, the same on every machine.

        Args:
            count: The number of pairs.
            seed: The random seed.

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
            pair = self._write(
                next(self._derive(START_SYMBOL, {}, lambda ways, sums: _shuffled(ways, sums, rng)))
            )
            misses = misses + 1 if pair.context in pairs else 0
            pairs.setdefault(pair.context, pair)
        if len(pairs) < count:
            for node in self._derive(START_SYMBOL, {}, _in_order):
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
        """The number of derivations of the grammar, which bounds the number of its sentences."""
        return sum(self._tally(START_SYMBOL, ()).values())

    def _count(self, category: str, wanted: tuple) -> Counter:
        """Count the derivations of a category for each set of features that they can end with."""
        total: Counter[tuple] = Counter()
        for way in self._ways(category, wanted)[0]:
            states = Counter({_key(_bind(way.features, dict(wanted), {})): 1})
            for item in way.order:
                grown: Counter[tuple] = Counter()
                for state, ways in states.items():
                    bindings = dict(state)
                    parts = self._tally(item.category, _key(_resolve(item.features, bindings)))
                    for features, more in parts.items():
                        grown[_key(_bind(item.features, dict(features), bindings))] += ways * more
                states = grown
            for state, ways in states.items():
                agreed = _unify(_resolve(way.features, dict(state)), dict(wanted))
                if agreed is not None:
                    total[_key(agreed)] += ways
        return total

    def _agreeing_ways(self, category: str, wanted: tuple) -> tuple[tuple, tuple]:
        """Return the ways to expand a category with the wanted features, and sums of weights."""
        ways = tuple(
            way
            for way in self._all_ways[category]
            if _unify(_resolve(way.features, {}), dict(wanted)) is not None
        )
        return ways, tuple(accumulate(way.weight for way in ways))

    def _derive(self, category: str, wanted: Features, order: Callable) -> Iterator[Phrase]:
        """Yield the derivations of a category that agree with the wanted features, in order."""
        for way in order(*self._ways(category, _key(wanted))):
            if isinstance(way, Phrase):
                features = _unify(way.features, wanted)
                if features is not None:
                    yield replace(way, features=features)
            else:
                bindings = _bind(way.features, wanted, {})
                for found, parts in self._fill(way.order, bindings, {}, order):
                    features = _unify(_resolve(way.features, found), wanted)
                    if features is not None:
                        yield self._join(way, found, parts, features)

    def _fill(self, todo, bindings, parts, order) -> Iterator[tuple[Features, dict]]:
        """Choose the parts of a rule so that they agree; backtrack where none does."""
        if not todo:
            yield bindings, parts
            return
        item = todo[0]
        for node in self._derive(item.category, _resolve(item.features, bindings), order):
            found = _bind(item.features, node.features, bindings)
            yield from self._fill(todo[1:], found, {**parts, item.name: node}, order)

    def _join(self, rule: Rule, bindings: Features, parts: dict, features: Features) -> Phrase:
        """Write both sides of a rule from its parts, and move their links accordingly."""
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
        return Phrase(features, tuple(spanish), tuple(english))

    def _write(self, node: Phrase) -> AlignedPair:
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
        found = {(moved[i], j) for j, (_, places) in enumerate(node.english) for i in places}
        links = tuple(sorted(found, key=lambda link: (link[1], link[0])))
        return AlignedPair(_sentence(spanish), _sentence(english), links)


def _unify(one: Features, other: Features) -> Features | None:
    """Return both sets of features together, or None if they contradict each other."""
    merged = dict(one)
    for name, values in other.items():
        merged[name] = merged.get(name, values) & values
        if not merged[name]:
            return None
    return merged


def _resolve(features: Pattern, bindings: Features) -> Features:
    """Return the features of an item with its variables replaced by their values."""
    resolved = {}
    for name, value in features.items():
        known = bindings.get(value) if isinstance(value, str) else value
        if known is not None:
            resolved[name] = known
    return resolved


def _bind(features: Pattern, found: Features, bindings: Features) -> Features:
    """Return the bindings, with the variables of an item bound to the features found."""
    bindings = dict(bindings)
    for name, value in features.items():
        if isinstance(value, str) and name in found:
            bindings[value] = found[name]
    return bindings


def _key(features: Features) -> tuple:
    """Return the features as a dictionary key."""
    return tuple(sorted(features.items()))


def _in_order(ways: tuple, sums: tuple) -> tuple:
    """Return all ways in the order of the files."""
    return ways


def _shuffled(ways: tuple, sums: tuple, rng: random.Random) -> Iterator:
    """Yield all ways, drawn successively with probability proportional to their weights."""
    while ways:
        drawn = min(bisect(sums, rng.random() * sums[-1]), len(ways) - 1)
        yield ways[drawn]
        ways = ways[:drawn] + ways[drawn + 1 :]
        sums = tuple(accumulate(way.weight for way in ways))


def _sentence(words: list[str]) -> str:
    """Write words as a sentence: `["¿", "comes", "pan", "?"]` gives `"¿Comes pan?"`."""
    text = re.sub(r" (?=[.?!,])|(?<=¿) ", "", " ".join(words))
    return re.sub(r"[^\W\d_]", lambda letter: letter[0].upper(), text, count=1)
