"""Every mutant of the rooms, as cosmic-ray makes them, and a sample of those that are programs.

Left out is what no test can tell from the program, by its nature: what does not compile, and what
compiles to the same code, where an annotation counts as none. All else is in, hard to kill or not.
"""

import ast
import difflib
import hashlib
import warnings
from dataclasses import dataclass
from functools import lru_cache

from tests.mutants import rooms


@dataclass(frozen=True)
class Mutant:
    """One mistake.

    Attributes:
        module: path below the package, "ops/masks.py".
        line: number of the line, from 1.
        definition: what it stands in, "Vocabulary.decode"; "" at the top.
        operator: the operator of cosmic-ray that made it.
        occurrence: at which of the places where this operator applies in the module.
        before: what is changed, without indentation.
        after: what it becomes; "" where it is left out.
    """

    module: str
    line: int
    definition: str
    operator: str
    occurrence: int
    before: str
    after: str

    @property
    def room(self):
        return rooms.room_of(self.module)

    def __str__(self):
        return f"{self.module}:{self.line}  {self.before}  ->  {self.after or '(left out)'}"


def sample(size, seed, root=rooms.ROOT):
    """Return `size` mutants of all rooms, drawn by a seed; in the order of the sources.

    A place is drawn or not by what it is, so that an edit of one module leaves the mutants of the
    others as they are.
    """
    sources, places = {}, []
    for module in (module for room in rooms.ROOMS for module in rooms.modules(room, root)):
        sources[module] = (root / "keras_attention" / module).read_text(encoding="utf-8")
        places += [(module, *place) for place in places_of(sources[module])]
    drawn = []
    # All in a random order, tried until there are enough: to make and compile each would take long
    for place in sorted(range(len(places)), key=lambda index: lot(seed, *places[index][:3])):
        module, operator, occurrence, line, definition = places[place]
        mutated = mutated_source(sources[module], operator, occurrence)
        if is_another_program(sources[module], mutated):
            change = changed_lines(sources[module], mutated)
            drawn.append((place, Mutant(module, line, definition, operator, occurrence, *change)))
        if len(drawn) == size:
            break
    return [mutant for _, mutant in sorted(drawn, key=lambda pair: pair[0])]


def lot(seed, module, operator, occurrence):
    """Return what a place has drawn: as good as random, and the same each time."""
    return hashlib.sha256(f"{seed} {module} {operator} {occurrence}".encode()).digest()


def places_of(source):
    """Yield operator, occurrence, line and definition of all that cosmic-ray can do to a source."""
    from cosmic_ray import plugins
    from cosmic_ray.ast import ast_nodes, get_ast

    nodes = list(ast_nodes(get_ast(source)))
    for name in sorted(plugins.operator_names()):
        operator = plugins.get_operator(name)
        if operator.arguments():  # wants to be told names of variables
            continue
        found = ((node, at) for node in nodes for at in operator().mutation_positions(node))
        for occurrence, (node, ((line, _), _)) in enumerate(found):
            yield name, occurrence, line, definition_of(node)


def definition_of(node):
    """Return the dotted name of the functions and classes around a node of parso's tree."""
    names = []
    while (node := node.parent) is not None:
        if node.type in ("funcdef", "classdef"):
            names.append(node.name.value)
    return ".".join(reversed(names))


def mutated_source(source, operator, occurrence):
    """Return the source with the mistake that an operator makes at one of its places."""
    from cosmic_ray import mutating, plugins

    return mutating.mutate_code(source, plugins.get_operator(operator)(), occurrence)


def is_another_program(source, mutated):
    """Return whether a mutated source compiles, and to something else."""
    try:
        return compiled(mutated) != compiled(source)
    except SyntaxError:  # `{**config}` became `{//config}`
        return False


@lru_cache
def compiled(source):
    """Return the code of a source, without annotations, and wherever it stands in its line."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for field in ("annotation", "returns"):
            if getattr(node, field, None) is not None:
                # A dataclass has a field wherever there is any annotation
                setattr(node, field, ast.Constant(None))
        if hasattr(node, "lineno"):
            node.lineno = node.end_lineno = 1
            node.col_offset = node.end_col_offset = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an `is` with a number
        return compile(ast.fix_missing_locations(tree), "", "exec")


def changed_lines(source, mutated):
    """Return what is changed and what it becomes, as one line each."""
    lines = source.splitlines(), mutated.splitlines()
    matched = difflib.SequenceMatcher(None, *lines, autojunk=False).get_opcodes()
    changes = [places for kind, *places in matched if kind != "equal"]
    (first, _, first_after, _), (_, last, _, last_after) = changes[0], changes[-1]
    before, after = lines[0][first:last], lines[1][first_after:last_after]
    return tuple(" ".join(line.strip() for line in part) for part in (before, after))
