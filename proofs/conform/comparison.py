"""Vector files against an engine: what was compared, where they differ, and which lines are no vectors.

A line that is no vector does not keep the others from being compared, but the whole is then bad input. Skipped, and
counted, is an overflow whose wrapped result a vector does not tell where a release build is asked, and a call of a
function that the engine does not have.
"""

from __future__ import annotations

import gzip
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from proofs.conform.shapes import Misfit
from proofs.conform.targets import Engine
from proofs.conform.vector import UNKNOWN, Vector, identical, parse
from proofs.exits import Exit
from spec.machine import Profile
from spec.sorts import Concrete

STANDARD_INPUT = "-"


@dataclass(frozen=True, kw_only=True)
class Mismatch:
    """A call on which the engine gave something else than the vector tells."""

    vector: Vector
    expected: Concrete
    got: Concrete


@dataclass(frozen=True, kw_only=True)
class BadLine:
    """A line, or a whole file (line 0), that could not be read as vectors."""

    file: str
    line: int
    reason: str


@dataclass(kw_only=True)
class Comparison:
    """The tally of one run; of mismatches and bad lines the first `shown` are kept."""

    shown: int
    compared: Counter[str] = field(default_factory=Counter)
    differing: Counter[str] = field(default_factory=Counter)
    skipped: int = 0
    absent: set[str] = field(default_factory=set)
    """The functions that the engine does not have."""
    malformed: int = 0
    mismatches: list[Mismatch] = field(default_factory=list)
    bad_lines: list[BadLine] = field(default_factory=list)
    failure: str = ""
    """Why the engine could not answer to the end; empty if it did."""

    def note_bad(self, bad: BadLine) -> None:
        """Counts a line that is no vector."""
        self.malformed += 1
        if len(self.bad_lines) < self.shown:
            self.bad_lines.append(bad)

    def note(self, vector: Vector, got: Concrete, profile: Profile) -> None:
        """Compares one answer."""
        if got is UNKNOWN:
            self.skipped += 1
            self.absent.add(vector.fn)
            return
        expected = vector.expected(profile)
        self.compared[vector.fn] += 1
        if not identical(expected, got):
            self.differing[vector.fn] += 1
            if len(self.mismatches) < self.shown:
                self.mismatches.append(Mismatch(vector=vector, expected=expected, got=got))

    @property
    def exit(self) -> Exit:
        """OK if something was compared and all agreed; a mismatch is WRONG; bad input, or an engine that failed, USAGE."""
        if self.malformed or self.failure or not self.compared:
            return Exit.USAGE
        return Exit.WRONG if self.differing else Exit.OK


def vector_files(names: Iterable[str]) -> list[str]:
    """The files meant by the names: a folder stands for the vector files in it."""
    found: list[str] = []
    for name in names:
        if name != STANDARD_INPUT and Path(name).is_dir():
            found += sorted(str(path) for end in ("*.jsonl", "*.jsonl.gz") for path in Path(name).glob(end))
        else:
            found.append(name)
    return found


def read(names: Iterable[str], bad: Callable[[BadLine], None]) -> Iterator[Vector]:
    """The vectors of the files; what is none goes to `bad`. Empty lines are passed over."""
    for name in names:
        number = 0
        try:
            with _opened(name) as stream:
                for number, line in enumerate(stream, start=1):
                    if line.isspace():
                        continue
                    try:
                        yield parse(line, file=name, number=number)
                    except Misfit as misfit:
                        bad(BadLine(file=name, line=number, reason=str(misfit)))
        except (OSError, EOFError, zlib.error) as error:
            bad(BadLine(file=name, line=number, reason=f"cannot be read on: {error}"))


def _opened(name: str) -> AbstractContextManager[Iterable[bytes]]:
    if name == STANDARD_INPUT:
        return nullcontext(sys.stdin.buffer)
    return gzip.open(name) if name.endswith(".gz") else open(name, "rb")


def compare(vectors: Iterable[Vector], engine: Engine, tally: Comparison, profile: Profile, step: Callable[[int], None]) -> None:
    """Asks the engine for every vector and notes what it answers; `step` hears how many were compared."""

    def comparable() -> Iterator[Vector]:
        for vector in vectors:
            if vector.expected(profile) is UNKNOWN:
                tally.skipped += 1
            else:
                yield vector

    for count, (vector, got) in enumerate(engine(comparable()), start=1):
        tally.note(vector, got, profile)
        if count % 1000 == 0:
            step(count)
