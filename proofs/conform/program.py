"""A program as an engine: calls go to its standard input, a JSON object a line, and a line of its output answers each.

`{"fn": ..., "args": ...}` asks and `{"result": ...}` answers, in order. The program may answer at once or after the
last call: its output is read while calls are written, so neither waits for the other. It has one time limit for
everything, runs without a shell and in a session of its own, and is ended where it does not end.
"""

from __future__ import annotations

import os
import queue
import shlex
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import IO

from proofs.conform.shapes import Misfit
from proofs.conform.vector import Vector, loads
from spec.sorts import Concrete

_SHOWN = 200
"""As many bytes of a strange answer are shown."""
_KEPT = 20
"""As many last lines of the program's standard error are shown."""


class ProgramError(RuntimeError):
    """The program could not be started, died, or did not answer as it should; the message says which and where."""


@dataclass(frozen=True, kw_only=True)
class Program:
    """A program and the seconds that it has for all calls together."""

    command: str
    timeout: float

    def answers(self, vectors: Iterable[Vector]) -> Iterator[tuple[Vector, Concrete]]:
        """Each vector with what the program answered. ProgramError where it fails; it is ended in any case."""
        run = _Run(self._start(), self.timeout)
        try:
            yield from run.pairs(vectors)
        finally:
            run.end()

    def _start(self) -> subprocess.Popen[bytes]:
        try:
            words = shlex.split(self.command)
            return subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
            )
        except (OSError, ValueError, IndexError) as error:
            raise ProgramError(f"--command {self.command!r} cannot be started: {error}") from None


@dataclass
class _Run:
    """One run of the program, with the threads that read what it writes."""

    process: subprocess.Popen[bytes]
    timeout: float
    lines: queue.SimpleQueue[bytes | None] = field(default_factory=queue.SimpleQueue)
    """Lines of the program's output; None where it ended."""
    complaints: deque[bytes] = field(default_factory=lambda: deque(maxlen=_KEPT))
    late: bool = False
    too_many: bytes = b""
    """The first answer to no call, if there was one."""
    asked: int = 0
    answered: int = 0

    def __post_init__(self) -> None:
        assert self.process.stdin and self.process.stdout and self.process.stderr
        self.stdin: IO[bytes] = self.process.stdin
        self.threads = [
            threading.Thread(target=self._collect, args=(self.process.stdout,), daemon=True),
            threading.Thread(target=self.complaints.extend, args=(self.process.stderr,), daemon=True),
        ]
        self.timer = threading.Timer(self.timeout, self._expire)
        self.timer.daemon = True
        for thread in (*self.threads, self.timer):
            thread.start()

    def _collect(self, answers: IO[bytes]) -> None:
        for count, line in enumerate(answers, start=1):
            # A program that never stops would fill the memory.
            if count > self.asked:
                self.too_many = line
                self._kill()
                break
            self.lines.put(line)
        self.lines.put(None)

    def _expire(self) -> None:
        self.late = True
        self._kill()
        # Something that left the session may hold the output open for ever.
        self.lines.put(None)

    def _kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)

    def pairs(self, vectors: Iterable[Vector]) -> Iterator[tuple[Vector, Concrete]]:
        waiting: deque[Vector] = deque()
        listening = True
        for vector in vectors:
            listening = self._ask(vector.request().encode() + b"\n")
            waiting.append(vector)
            if not listening:
                break
            while waiting and not self.lines.empty():
                yield waiting.popleft(), self._answer()
        if listening:
            self._finish_asking()
        while waiting:
            yield waiting.popleft(), self._answer()
        self._expect_the_end()

    def _ask(self, line: bytes) -> bool:
        """False if the program listens no more; it may still have answered what it was asked before."""
        self.asked += 1
        try:
            self.stdin.write(line)
        except BrokenPipeError:
            return False
        return True

    def _finish_asking(self) -> None:
        try:
            self.stdin.close()
        except BrokenPipeError:
            return

    def _answer(self) -> Concrete:
        line = self.lines.get()
        if line is None:
            raise self._failure("the program ended before it had answered every call")
        self.answered += 1
        try:
            answer = loads(line)
        except Misfit as misfit:
            raise self._failure(f"answer {self.answered} is {misfit}: {_shown(line)}") from None
        if type(answer) is not dict or "result" not in answer:
            raise self._failure(f'answer {self.answered} is no object with "result": {_shown(line)}')
        return answer["result"]

    def _expect_the_end(self) -> None:
        self.lines.get()
        if self.process.wait() != 0 or self.late or self.too_many:
            raise self._failure("every call was answered, but the program did not end well")

    def _failure(self, what: str) -> ProgramError:
        """What went wrong, how far the program had come, how it ended and what it complained of."""
        if self.late:
            what = f"the program was still running after {self.timeout:g} s; raise --timeout if it needs longer"
        if self.too_many:
            what = f"there are more answers than calls; the first too many is {_shown(self.too_many)}"
        told = [what, f"{self.answered} of {self.asked} calls answered"]
        status = None if self.late or self.too_many else self._status()
        if status is not None:
            told.append(f"killed by signal {-status}" if status < 0 else f"exit status {status}")
        self.end()
        complaint = b"".join(self.complaints).decode(errors="replace").strip()
        return ProgramError("; ".join(told) + (f"; its standard error ends with:\n{complaint}" if complaint else ""))

    def _status(self) -> int | None:
        """How the program ended; None while it runs."""
        try:
            # Its output may end a moment before it does.
            return self.process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return None

    def end(self) -> None:
        """Ends the program and what reads from it; a second time does nothing."""
        self.timer.cancel()
        self._kill()
        self.process.wait()
        for thread in self.threads:
            thread.join(timeout=1)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            # Closing flushes what the dead program will not read.
            try:
                stream.close()  # type: ignore[union-attr]
            except BrokenPipeError:
                continue


def _shown(line: bytes) -> str:
    text = line[:_SHOWN].decode(errors="replace").strip()
    return repr(text + (" ..." if len(line) > _SHOWN else ""))
