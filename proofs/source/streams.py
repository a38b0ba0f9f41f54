"""Iterators: sequences, ranges and what adapters make of them, pulled one element at a time in the order of the language.

Adapters run their closures when an element is pulled, not before: what an early end leaves out is never evaluated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from proofs.source.paths import NotUnderstood
from proofs.source.terms import Term, add, le, lt, pick, sub
from proofs.source.values import Cell, Int, IntType, Seq, Stream, StreamSource, Truth, Tup, Value


@dataclass(frozen=True)
class Indexed(StreamSource):
    """A source whose elements can be had by index. The state says how many are gone."""

    indexed = True

    def pull(self, run: Any, state: Any) -> tuple[Value | None, Any]:
        if not run.decide(lt(0, self.remaining(state))):
            return None, state
        return self.peek(run, state, 0), self.advance(state, 1)

    def advance(self, state: Any, by: Term) -> Any:
        return add(state, by)


@dataclass(frozen=True)
class OfSeq(Indexed):
    """The elements of a sequence."""

    seq: Seq

    def remaining(self, state: Any) -> Term:
        return sub(self.seq.length, state)

    def peek(self, run: Any, state: Any, ahead: Term) -> Value:
        element: Value = run.element(self.seq, add(state, ahead))
        return element


@dataclass(frozen=True)
class OfSpan(Indexed):
    """The integers from `low` up to, not including, `high`."""

    low: Term
    high: Term
    of: IntType | Cell
    step: int = 1

    def remaining(self, state: Any) -> Term:
        size = sub(self.high, self.low) if self.step == 1 else sub(self.low, self.high)
        return sub(pick(lt(0, size), size, 0), state)

    def peek(self, run: Any, state: Any, ahead: Term) -> Value:
        gone = add(state, ahead)
        return Int(add(self.low, gone) if self.step == 1 else sub(self.low, gone), self.of)


@dataclass(frozen=True)
class Zipped(Indexed):
    """Two streams side by side, as long as the shorter."""

    left: StreamSource
    right: StreamSource

    def remaining(self, state: Any) -> Term:
        left, right = self.left.remaining(state[0]), self.right.remaining(state[1])
        return pick(le(left, right), left, right)

    def peek(self, run: Any, state: Any, ahead: Term) -> Value:
        return Tup((self.left.peek(run, state[0], ahead), self.right.peek(run, state[1], ahead)))

    def advance(self, state: Any, by: Term) -> Any:
        return (self.left.advance(state[0], by), self.right.advance(state[1], by))


@dataclass(frozen=True)
class Enumerated(StreamSource):
    """Elements with their numbers from `first` on; the state is (number, inner state)."""

    source: StreamSource
    of: IntType | Cell
    first: Term = 0

    @property
    def indexed(self) -> bool:  # type: ignore[override]
        return self.source.indexed

    def pull(self, run: Any, state: Any) -> tuple[Value | None, Any]:
        value, inner = self.source.pull(run, state[1])
        if value is None:
            return None, state
        return Tup((Int(add(self.first, state[0]), self.of), value)), (add(state[0], 1), inner)

    def remaining(self, state: Any) -> Term:
        return self.source.remaining(state[1])

    def peek(self, run: Any, state: Any, ahead: Term) -> Value:
        number = Int(add(self.first, add(state[0], ahead)), self.of)
        return Tup((number, self.source.peek(run, state[1], ahead)))

    def advance(self, state: Any, by: Term) -> Any:
        return (add(state[0], by), self.source.advance(state[1], by))


@dataclass(frozen=True)
class Mapped(StreamSource):
    """What a function makes of each element."""

    source: StreamSource
    function: Value

    @property
    def indexed(self) -> bool:  # type: ignore[override]
        return self.source.indexed

    def pull(self, run: Any, state: Any) -> tuple[Value | None, Any]:
        value, inner = self.source.pull(run, state)
        return (None if value is None else run.apply(self.function, (value,))), inner

    def remaining(self, state: Any) -> Term:
        return self.source.remaining(state)

    def peek(self, run: Any, state: Any, ahead: Term) -> Value:
        made: Value = run.apply(self.function, (self.source.peek(run, state, ahead),))
        return made

    def advance(self, state: Any, by: Term) -> Any:
        return self.source.advance(state, by)


@dataclass(frozen=True)
class Reversed(Indexed):
    """The elements from the last to the first; the state is (inner state, how many are gone)."""

    source: StreamSource

    def remaining(self, state: Any) -> Term:
        return sub(self.source.remaining(state[0]), state[1])

    def peek(self, run: Any, state: Any, ahead: Term) -> Value:
        return self.source.peek(run, state[0], sub(sub(self.remaining(state), 1), ahead))

    def advance(self, state: Any, by: Term) -> Any:
        return (state[0], add(state[1], by))


@dataclass(frozen=True)
class Taken(Indexed):
    """At most so many elements; the state is (inner state, how many may still come)."""

    source: StreamSource

    def remaining(self, state: Any) -> Term:
        inner = self.source.remaining(state[0])
        return pick(le(inner, state[1]), inner, state[1])

    def peek(self, run: Any, state: Any, ahead: Term) -> Value:
        return self.source.peek(run, state[0], ahead)

    def advance(self, state: Any, by: Term) -> Any:
        return (self.source.advance(state[0], by), sub(state[1], by))


@dataclass(frozen=True)
class Windows(Indexed):
    """All runs of `size` neighbours of a sequence."""

    seq: Seq
    size: int

    def remaining(self, state: Any) -> Term:
        runs = sub(self.seq.length, self.size - 1)
        return sub(pick(lt(0, runs), runs, 0), state)

    def peek(self, run: Any, state: Any, ahead: Term) -> Value:
        first = add(state, ahead)
        return Seq(self.size, tuple(run.element(self.seq, add(first, i)) for i in range(self.size)))


@dataclass(frozen=True)
class TakenWhile(StreamSource):
    """Elements up to the first that the predicate refuses. The state is (ended, inner state)."""

    source: StreamSource
    predicate: Value

    def inner(self, state: Any) -> tuple[tuple[StreamSource, Any], ...]:
        return ((self.source, state[1]),)

    def pull(self, run: Any, state: Any) -> tuple[Value | None, Any]:
        if state[0]:
            return None, state
        value, inner = self.source.pull(run, state[1])
        if value is None:
            return None, (False, inner)
        if run.decide(run.truth(run.apply(self.predicate, (value,)))):
            return value, (False, inner)
        return None, (True, inner)


@dataclass(frozen=True)
class Filtered(StreamSource):
    """The elements that the predicate accepts; with `maps`, what it makes of them where that is something."""

    source: StreamSource
    predicate: Value
    maps: bool = False

    def inner(self, state: Any) -> tuple[tuple[StreamSource, Any], ...]:
        return ((self.source, state),)

    def pull(self, run: Any, state: Any) -> tuple[Value | None, Any]:
        def accepted(value: Value) -> Value | None:
            answer = run.apply(self.predicate, (value,))
            if self.maps:
                made: Value | None = run.option(answer).value
                return made if run.decide(run.option(answer).present) else None
            return value if run.decide(run.truth(answer)) else None

        found: tuple[Value | None, Any] = run.seek(self.source, state, accepted)
        return found


@dataclass(frozen=True)
class Chained(StreamSource):
    """One stream, then another; the state is (first ended, its state, the other's)."""

    first: StreamSource
    second: StreamSource

    def inner(self, state: Any) -> tuple[tuple[StreamSource, Any], ...]:
        return ((self.first, state[1]), (self.second, state[2]))

    def pull(self, run: Any, state: Any) -> tuple[Value | None, Any]:
        if not state[0]:
            value, inner = self.first.pull(run, state[1])
            if value is not None:
                return value, (False, inner, state[2])
        value, inner = self.second.pull(run, state[2])
        return value, (True, state[1], inner)


@dataclass(frozen=True)
class Comprehended(StreamSource):
    """Python's generator expression."""

    source: StreamSource
    visit: Any
    """Runs the conditions and the body in the scopes of the expression: a value, or None where a condition fails."""
    conditional: bool

    def inner(self, state: Any) -> tuple[tuple[StreamSource, Any], ...]:
        return ((self.source, state),)

    @property
    def indexed(self) -> bool:  # type: ignore[override]
        return self.source.indexed and not self.conditional

    def pull(self, run: Any, state: Any) -> tuple[Value | None, Any]:
        if self.conditional:
            found: tuple[Value | None, Any] = run.seek(self.source, state, lambda value: self.visit(run, value))
            return found
        value, state = self.source.pull(run, state)
        return (None if value is None else self.visit(run, value)), state

    def remaining(self, state: Any) -> Term:
        return self.source.remaining(state)

    def peek(self, run: Any, state: Any, ahead: Term) -> Value:
        made: Value = self.visit(run, self.source.peek(run, state, ahead))
        return made

    def advance(self, state: Any, by: Term) -> Any:
        return self.source.advance(state, by)


def calls_back(source: StreamSource) -> bool:
    """Pulling an element runs code of the file, which may panic."""
    if isinstance(source, (Mapped, TakenWhile, Filtered, Comprehended)):
        return True
    return any(calls_back(part) for part in vars(source).values() if isinstance(part, StreamSource))


def over(seq: Seq) -> Stream:
    """The elements of a sequence."""
    return Stream(OfSeq(seq), 0)


def zipped(left: Stream, right: Stream, line: int) -> Stream:
    """Two streams side by side."""
    if not (left.source.indexed and right.source.indexed):
        raise NotUnderstood("zip of streams of unknown length", line)
    if calls_back(left.source):
        # Rust may or may not run the left closure once more than there are pairs.
        raise NotUnderstood("zip of a mapped stream", line)
    return Stream(Zipped(left.source, right.source), (left.state, right.state))


def left_over(stream: Stream) -> Term:
    """How many elements are left of an indexed stream."""
    return stream.source.remaining(stream.state)


TRUE = Truth(True)
