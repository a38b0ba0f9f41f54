"""A program as the target: it is asked, timed, ended, and its failures are told."""

from __future__ import annotations

import itertools
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from proofs.conform.program import Program, ProgramError
from proofs.conform.vector import Vector, parse
from tests.conform.lines import RIGHT, line

Make = Callable[..., Program]

VECTORS = [parse(line(fn).encode()) for fn in RIGHT]
ENGINE = Path(__file__).with_name("engine.py")


@pytest.fixture
def program(tmp_path: Path) -> Make:
    def make(text: str, timeout: float = 60.0) -> Program:
        script = tmp_path / "program with a space.py"
        script.write_text("import json, sys, time\n" + textwrap.dedent(text))
        return Program(command=f"{sys.executable} '{script}'", timeout=timeout)

    return make


def failure(program: Program, vectors: list[Vector] = VECTORS) -> str:
    with pytest.raises(ProgramError) as caught:
        list(program.answers(vectors))
    return str(caught.value)


ANSWER = 'print(json.dumps({"result": len(line)}))'


def test_the_example_engine_gives_every_right_result() -> None:
    engine = Program(command=f"{sys.executable} {ENGINE}", timeout=60)

    assert [(v.fn, got) for v, got in engine.answers(VECTORS)] == [(v.fn, v.result) for v in VECTORS]


@pytest.mark.parametrize("flush", ["sys.stdout.flush()", "pass"])
def test_a_program_may_answer_at_once(flush: str, program: Make) -> None:
    many = VECTORS * 500
    answering = program(f"for line in sys.stdin:\n    {ANSWER}\n    {flush}\n")

    found = [(v.fn, got) for v, got in answering.answers(many)]

    assert found == [(v.fn, len(v.request()) + 1) for v in many]


def test_a_program_may_answer_after_the_last_call(program: Make) -> None:
    # More than the pipes hold, in both directions.
    many = VECTORS * 2000
    answering = program(f"for line in sys.stdin.readlines():\n    {ANSWER}\n")

    assert sum(1 for _ in answering.answers(many)) == len(many)


def test_much_on_standard_error_does_not_block(program: Make) -> None:
    answering = program(f"for line in sys.stdin:\n    {ANSWER}\n    sys.stderr.write('x' * 100000)\n")

    assert sum(1 for _ in answering.answers(VECTORS)) == len(VECTORS)


def test_calls_are_taken_as_they_come_and_answers_given_on(program: Make) -> None:
    answering = program(f"for line in sys.stdin:\n    {ANSWER}\n    sys.stdout.flush()\n")

    answers = answering.answers(itertools.repeat(VECTORS[0]))

    assert next(iter(answers)) == (VECTORS[0], len(VECTORS[0].request()) + 1)


def test_a_program_that_dies_is_told_with_its_status_and_last_words(program: Make) -> None:
    told = failure(program(f"line = sys.stdin.readline()\n{ANSWER}\nsys.exit('out of rows')\n"))

    assert "ended before it had answered every call; 1 of 14 calls answered; exit status 1" in told
    assert told.endswith("its standard error ends with:\nout of rows")


def test_answers_given_before_a_death_still_count(program: Make) -> None:
    found: list[tuple[Vector, object]] = []
    dying = program("print(json.dumps({'result': 0}))\nsys.stdout.flush()\nsys.exit(3)\n")

    with pytest.raises(ProgramError, match="1 of 14 calls answered; exit status 3"):
        found.extend(dying.answers(VECTORS))
    assert len(found) == 1


def test_a_program_that_is_killed_is_told_with_the_signal(program: Make) -> None:
    assert "killed by signal 9" in failure(program("import os\nos.kill(os.getpid(), 9)\n"))


def test_a_program_that_stops_listening_is_told(program: Make) -> None:
    many = VECTORS * 2000

    assert "0 of" in failure(program("sys.stdin.close()\n"), many)


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        ("'hello'", "answer 1 is not JSON: Expecting value at character 1: 'hello'"),
        ("''", "answer 1 is not JSON"),
        ("'[1]'", """answer 1 is no object with "result": '[1]'"""),
        ("""'{"answer": 1}'""", 'answer 1 is no object with "result"'),
        ("""'{"result": NaN}'""", "answer 1 is NaN is not JSON"),
        ("""'{"result": 1, "result": 2}'""", 'answer 1 is the key "result" occurs twice'),
        ("'x' * 1000", "xx ...'"),
    ],
)
def test_an_answer_that_is_none_is_shown(printed: str, reason: str, program: Make) -> None:
    assert reason in failure(program(f"for line in sys.stdin:\n    print({printed})\n"))


def test_an_answer_too_many_is_told(program: Make) -> None:
    told = failure(program(f"for line in sys.stdin:\n    {ANSWER}\n{ANSWER}\n"))

    assert "there are more answers than calls" in told and "14 of 14 calls answered" in told


def test_a_program_that_answers_without_end_is_stopped(program: Make) -> None:
    assert "there are more answers than calls" in failure(program("while True:\n    print('{\"result\": 1}')\n"))


def test_a_bad_end_after_every_answer_is_told(program: Make) -> None:
    told = failure(program(f"for line in sys.stdin:\n    {ANSWER}\nsys.exit(5)\n"))

    assert "every call was answered, but the program did not end well" in told and "exit status 5" in told


@pytest.mark.parametrize("when", ["before", "after"])
def test_the_time_is_for_all_calls_together(when: str, program: Make) -> None:
    answers = f"for line in sys.stdin:\n    {ANSWER}\n"
    waits = "time.sleep(600)\n"
    slow = program(waits + answers if when == "before" else answers + "sys.stdout.close()\n" + waits, timeout=0.5)

    assert "still running after 0.5 s; raise --timeout" in failure(slow)


def test_what_the_program_started_ends_with_it(program: Make, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    child = f"import time; time.sleep(1.5); open({str(mark)!r}, 'w')"
    parent = f"import subprocess\nsubprocess.Popen([sys.executable, '-c', {child!r}])\ntime.sleep(600)\n"

    assert "still running" in failure(program(parent, timeout=0.5))
    time.sleep(2)
    assert not mark.exists()


def test_no_shell_reads_the_command(tmp_path: Path) -> None:
    mark = tmp_path / "mark"

    failure(Program(command=f"true; touch {mark}", timeout=10))

    assert not mark.exists()
