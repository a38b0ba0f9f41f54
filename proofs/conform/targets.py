"""What can be asked for results: the engines that `draftproof conform --target` knows, by name.

An engine takes vectors and gives each back with what it answered (UNKNOWN where it has no such function), in any order,
so that one that works in batches can group them first. A new target is one more entry of TARGETS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from proofs.conform.program import Program
from proofs.conform.vector import UNKNOWN, Vector
from proofs.replay import run
from spec.machine import Profile
from spec.sorts import Concrete

Engine = Callable[[Iterable[Vector]], Iterator[tuple[Vector, Concrete]]]
"""Asks for the results of calls, and gives each vector with the answer."""


class NoTarget(ValueError):
    """There is no such target, or it cannot do what is asked of it; the message says why and what can be done."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the user asked for: the part of the target after its colon, the command, its time, the build profile."""

    argument: str = ""
    command: str = ""
    timeout: float = 300.0
    profile: Profile = Profile.DEBUG


def engine(target: str, asked: Asked) -> Engine:
    """The engine of a target, by its name without the argument. NoTarget if there is none."""
    if target not in TARGETS:
        raise NoTarget(f"--target {target!r} is not known; take one of {', '.join(TARGETS)}")
    if asked.command and target != "command":
        raise NoTarget(f"--command is given, but --target is {target!r}; pass --target command")
    return TARGETS[target](asked)


def _one_by_one(answer: Callable[[Vector], Concrete]) -> Engine:
    return lambda vectors: ((vector, answer(vector)) for vector in vectors)


def _reference(asked: Asked) -> Engine:
    if asked.argument:
        raise NoTarget(f"--target reference:{asked.argument} has an argument; the reference takes none")
    if asked.profile is not Profile.DEBUG:
        raise NoTarget("--target reference panics on overflow, as a debug build does; pass --profile debug")
    return _one_by_one(lambda vector: run(vector.fn, vector.args))


def _command(asked: Asked) -> Engine:
    if asked.argument or not asked.command.strip():
        raise NoTarget("--target command runs the program given as --command 'PROGRAM ARGUMENTS'")
    return Program(command=asked.command, timeout=asked.timeout).answers


def _source(asked: Asked) -> Engine:
    # Reading source files takes parsers that nothing else here needs.
    from proofs.source.files import run_vector

    path = Path(asked.argument)
    if not path.is_file():
        raise NoTarget(f"--target source:{asked.argument} names no file; pass --target source:FILE")

    def answer(vector: Vector) -> Concrete:
        try:
            return run_vector(path, vector.fn, vector.args, asked.profile)
        except LookupError:
            return UNKNOWN
        except (ValueError, NotImplementedError) as error:
            raise NoTarget(f"--target source:{path} cannot run {vector.fn}: {error}") from error

    return _one_by_one(answer)


def _batched(place: str) -> Callable[[Asked], Engine]:
    """The batched implementation in one of the places where it runs."""

    def made(asked: Asked) -> Engine:
        # NumPy, a compiler or a device are wanted by nobody else.
        from proofs.gpu.conformance import engine_in

        if asked.argument:
            raise NoTarget(f"--target {place}:{asked.argument} has an argument; {place} takes none")
        if asked.profile is not Profile.DEBUG:
            raise NoTarget(f"--target {place} tells an overflow, as a debug build does; pass --profile debug")
        try:
            return engine_in(place)
        except ValueError as error:
            raise NoTarget(f"--target {place} cannot run here: {error}") from None

    return made


TARGETS: Mapping[str, Callable[[Asked], Engine]] = {
    "reference": _reference,
    "numpy": _batched("numpy"),
    "kernels": _batched("kernels"),
    "cupy": _batched("cupy"),
    "command": _command,
    "source": _source,
}
"""By name, what makes the engine. It raises NoTarget where it cannot."""
