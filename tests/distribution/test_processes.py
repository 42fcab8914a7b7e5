"""Several processes on loopback: how they join, what they tell one another, and how they end."""

import socket
import time

import pytest

from keras_attention.distribution import Processes
from keras_attention.distribution.processes import SILENCE, made_again
from tests.distribution.conftest import ended

# Who is who


def test_a_process_is_alone_and_first_by_default():
    processes = Processes()
    assert (processes.process_id, processes.number, processes.is_first) == (0, 1, True)
    assert not processes.are_several
    assert processes.of_first(lambda: [2, 3]) == [2, 3]
    with processes.joined():
        processes.wait("nobody")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("10.0.0.1:8476", 2, 2), "process_id must be from 0 to 1 for 2 processes, got 2"),
        (("10.0.0.1:8476", -1, 2), "process_id must be from 0 to 1 for 2 processes, got -1"),
        (("10.0.0.1:8476", 0, 0), "processes must be at least 1, got 0"),
        (("10.0.0.1", 0, 2), "coordinator must be host:port or auto, got '10.0.0.1'"),
        (("10.0.0.1:65536", 0, 2), "coordinator must be host:port or auto"),
        (("10.0.0.1:8476", None, 2), "need --coordinator host:port, --process-id and --processes"),
        ((None, 0, 2), "together, or --coordinator auto alone, got None, 0 and 2"),
        (("auto", 0, 2), "--coordinator auto alone, got auto, 0 and 2"),
        (("10.0.0.1:8476", 0, 2, 0), "timeout must be at least 1 second, got 0"),
    ],
)
def test_processes_that_cannot_be_are_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        Processes(*arguments)


# Joining


def test_what_the_first_process_says_every_process_hears(start, coordinator):
    both = [start("-m", "tests.distribution.joins", coordinator, i, 2, 60) for i in range(2)]
    for i, process in enumerate(both):
        assert ended(process) == (0, f"joined {i} 2\n['of', 0]\n", "")


def test_an_error_of_the_first_process_is_raised_in_every_one(start, coordinator):
    arguments = ("-m", "tests.distribution.joins", coordinator)
    both = [start(*arguments, i, 2, 60, "of_first_raises") for i in range(2)]
    for process in both:
        status, _, errors = ended(process)
        assert (status, errors) == (2, "FileNotFoundError: there is no run\n")


def test_a_coordinator_that_never_answers_is_one_line(start, coordinator):
    status, out, errors = ended(start("-m", "tests.distribution.joins", coordinator, 1, 2, 2))
    assert (status, out) == (2, "")
    assert errors == (
        f"ConnectionError: the coordinator, process 0 at {coordinator}, did not answer process 1, "
        "or not all of 2 processes joined, within 2 seconds (--timeout)\n"
    )


def test_a_process_that_never_comes_is_one_line(start, coordinator):
    status, out, errors = ended(start("-m", "tests.distribution.joins", coordinator, 0, 2, 2))
    assert (status, out) == (2, "")
    assert errors == (
        f"ConnectionError: not all of 2 processes joined the coordinator, process 0 at "
        f"{coordinator}, within 2 seconds (--timeout)\n"
    )


def test_an_address_that_is_taken_is_one_line(start, coordinator):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", int(coordinator.split(":")[1])))
        taken.listen()
        status, out, errors = ended(start("-m", "tests.distribution.joins", coordinator, 0, 2, 5))
    assert (status, out) == (2, "")
    assert errors.startswith(f"ConnectionError: cannot listen at {coordinator}")
    assert errors.count("\n") == 1


def test_a_process_too_many_is_turned_away_and_the_others_go_on(start, coordinator):
    arguments = ("-m", "tests.distribution.joins", coordinator)
    both = [start(*arguments, i, 2, 60, "50") for i in range(2)]
    assert both[0].stdout.readline() == "joined 0 2\n"
    status, _, errors = ended(start(*arguments, 2, 3, 60))
    assert (status, errors) == (
        2,
        f"ValueError: the run at {coordinator} expects fewer than 3 processes and has no "
        "process 2\n",
    )
    for process in both:
        assert ended(process)[0] == 0


