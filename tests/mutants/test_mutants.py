import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants import __main__ as command
from tests.mutants import loader, population, report, rooms
from tests.mutants.record import Record, Result

SOURCE = "def is_small(x: int | str):\n    return x < 3\n"
MUTATED = SOURCE.replace("<", "<=")
SEEN = "from keras_attention import metrics as e; print(e.is_small(3))"


@pytest.fixture
def checkout(tmp_path):
    """Write a checkout with a line for each room, and a test for one."""
    for room in rooms.ROOMS:
        file = tmp_path / "keras_attention" / f"{room}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(SOURCE)
    (tmp_path / "keras_attention" / "__init__.py").touch()
    (tmp_path / "tests").mkdir()
    (tmp_path / "setup.cfg").write_text("[tool:pytest]\nmarkers =\n    slow\n    thorough\n")
    (tmp_path / "tests" / "test_metrics.py").write_text(
        "import pytest\nfrom keras_attention.metrics import is_small\n"
        "def test_two():\n    assert is_small(2)\n"
        "@pytest.mark.thorough\ndef test_three():\n    assert not is_small(3)\n"
    )
    return tmp_path


def python(code, checkout):
    """Run Python in a checkout, and return what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(rooms.ROOT)}
    done = subprocess.run(
        [sys.executable, "-u", "-c", code],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def mutant(line=2, **given):
    given = {"before": "return x < 3", "after": "return x <= 3", **given}
    rest = {"definition": "is_small", "operator": "core/ReplaceComparisonOperator_Lt_LtE"}
    return population.Mutant(**{"module": "ops.py", "line": line, "occurrence": 0, **rest, **given})


# Rooms


def test_every_room_has_modules_and_tests():
    for room in rooms.ROOMS:
        modules = rooms.modules(room)
        assert modules
        assert {rooms.room_of(module) for module in modules} == {room}
        assert all((rooms.ROOT / "keras_attention" / module).is_file() for module in modules)
        assert all(file.is_file() for file in rooms.room_tests(room))


def test_the_tests_of_the_module_come_first():
    first, rest = rooms.in_turn("ops/masks.py")
    assert [file.name for file in first] == ["test_masks.py"]
    assert sorted(first + rest) == rooms.room_tests("ops")
    assert rooms.in_turn("ops/__init__.py") == ([], rooms.room_tests("ops"))
    first, (second, *_) = rooms.in_turn("layers/pooling.py")
    assert [file.name for file in (*first, second)] == ["test_pooling.py", "test_contract.py"]


def test_a_room_is_known_to_have_changed(checkout):
    before = rooms.fingerprint("metrics", checkout)
    assert rooms.fingerprint("metrics", checkout) == before
    (checkout / "keras_attention" / "ops.py").write_text(MUTATED)
    assert rooms.fingerprint("metrics", checkout) != before


# The sample


def test_the_sample_is_drawn_by_the_seed(checkout):
    pytest.importorskip("cosmic_ray", reason="needs the extra mutants")
    first, again, other = (population.sample(11, seed, checkout) for seed in (1, 1, 2))
    assert first == again != other
    assert len(set(first)) == 11
    for each in first:
        assert (each.line, each.definition) == (2, "is_small")
        mutated = population.mutated_source(SOURCE, each.operator, each.occurrence)
        assert mutated == SOURCE.replace(each.before, each.after)
    # of the `|` in the annotation nothing can come
    everything = population.sample(1000, 1, checkout)
    assert {each.before for each in everything} == {"return x < 3"}


def test_an_edit_of_one_module_leaves_the_mutants_of_the_others(checkout):
    pytest.importorskip("cosmic_ray", reason="needs the extra mutants")

    def elsewhere():
        return {m for m in population.sample(20, 1, checkout) if m.module != "ops.py"}

    before = elsewhere()
    (checkout / "keras_attention" / "ops.py").write_text(f"{SOURCE}\nprint(1 + 1)\n")
    assert set() < elsewhere() <= before


@pytest.mark.parametrize(
    ("mutated", "expected"),
    [
        (MUTATED, True),
        (SOURCE.replace("3", "3.0"), True),
        (SOURCE.replace("|", "+"), False),
        (SOURCE.replace("x < 3", "(x  <  3)"), False),
        (SOURCE.replace("<", "<>"), False),
    ],
)
def test_a_program_is_what_compiles_to_something_else(mutated, expected):
    assert population.is_another_program(SOURCE, mutated) == expected


def test_what_is_changed_is_told_in_one_line_each():
    assert population.changed_lines(SOURCE, MUTATED) == ("return x < 3", "return x <= 3")
    assert population.changed_lines(f"@cache\n{SOURCE}", SOURCE) == ("@cache", "")


# A process


def test_a_mutant_is_imported_by_a_process_and_by_all_that_it_starts(checkout):
    code = f"""
