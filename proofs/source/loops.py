"""Loops: run turn by turn where that ends, else told by the least turn at which they do not go on.

In turn k of a loop of unknown length every variable must be `start + c * k`, or a sequence to which each turn appends as many
elements. Executing the turn for any k gives the condition C(k) under which it goes on like that. Then some turn stops: the
least k with not C(k). That it exists is proved, not assumed (C(k) fails for all k from some length or argument on); the code
then runs turn k once more, and whatever it does there (break, return, panic, go on otherwise) is what the loop does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

import z3

from proofs.source.paths import Endless, Impossible, NotUnderstood, Path
from proofs.source.terms import Term, add, both, cond, either, eq, every_index, le, lt, mul, negated, sub, term
from proofs.source.values import Int, Rec, Seq, Stream, Tup, Unmergeable, Value, substituted, terms_in

if TYPE_CHECKING:
    from proofs.source.executor import Executor

Turn = Callable[[], bool]
Scopes = list[dict[str, Value]]

_RESTARTS = 4

_SUSPICIOUS = 48
"""A loop that took so many turns on short sequences may have no end."""


class Unsteady(Exception):
    """A variable does not change by a constant in each turn."""


def repeat(run: Executor, turn: Turn) -> None:
    """Runs turns until one says that it was the last, or leaves."""
    if not run.unbounded or _length_known(run):
        turns = 0
        while turn():
            run.spend()
            turns += 1
            if turns == _SUSPICIOUS and _goes_on_for_ever(run, turn):
                raise Endless(run.line)
        return
    for _ in range(_RESTARTS):
        if not _steady_part(run, turn):
            return
    raise run.fail("a loop that keeps changing its course")


def _goes_on_for_ever(run: Executor, turn: Turn) -> bool:
    """Every further turn goes on like the next, whatever was appended before it."""
    start = run.snapshot()
    first = _turns(run, turn, start)
    if len(first) != 1 or not _goes_on(first[0]):
        return False
    try:
        k, steady = _condition(run, turn, start, _growth(run, start, first[0].state))
    except (Unsteady, NotUnderstood):
        return False
    return steady is True or not run.feasible(cond(le(0, k)), cond(negated(steady)))


def _length_known(run: Executor) -> bool:
    """The innermost stream, if it drives this loop, has a known number of elements left."""
    streams = [v for k, v in run.scopes[-1].items() if k.startswith("#") and isinstance(v, Stream)]
    if len(streams) != 1:
        return False
    (stream,) = streams
    return stream.source.indexed and isinstance(stream.source.remaining(stream.state), int)


def _steady_part(run: Executor, turn: Turn) -> bool:
    """Runs the loop up to the turn that does not go on as all before it, and that turn. False if it was the last."""
    start = run.snapshot()
    first = _turns(run, turn, start)
    last_problem = "a loop that is not understood"
    if not any(_goes_on(path) for path in first):
        return turn()
    for path in first:
        if not _goes_on(path):
            continue
        try:
            growth = _growth(run, start, path.state)
            k, steady = _condition(run, turn, start, growth)
        except Unsteady as unsteady:
            last_problem = f"a loop whose {unsteady} does not change steadily"
            continue
        if steady is False:
            continue
        end = _end(run, start, k, steady)
        if end is None:
            last_problem = "a loop that is not shown to end"
            continue
        return _stop(run, turn, start, growth, k, steady, end)
    raise run.fail(last_problem)


def _turns(run: Executor, turn: Turn, start: Scopes) -> list[Path]:
    floor, line = run.floor, run.line

    def once() -> Value:
        run.restore(start)
        run.floor, run.line = floor, line
        return Tup((_TRUE if turn() else _FALSE,))

    try:
        return run.explore(_caught(once), run.snapshot)
    finally:
        run.restore(start)


_TRUE, _FALSE = Tup(), Tup((Tup(),))


def _caught(once: Callable[[], Value]) -> Callable[[], Value]:
    """What a turn that leaves the loop gives: it does not go on."""
    from proofs.source.executor import Breaking, Continuing, Returning

    def run() -> Value:
        try:
            return once()
        except (Breaking, Returning, Continuing):
            return Tup((_FALSE,))

    return run


def _goes_on(path: Path) -> bool:
    return isinstance(path.end, Tup) and path.end.items[0] is _TRUE


# How a value grows from turn to turn


class _Grown:
    """A sequence after k turns, each of which appends as many elements."""

    def __init__(self, seq: Seq, tail: tuple[Value, ...]) -> None:
        self.seq = seq
        self.size = len(tail)


def _growth(run: Executor, start: Scopes, after: Scopes) -> Any:
    if len(start) != len(after) or any(not s.keys() <= a.keys() for s, a in zip(start, after, strict=True)):
        raise Unsteady("scope")
    # A variable first set in a turn is unset before it: it is no part of the state, and reading it is not understood.
    return [{name: _change(value, after[i][name], name) for name, value in s.items()} for i, s in enumerate(start)]


def _change(old: Any, new: Any, name: str) -> Any:
    """None if nothing changes, else by how much (nested as the value is)."""
    if old is new or (isinstance(old, Value) and not isinstance(old, (Int, Stream, Tup, Rec, Seq)) and _alike(old, new)):
        return None
    match old, new:
        case Int(), Int():
            return _change(old.term, new.term, name)
        case ((int() | z3.ArithRef()), (int() | z3.ArithRef())) if not isinstance(old, bool) and not isinstance(new, bool):
            by = sub(new, old)
            if not isinstance(by, int):
                raise Unsteady(name)
            return by or None
        case bool(), bool() if old == new:
            return None
        case Stream(), Stream() if old.source is new.source or old.source == new.source:
            return _change(old.state, new.state, name)
        case Tup(), Tup() if len(old.items) == len(new.items):
            return _changes(old.items, new.items, name)
        case tuple(), tuple() if len(old) == len(new):
            return _changes(old, new, name)
        case Rec(), Rec() if old.type == new.type:
            keys = list(old.fields)
            return _changes([old.fields[k] for k in keys], [new.fields[k] for k in keys], name)
        case Seq(), Seq():
            tail = _appended(old, new)
            if tail is None:
                raise Unsteady(name)
            return len(tail) or None
    raise Unsteady(name)


def _changes(old: Iterable[Any], new: Iterable[Any], name: str) -> Any:
    parts = [_change(a, b, name) for a, b in zip(old, new, strict=True)]
    return parts if any(part is not None for part in parts) else None


def _alike(old: Any, new: Any) -> bool:
    try:
        return bool(old == new)
    except z3.Z3Exception:
        return False


def _appended(old: Seq, new: Seq) -> tuple[Value, ...] | None:
    if old is new:
        return ()
    if old.items is not None and new.items is not None:
        same = len(new.items) >= len(old.items) and all(a is b for a, b in zip(old.items, new.items, strict=False))
        return new.items[len(old.items) :] if same else None
    if new.grown is not None:
        base, tail = new.grown
        if base is old:
            return tail
        if old.grown is not None and old.grown[0] is base and tail[: len(old.grown[1])] == old.grown[1]:
            return tail[len(old.grown[1]) :]
    return None


def _at(value: Any, by: Any, k: Term, marks: dict[int, Seq]) -> Any:
    """The value after k turns."""
    if by is None:
        return value
    match value:
        case Int():
            return Int(_at(value.term, by, k, marks), value.of)
        case int() | z3.ArithRef():
            return add(value, mul(by, k))
        case Stream():
            return Stream(value.source, _at(value.state, by, k, marks))
        case Tup():
            return Tup(tuple(_at(v, b, k, marks) for v, b in zip(value.items, by, strict=True)))
        case tuple():
            return tuple(_at(v, b, k, marks) for v, b in zip(value, by, strict=True))
        case Rec():
            names = list(value.fields)
            fields = {n: _at(value.fields[n], b, k, marks) for n, b in zip(names, by, strict=True)}
            return Rec(value.type, fields)
        case Seq():
            mark = Seq(length=add(value.length, mul(by, k)))
            marks[id(value)] = mark
            return mark
    raise Unsteady("value")


def _scopes_at(start: Scopes, growth: Any, k: Term, marks: dict[int, Seq]) -> Scopes:
    return [{name: _at(value, growth[i][name], k, marks) for name, value in s.items()} for i, s in enumerate(start)]


_CHUNKS = "#chunks"


def _condition(run: Executor, turn: Turn, start: Scopes, growth: Any) -> tuple[z3.ArithRef, Any]:
    """For any k, when turn k goes on like all before it; also keeps what it appends (in `growth`)."""
    k = z3.Int(run.fresh("turn"))
    marks: dict[int, Seq] = {}
    scopes = _scopes_at(start, growth, k, marks)
    following = _scopes_at(start, growth, add(k, 1), {})
    floor, line = run.floor, run.line

    def once() -> Value:
        run.restore(scopes)
        run.floor, run.line = floor, line
        run.assume(le(0, k))
        goes_on = turn()
        if goes_on and not _conforms(run, scopes, following, growth, run.scopes):
            goes_on = False
        return Tup((_TRUE if goes_on else _FALSE,))

    try:
        paths = run.explore(_caught(once), run.snapshot)
    finally:
        run.restore(start)
    going = [path for path in paths if _goes_on(path)]
    if any(path.sortings for path in going):
        raise Unsteady("order")
    steady = either(*[both(*path.conditions) for path in going])
    if isinstance(steady, z3.ExprRef) and run.strangers([steady], k):
        raise Unsteady("condition")
    chunks: dict[str, list[tuple[Any, tuple[Value, ...]]]] = {}
    for path in going:
        for i, scope in enumerate(scopes):
            for name, value in scope.items():
                if isinstance(value, Seq) and growth[i][name] is not None:
                    tail = _appended(value, path.state[i][name])
                    if tail is None:
                        raise Unsteady(name)
                    if run.strangers(terms_in(tail), k):
                        raise Unsteady(name)
                    chunks.setdefault(f"{i}.{name}", []).append((both(*path.conditions), tail))
    growth.append({_CHUNKS: (k, {key: _one_chunk(run, found) for key, found in chunks.items()})})
    return k, steady


def _one_chunk(run: Executor, found: list[tuple[Any, tuple[Value, ...]]]) -> tuple[Value, ...]:
    from proofs.source.values import merged

    chunk = found[-1][1]
    for condition, tail in reversed(found[:-1]):
        try:
            chunk = tuple(merged(condition, a, b) for a, b in zip(tail, chunk, strict=True))
        except Unmergeable as unmergeable:
            raise run.fail("appended elements of different form") from unmergeable
    return chunk


def _conforms(run: Executor, now: Scopes, following: Scopes, growth: Any, after: Scopes) -> bool:
    """The variables after turn k are what they must be before turn k + 1."""
    if len(now) != len(after) or any(not s.keys() <= a.keys() for s, a in zip(now, after, strict=True)):
        return False
    for i, scope in enumerate(now):
        for name, value in scope.items():
            by = growth[i][name]
            if not _conforming(run, value, following[i][name], by, after[i][name]):
                return False
    return True


def _conforming(run: Executor, now: Any, expected: Any, by: Any, got: Any) -> bool:
    if isinstance(now, Seq):
        tail = _appended(now, got) if isinstance(got, Seq) else None
        return tail is not None and len(tail) == (by or 0)
    match expected, got:
        case Int(), Int():
            return run.certain(eq(expected.term, got.term))
        case ((int() | z3.ArithRef()), (int() | z3.ArithRef())) if not isinstance(expected, bool):
            return run.certain(eq(expected, got))
        case Stream(), Stream() if expected.source is got.source or expected.source == got.source:
            return _conforming(run, now.state, expected.state, by, got.state)
        case Tup(), Tup() if len(expected.items) == len(got.items):
            return _all_conform(run, now.items, expected.items, by, got.items)
        case tuple(), tuple() if len(expected) == len(got):
            return _all_conform(run, now, expected, by, got)
        case Rec(), Rec() if expected.type == got.type:
            names = list(expected.fields)
            pick = [[part.fields[n] for n in names] for part in (now, expected, got)]
            return _all_conform(run, pick[0], pick[1], by, pick[2])
    return expected is got or _alike(expected, got)


def _all_conform(run: Executor, now: Any, expected: Any, by: Any, got: Any) -> bool:
    sizes = by if by is not None else [None] * len(now)
    return all(_conforming(run, n, e, b, g) for n, e, b, g in zip(now, expected, sizes, got, strict=True))


def _end(run: Executor, start: Scopes, k: z3.ArithRef, steady: Any) -> Term | None:
    """A number from which on no turn goes on, proved to be one; None if none is found."""
    if isinstance(steady, bool):
        return None
    candidates: dict[str, Term] = {}
    for scope in start:
        for value in scope.values():
            for found in _numbers(value):
                candidates.setdefault(str(found), found)
    for candidate in candidates.values():
        if not run.feasible(cond(le(0, k)), cond(le(candidate, k)), steady):
            return candidate
    return None


def _numbers(value: Any) -> Iterable[Term]:
    """Lengths and integers in a value that may bound a loop."""
    match value:
        case Int():
            yield value.term
        case Seq():
            yield value.length
        case Stream() if value.source.indexed:
            yield value.source.remaining(value.state)
        case Stream():
            for source, state in value.source.inner(value.state):
                if source.indexed:
                    yield source.remaining(state)
        case Tup():
            for item in value.items:
                yield from _numbers(item)
        case Rec():
            for item in value.fields.values():
                yield from _numbers(item)


def _stop(run: Executor, turn: Turn, start: Scopes, growth: Any, k: z3.ArithRef, steady: Any, end: Term) -> bool:
    """Goes to the first turn that does not go on, and runs it. False if the loop ends there."""
    stop = z3.Int(run.fresh("stop"))

    def goes_on(t: Term) -> z3.BoolRef:
        return cast(z3.BoolRef, z3.substitute(steady, (k, term(t))))

    run.assume(le(0, stop))
    run.assume(every_index(run.fresh("t"), 0, stop, goes_on))
    run.assume(z3.Implies(stop > 0, goes_on(stop - 1)))
    run.assume(negated(goes_on(stop)))
    run.assume(either(le(stop, end), eq(stop, 0)))
    marks: dict[int, Seq] = {}
    scopes = _scopes_at(start, growth, stop, marks)
    index, chunks = growth[-1][_CHUNKS]
    for i, scope in enumerate(scopes):
        for name, value in scope.items():
            chunk = chunks.get(f"{i}.{name}")
            if chunk is not None and isinstance(value, Seq):
                old = start[i][name]
                if isinstance(old, Seq):
                    scope[name] = _with_chunks(run, old, value.length, chunk, index)
    run.restore(scopes)
    following = _scopes_at(start, growth, add(stop, 1), {})
    if not turn():
        return False
    if _conforms(run, scopes, following, growth, run.scopes):
        raise Impossible
    return True


def _with_chunks(run: Executor, old: Seq, length: Term, chunk: tuple[Value, ...], k: z3.ArithRef) -> Seq:
    """A sequence, then a chunk for each turn: element c*t + j after the old ones is element j of turn t."""
    size = len(chunk)

    def at(index: Term) -> Value:
        from proofs.source.terms import floor_div, modulo
        from proofs.source.values import merged

        after = sub(index, old.length)
        t, j = floor_div(after, size), modulo(after, size)
        value = substituted(chunk[-1], k, t)
        for position in range(size - 2, -1, -1):
            value = merged(eq(j, position), substituted(chunk[position], k, t), value)
        if isinstance(old.length, int) and old.length == 0:
            return value
        return merged(lt(index, old.length), run.element(old, index), value)

    return Seq(length=length, at=at)