def test_a_process_that_counts_differently_is_told(start, coordinator):
    arguments = ("-m", "tests.distribution.joins", coordinator)
    _, second = start(*arguments, 0, 2, 60, "500"), start(*arguments, 1, 3, 60, "500")
    status, _, errors = ended(second)
    assert status == 2
    assert errors == f"ValueError: the run at {coordinator} has 2 processes, got --processes 3\n"


@pytest.mark.slow
def test_two_processes_with_the_same_number_are_told(start, coordinator):
    arguments = ("-m", "tests.distribution.joins", coordinator)
    first, second = start(*arguments, 0, 2, 60, "500"), start(*arguments, 1, 2, 60, "500")
    assert second.stdout.readline() == "joined 1 2\n"
    ended(start(*arguments, 1, 2, 5))
    for process in (first, second):
        status, _, errors = ended(process)
        assert status == 2
        assert errors.startswith(f"ValueError: process 1 joined {coordinator} twice: each of 2"), (
            errors
        )


# Losing one


@pytest.mark.parametrize("lost", [0, 1])
def test_a_lost_process_ends_the_others_with_one_line(start, coordinator, lost):
    arguments = ("-m", "tests.distribution.joins", coordinator)
    both = [start(*arguments, i, 2, 60, "killed" if i == lost else "500") for i in range(2)]
    status, _, errors = ended(both[lost])
    assert status == 2
    assert errors.startswith(f"ChildProcessError: process {lost} was ended by SIGKILL")
    status, _, errors = ended(both[1 - lost])
    assert status == 2
    assert "was lost. The last finished epoch is kept" in errors
    assert "start all processes again with --resume" in errors
    assert errors.count("\n") == 1


def test_a_process_ends_with_the_one_that_watches_it(start, coordinator):
    arguments = ("-m", "tests.distribution.joins", coordinator)
    both = [start(*arguments, i, 2, 60, "500") for i in range(2)]
    assert both[0].stdout.readline() == "joined 0 2\n"
    both[0].kill()
    status, _, errors = ended(both[1])
    assert status == 2, errors
    assert errors.count("\n") == 1
    assert "was lost" in errors


def test_an_error_of_its_own_ends_a_process_with_that(start, coordinator):
    arguments = ("-m", "tests.distribution.joins", coordinator)
    first, second = start(*arguments, 0, 2, 60, "500"), start(*arguments, 1, 2, 60, "raises")
    status, _, errors = ended(second)
    assert (status, errors) == (2, "ValueError: of my own\n")
    assert "was lost" in ended(first)[2]


def test_a_fault_in_the_program_keeps_its_traceback(start, coordinator):
    arguments = ("-m", "tests.distribution.joins", coordinator)
    _, second = start(*arguments, 0, 2, 60, "500"), start(*arguments, 1, 2, 60, "crashes")
    status, _, errors = ended(second)
    assert status == 1
    assert "Traceback" in errors
    assert "RuntimeError: a fault in the program" in errors


@pytest.mark.slow
def test_a_process_that_falls_silent_is_lost_after_a_while(start, coordinator):
    arguments = ("-m", "tests.distribution.joins", coordinator)
    first, second = start(*arguments, 0, 2, 60, "500"), start(*arguments, 1, 2, 60, "stopped")
    assert second.stdout.readline() == "joined 1 2\n"
    begun = time.monotonic()
    status, _, errors = ended(first)
    assert time.monotonic() - begun < 2 * SILENCE
    assert status == 2
    assert errors.startswith("ConnectionError: process 1 was lost")


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("ValueError", ValueError),
        ("FileNotFoundError", FileNotFoundError),
        ("UnicodeDecodeError", ValueError),  # which takes more than a message
        ("NoSuchError", ValueError),
    ],
)
def test_an_error_of_another_process_is_made_again(name, made):
    error = made_again(name, "what was wrong")
    assert type(error) is made
    assert str(error) == "what was wrong"