import inspect, subprocess, sys
from pathlib import Path
from tests.mutants import loader
mutant = loader.describe("metrics.py", {MUTATED!r}, Path.cwd())
loader.serve_everywhere(mutant, Path.cwd())
{SEEN}
print("<=" in inspect.getsource(e.is_small))
subprocess.run([sys.executable, "-c", {SEEN!r}], check=True)
"""
    file = checkout / "keras_attention" / "metrics.py"
    assert python(code, checkout) == ["True", "True", "True"]
    assert file.read_text() == SOURCE
    assert python(SEEN, checkout) == ["False"]


def test_a_package_can_be_a_mutant():
    described = loader.describe("ops/__init__.py", "", Path("here"))
    assert described["name"] == "keras_attention.ops"
    assert loader.describe("ops/masks.py", "", Path("here"))["name"] == "keras_attention.ops.masks"


def test_children_say_what_kills_a_mutant(checkout):
    endless = SOURCE.replace("    return", "    while x == 2: pass\n    return")
    code = f"""
from pathlib import Path
from tests.mutants import child, forks, loader, rooms
from tests.mutants.record import SUITES
child.SECONDS_MORE = 1
rooms.ROOT = Path.cwd()
files = rooms.room_tests("metrics", rooms.ROOT)
def trial(name, source, suite, limits):
    mutant = source and loader.describe("metrics.py", source, rooms.ROOT)
    return child.Trial(name, [[], files], SUITES[suite], mutant, limits)
def finished(trial, outcome):
    print(trial.subject, outcome.passed, outcome.ran, outcome.how)
limits = {{"tests/test_metrics.py": 0.1, child.START: 9}}
forks.run_all([
    trial("clean", None, "everyday", {{}}),
    trial("survives", {MUTATED!r}, "everyday", limits),
    trial("dies", {MUTATED!r}, "whole", limits),
    trial("hangs", {endless!r}, "everyday", limits),
    trial("breaks", "1 / 0", "everyday", limits),
], 2, finished)
"""
    assert sorted(python(code, checkout)) == [
        "breaks False 0 tests/test_metrics.py",
        "clean True 1 ",
        "dies False 1 tests/test_metrics.py::test_three",
        "hangs False 0 took too long",
        "survives True 1 ",
    ]


# What comes out


def test_a_record_goes_on_with_the_same_mutants_only(tmp_path):
    mutants = [mutant(2), mutant(3)]
    record = Record.opened(tmp_path, mutants)
    record.results[0].run, record.results[0].killed_by = "everyday", "everyday"
    record.keep()
    assert [file.name for file in tmp_path.iterdir()] == ["mutants.json"]
    for others in (mutants, [mutant(2), mutant(5)]):
        due = [result.is_due("whole") for result in Record.opened(tmp_path, others).results]
        assert due == [False, True]


def test_what_survived_the_everyday_suite_still_meets_the_thorough_tests():
    result = Result(mutant(), run="everyday")
    assert not result.is_due("everyday")
    assert result.is_due("whole")


def results():
    """Return five mutants: three killed, two of them at once, and two survivors."""
    fates = ("everyday", "everyday", "whole", None, None)
    return [Result(mutant(n, after=f"n{n}"), "whole", fate) for n, fate in enumerate(fates)]


def test_the_table_counts_by_room_and_by_suite():
    assert report.table(results())[2:] == [
        "| ops | 5 | 2 (40%) | 3 (60%) | 2 |",
        "| all | 5 | 2 (40%) | 3 (60%) | 2 |",
    ]


def test_survivors_ask_for_a_test_or_have_a_reason(tmp_path):
    file = tmp_path / "same_program.json"
    entry = {"module": "ops.py", "definition": "is_small", "before": "return x < 3"}
    entries = [{**entry, "after": after, "reason": "x is even"} for after in ("n4", "n1", "n9")]
    file.write_text(json.dumps(entries))
    why = report.reasons(file)
    page = report.page(results(), "whole", why, whole_sample=True)
    assert "- `ops.py:3  return x < 3  ->  n3`" in page
    assert "- `ops.py:4  return x < 3  ->  n4`: x is even" in page
    assert sum("`n1`" in line or "`n9`" in line for line in page) == 2  # no longer needed
    assert len(report.shortcomings(results(), "whole", why)) == 3
    assert len(report.shortcomings(results(), "everyday", why)) == 1
    good = [Result(mutant(), "whole", "everyday")] * 19 + [Result(mutant(after="n4"), "whole")]
    assert report.shortcomings(good, "whole", why) == []


def test_the_reasons_in_the_repository_can_be_read():
    assert all(report.reasons().values())


def test_an_entry_that_lacks_something_is_refused(tmp_path):
    file = tmp_path / "same_program.json"
    file.write_text('[{"module": "ops.py"}]')
    with pytest.raises(ValueError, match=r"expected .*'reason'.*, got \['module'\]"):
        report.reasons(file)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rooms", "cellar"], "'cellar' .*'ops'"),
        (["--sample", "0"], "from 1, got '0'"),
        (["--survivors", "--fresh"], "not allowed with"),
    ],
)
def test_a_wrong_option_is_one_line(arguments, message, capsys):
    with pytest.raises(SystemExit) as exit:
        command.main(arguments)
    assert exit.value.code == 2
    said = capsys.readouterr()
    assert not said.out
    assert said.err.count("\n") == 1
    assert re.search(message, said.err)
