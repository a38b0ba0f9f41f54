"""The carry as a whole: a state, and the actions that change it.

Models DESIGN 1a around the rules, which enter through the table of `spec.rules` and are never told again here. Sequences, block
tables, rows, positions and blocks are identities without bound. Where a drafter row or a hidden row came from is a ghost, told
by identity; no action reads one. A *holder* of drafter rows is a live sequence or, while it has an entry, the carry slot.
Leaves out: the values in the rows, how many rows a block takes, and the graph cache (`spec.system_graphs`). What holds in every
state that the actions can reach stands in `spec.system_laws`; the twin in plain Python is `proofs.traces.machine`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import z3

from spec.machine import SIZE
from spec.rules import RULES
from spec.scope import bound, every, within
from spec.sorts import USIZE, Maybe, Record, Seq, Sort
from spec.store import inside, interval

Num: TypeAlias = z3.ArithRef
Truth: TypeAlias = z3.BoolRef

SLOT = 0
"""The carry slot among the holders; sequences are 1, 2, 3, ..."""

NOBODY = -1
"""The identity of no one: who made a row for a guessed token, or wrote what lies in fresh memory."""

# ---- what never changes in a run ------------------------------------------------------------------------------------------


def _integers(name: str, *arguments: Num | int) -> Num:
    return z3.Function(name, *[z3.IntSort()] * (len(arguments) + 1))(*arguments)


def session(s: Num) -> Num:
    """The identity of the session that sequence s belongs to."""
    return _integers("session", s)


def hash_of(session_identity: Num) -> Num:
    """The hash by which the engine knows a session; 0 where it knows none."""
    return _integers("hash_of", session_identity)


def token(s: Num, i: Any) -> Num:
    """Token i of sequence s. Tokens never change once they are there, so the whole stream is fixed; `length` says how far."""
    return _integers("token", s, i)


def hidden(s: Num, k: Any) -> Num:
    """What the hidden state of sequence s at position k is."""
    return _integers("hidden", s, k)


def tokens_decide(one: Num, other: Num, k: Num) -> Truth:
    """Where two sequences agree in the tokens through position k, their hidden states there are the same (A3)."""
    agree = every("i", 0, k + 1, lambda i: token(one, i) == token(other, i))
    return z3.Implies(agree, hidden(one, k) == hidden(other, k))


def prompt_len(s: Num) -> Num:
    """How many of its tokens sequence s was given."""
    return _integers("prompt_len", s)


def capacity() -> Num:
    """The rows of the hidden store."""
    return z3.Int("capacity")


def is_block(b: Num) -> Truth:
    """b is one of the drafter's blocks."""
    return within(0, b, z3.Int("blocks"))


def configuration() -> tuple[Record, Truth]:
    """How the drafter is configured, and whether several sequences are dispatched at a time."""
    return Record(fields={"prefill": z3.Bool("cfg.prefill"), "carry": z3.Bool("cfg.carry")}), z3.Bool("multi_seq")


# ---- the state ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class State:
    """The engine's bookkeeping and, marked as ghosts, where everything came from."""

    ticket: Num
    """The next ticket."""
    born: Callable[[Num], Truth]
    """Sequence s was allocated, now or earlier."""
    generation: Callable[[Num], Num]
    live: Callable[[Any], Truth]
    """Holder h is there: the sequence is running, or the slot has an entry."""
    length: Callable[[Any], Num]
    """How many tokens the holder has: the prompt and what was emitted since."""
    table: Callable[[Any], Num]
    """The identity of the holder's block table."""
    rows: Callable[[Any], Num]
    extent: Callable[[Any], Num]
    """Rows in the blocks, counting those of guessed tokens above `rows`."""
    last_key: Callable[[Any], Num]
    """The key of the newest row, as far as the holder knows; it may overstate."""

    key: Callable[[Num, Num], Num]
    """The pair key of row r in table t."""
    maker: Callable[[Num, Num], Num]
    """Ghost: the sequence whose tokens made row r of table t."""
    hidden_from: Callable[[Num, Num], Num]
    """Ghost: the sequence that wrote the hidden row which went into row r of table t."""
    hidden_at: Callable[[Num, Num], Num]
    """Ghost: the position of that hidden row in its sequence."""

    writer: Callable[[Num], Num]
    """Ghost: the sequence that last wrote hidden row p."""
    position: Callable[[Num], Num]
    """Ghost: the position whose hidden state row p holds."""
    landed: Callable[[Num], Truth]
    """The last write to hidden row p has reached memory."""
    stamp: Record
    stamper: Num
    """Ghost: the sequence that last stamped the range, or NOBODY since the last allocation."""
    capture: Record
    """The older stamp: a generation and how many rows from 0 on it covers."""

    source: Num
    """Whose tokens the slot's entry has."""
    entry_hash: Num
    """The session hash in the slot's entry."""

    free: Callable[[Num], Num]
    """How often block b is on the free list."""
    holds: Callable[[Num, Num], Num]
    """How often block b is in table t."""
    pending: Callable[[Num], Num]
    """The table for which a write to block b is under way, or NOBODY."""
    keeper: Callable[[Num], Num]
    """Ghost: the holder of table t."""
    home: Callable[[Num], Num]
    """Ghost: the table that block b was last put in."""

    def but(self, **fields: Any) -> State:
        """This state with these fields changed; all others stay as they are."""
        return replace(self, **fields)

    def text(self, h: Any) -> Num:
        """The sequence whose tokens the holder has."""
        return z3.If(h == SLOT, self.source, h)

    def entry(self, name: str) -> Record:
        """The slot's entry as the rules see it."""
        tokens = Seq(name=f"{name}.tokens", length=self.length(SLOT), at=lambda i: token(self.source, i))
        known = Maybe(present=self.rows(SLOT) > 0, value=self.last_key(SLOT))
        fields = {"rows": self.rows(SLOT), "last_pair_key": known, "tokens": tokens, "session_hash": self.entry_hash}
        return Record(fields=fields)


HOLDER, TABLE, ROW, POSITION, BLOCK = "holder", "table", "row", "position", "block"
"""What an index may be."""

Shapes: TypeAlias = Mapping[str, tuple[tuple[str, ...], type[int] | type[bool]]]
"""Fields that are functions: of what, and whether they give a number or a truth value."""

SHAPES: Shapes = {
    "born": ((HOLDER,), bool),
    "generation": ((HOLDER,), int),
    "live": ((HOLDER,), bool),
    "length": ((HOLDER,), int),
    "table": ((HOLDER,), int),
    "rows": ((HOLDER,), int),
    "extent": ((HOLDER,), int),
    "last_key": ((HOLDER,), int),
    "key": ((TABLE, ROW), int),
    "maker": ((TABLE, ROW), int),
    "hidden_from": ((TABLE, ROW), int),
    "hidden_at": ((TABLE, ROW), int),
    "writer": ((POSITION,), int),
    "position": ((POSITION,), int),
    "landed": ((POSITION,), bool),
    "free": ((BLOCK,), int),
    "holds": ((TABLE, BLOCK), int),
    "pending": ((BLOCK,), int),
    "keeper": ((TABLE,), int),
    "home": ((BLOCK,), int),
}

NUMBERS: tuple[str, ...] = ("ticket", "stamper", "source", "entry_hash")
RECORDS: Mapping[str, tuple[str, ...]] = {"stamp": ("owner", "lo", "hi"), "capture": ("owner", "length")}


def unknown(name: str, shapes: Shapes) -> dict[str, Any]:
    """Functions of which nothing is known, of these shapes; their symbols start with `name`."""

    def function(field: str) -> Any:
        over, gives = shapes[field]
        return z3.Function(f"{name}{field}", *[z3.IntSort()] * len(over), z3.BoolSort() if gives is bool else z3.IntSort())

    return {field: function(field) for field in shapes}


def any_state(name: str = "") -> State:
    """A state of which nothing is known; its symbols start with `name`."""
    fields: dict[str, Any] = {number: z3.Int(f"{name}{number}") for number in NUMBERS}
    for record, parts in RECORDS.items():
        fields[record] = Record(fields={part: z3.Int(f"{name}{record}.{part}") for part in parts})
    return State(**fields, **unknown(name, SHAPES))


def initial_state() -> State:
    """No sequence, no entry, no claim; every block on the free list."""
    nothing: dict[str, Any] = {
        function: (lambda *_: z3.BoolVal(False)) if gives is bool else (lambda *_: z3.IntVal(0))
        for function, (_, gives) in SHAPES.items()
    }
    nothing |= {name: lambda *_: z3.IntVal(NOBODY) for name in ("maker", "hidden_from", "writer", "pending")}
    return State(
        **nothing
        | {"free": lambda b: z3.If(is_block(b), z3.IntVal(1), z3.IntVal(0))}
        | {"ticket": z3.IntVal(1), "stamper": z3.IntVal(NOBODY), "source": z3.IntVal(0), "entry_hash": z3.IntVal(0)}
        | {r: Record(fields={part: z3.IntVal(0) for part in parts}) for r, parts in RECORDS.items()}
    )


# ---- how actions are told -------------------------------------------------------------------------------------------------


class Book(Protocol):
    """Who answers for the rules: machine values by name, and the result that a rule allows for its arguments."""

    def some(self, sort: Sort, name: str) -> Any: ...

    def answer(self, name: str, rule: str, *arguments: Any) -> tuple[Any, Truth]: ...


@dataclass(frozen=True, kw_only=True)
class Each:
    """Part of a guard that speaks of every position or block."""

    name: str
    over: str
    says: Callable[[Num], Truth]


@dataclass(frozen=True, kw_only=True)
class Step:
    """What an action needs (by name) and the state after it."""

    guard: Mapping[str, Truth]
    each: tuple[Each, ...] = ()
    after: Any
    """A state of the model that the action belongs to."""


@dataclass(frozen=True)
class Act:
    """One occurrence of an action: who acts, its free choices, and the rules it asks."""

    book: Book
    name: str = ""

    @property
    def actor(self) -> Num:
        """The sequence that acts."""
        return z3.Int(f"{self.name}actor")

    def number(self, name: str) -> Num:
        """Any identity."""
        return z3.Int(f"{self.name}{name}")

    def size(self, name: str) -> Num:
        """Any machine word."""
        word: Num = self.book.some(USIZE, f"{self.name}{name}")
        return word

    def chosen(self, name: str, b: Num) -> Truth:
        """Any set of blocks."""
        return z3.Function(f"{self.name}{name}", z3.IntSort(), z3.BoolSort())(b)

    def ask(self, name: str, rule: str, *arguments: Any) -> tuple[Any, dict[str, Truth]]:
        """The result of a rule, with the statement that it is one.

        A bounded telling also says that the arguments are machine values: its models are replayed on the code. No law needs it.
        """
        result, given = self.book.answer(f"{self.name}{name}", rule, *arguments)
        facts = {f"{name} is what {rule} gives": given}
        if bound() is not None:
            shapes = zip(RULES[rule].params.items(), arguments, strict=True)
            facts |= {f"{rule}: {part} is a machine value": sort.domain(term) for (part, sort), term in shapes}
        return result, facts


def changed(function: Callable[[Any], Any], at: Any, value: Any) -> Callable[[Any], Any]:
    """The function with another value at one place."""
    return lambda x: z3.If(x == at, value, function(x))


# ---- pieces that actions share --------------------------------------------------------------------------------------------


def armed(act: Act) -> tuple[Truth, dict[str, Truth]]:
    """Whether the carry is live."""
    return act.ask("armed", "carry_armed_with", *configuration())


def visible(pre: State, act: Act) -> tuple[Record, dict[str, Truth]]:
    """The hidden rows that the actor may read."""
    return act.ask("seen", "visible_to", pre.stamp, pre.generation(act.actor))


def reads_wait(pre: State, seen: Record) -> Each:
    """Reads of these rows come after the writes that the stamp speaks of."""
    return Each(
        name="what the stamp allows to read has landed (A5)",
        over=POSITION,
        says=lambda p: z3.Implies(inside(p, seen), pre.landed(p)),
    )


def freeing_waits(pre: State, h: Any) -> Each:
    """A block is freed after the writes to it."""
    return Each(
        name=f"the blocks to be freed have no write under way (A5, {'slot' if h is SLOT else 'sequence'})",
        over=BLOCK,
        says=lambda b: z3.Implies(z3.And(pre.live(h), pre.holds(pre.table(h), b) > 0), pre.pending(b) == NOBODY),
    )


def freed(pre: State, h: Any) -> State:
    """Holder h, if it is there, is there no more; its blocks return to the free list."""
    there, table = pre.live(h), pre.table(h)
    return pre.but(
        live=changed(pre.live, h, z3.BoolVal(False)),
        free=lambda b: pre.free(b) + z3.If(there, pre.holds(table, b), 0),
        holds=lambda t, b: z3.If(z3.And(there, t == table), 0, pre.holds(t, b)),
    )


def moved(pre: State, giver: Any, taker: Any) -> State:
    """The giver's table, with the rows in it, passes to the taker; the giver is there no more."""
    return pre.but(
        live=changed(changed(pre.live, taker, z3.BoolVal(True)), giver, z3.BoolVal(False)),
        table=changed(pre.table, taker, pre.table(giver)),
        keeper=changed(pre.keeper, pre.table(giver), taker),
    )


def with_blocks(pre: State, act: Act) -> State:
    """The actor's table is given any blocks of the free list, and writes to any of its blocks are under way."""
    table = pre.table(act.actor)

    def drawn(b: Num) -> Truth:
        return z3.And(act.chosen("draws", b), pre.free(b) > 0)

    def held(t: Num, b: Num) -> Num:
        return pre.holds(t, b) + z3.If(z3.And(t == table, drawn(b)), 1, 0)

    return pre.but(
        free=lambda b: pre.free(b) - z3.If(drawn(b), 1, 0),
        holds=held,
        home=lambda b: z3.If(drawn(b), table, pre.home(b)),
        keeper=changed(pre.keeper, table, act.actor),
        pending=lambda b: z3.If(z3.And(act.chosen("writes", b), held(table, b) > 0), table, pre.pending(b)),
    )


def with_rows(pre: State, s: Num, first_row: Any, count: Any, first_key: Any, *, from_store: bool) -> State:
    """Sequence s makes rows first_row.. for keys first_key.., from the hidden store or from the states it has just computed."""
    table = pre.table(s)

    def put(function: Callable[[Num, Num], Num], value: Callable[[Num], Any]) -> Callable[[Num, Num], Num]:
        def after(t: Num, r: Num) -> Num:
            made = z3.And(t == table, within(first_row, r, first_row + count))
            return z3.If(made, value(first_key + r - first_row), function(t, r))

        return after

    def read(k: Num) -> Num:
        """Whose hidden state is in memory at row k; before the write has landed that is anybody's."""
        return z3.If(pre.landed(k), pre.writer(k), NOBODY) if from_store else s

    return pre.but(
        key=put(pre.key, lambda k: k),
        maker=put(pre.maker, lambda _: s),
        hidden_from=put(pre.hidden_from, read),
        hidden_at=put(pre.hidden_at, lambda k: pre.position(k) if from_store else k),
        rows=changed(pre.rows, s, first_row + count),
        extent=changed(pre.extent, s, first_row + count),
        last_key=changed(pre.last_key, s, first_key + count - 1),
    )


# ---- the actions ----------------------------------------------------------------------------------------------------------


def allocate(pre: State, act: Act) -> Step:
    """A new sequence with the next ticket as its generation; nobody's claim on the hidden store survives it."""
    s = act.actor
    return Step(
        guard={
            "the actor is a sequence": s > SLOT,
            "it is new": z3.Not(pre.born(s)),
            "the prompt's length is a machine value": USIZE.domain(prompt_len(s)),
            "the ticket is not 0 and the counter does not wrap (A2)": within(1, pre.ticket, SIZE - 1),
        },
        after=pre.but(
            ticket=pre.ticket + 1,
            born=changed(pre.born, s, z3.BoolVal(True)),
            generation=changed(pre.generation, s, pre.ticket),
            live=changed(pre.live, s, z3.BoolVal(True)),
            length=changed(pre.length, s, prompt_len(s)),
            table=changed(pre.table, s, s),
            rows=changed(pre.rows, s, 0),
            extent=changed(pre.extent, s, 0),
            stamp=Record(fields={"owner": z3.IntVal(0), "lo": z3.IntVal(0), "hi": z3.IntVal(0)}),
            stamper=z3.IntVal(NOBODY),
        ),
    )


def draw_ticket(pre: State, act: Act) -> Step:
    """Another part of the engine draws a ticket."""
    return Step(
        guard={"the counter does not wrap (A2)": pre.ticket < SIZE - 1},
        after=pre.but(ticket=pre.ticket + 1),
    )


def write_chunk(pre: State, act: Act) -> Step:
    """A prefill chunk of hidden rows is issued and stamped; one that is empty or too long for the store is ignored."""
    s, start, count = act.actor, act.size("start"), act.size("count")
    gen, end = pre.generation(s), start + count
    stored = z3.And(count > 0, end <= capacity())
    after, merged = act.ask("merged", "stamped_merge", pre.stamp, gen, start, count)

    def written(p: Num) -> Truth:
        return z3.And(stored, within(start, p, end))

    new = after.value
    restarts = z3.And(stored, start == 0)
    extends = z3.And(stored, pre.capture.owner == gen, start == pre.capture.length)
    capture = {
        "owner": z3.If(restarts, gen, pre.capture.owner),
        "length": z3.If(z3.Or(restarts, extends), end, pre.capture.length),
    }
    return Step(
        guard={
            "the actor runs": z3.And(s > SLOT, pre.live(s)),
            "the chunk is of its tokens": end <= pre.length(s),
            "the store's capacity is a machine value (A4)": USIZE.domain(capacity()),
            **merged,
            "the merge does not panic (A4)": z3.Implies(stored, z3.Not(after.panics)),
        },
        after=pre.but(
            writer=lambda p: z3.If(written(p), s, pre.writer(p)),
            position=lambda p: z3.If(written(p), p, pre.position(p)),
            landed=lambda p: z3.And(pre.landed(p), z3.Not(written(p))),
            stamp=Record(fields={part: z3.If(stored, new.fields[part], pre.stamp.fields[part]) for part in RECORDS["stamp"]}),
            stamper=z3.If(stored, s, pre.stamper),
            capture=Record(fields=capture),
        ),
    )


def land(pre: State, act: Act) -> Step:
    """The device catches up: every write issued so far has reached memory.

    Writes land in order (A5), so catching up at some earlier moment comes to the states in which only some have landed.
    """
    return Step(
        guard={},
        after=pre.but(landed=lambda p: z3.BoolVal(True), pending=lambda b: z3.IntVal(NOBODY)),
    )


def first_proposal(pre: State, act: Act) -> dict[str, Truth]:
    """The actor runs and has emitted nothing yet."""
    s = act.actor
    return {
        "the actor runs": z3.And(s > SLOT, pre.live(s)),
        "it has emitted nothing": pre.length(s) == prompt_len(s),
    }


def cold_build(pre: State, act: Act) -> Step:
    """A turn that reuses nothing: the slot's entry is freed, and all keys of the prompt are built from the hidden store."""
    s = act.actor
    keys = prompt_len(s) - 1
    seen, sees = visible(pre, act)
    covered = z3.And(seen.lo == 0, keys <= seen.hi)
    return Step(
        guard={
            **first_proposal(pre, act),
            **sees,
            "it has no rows": pre.rows(s) == 0,
            "the prompt has keys": keys > 0,
            "it sees the hidden rows of all of them": covered,
        },
        each=(reads_wait(pre, interval(0, keys)), freeing_waits(pre, SLOT)),
        after=with_rows(with_blocks(freed(pre, SLOT), act), s, 0, keys, 0, from_store=True),
    )


def taking(pre: State, act: Act) -> tuple[Maybe, dict[str, Truth]]:
    """The first proposal of a warm turn takes the entry: what of it is usable, and what taking it needs."""
    s = act.actor
    live, arming = armed(act)
    prompt = Seq(name=f"{act.name}prompt", length=prompt_len(s), at=lambda i: token(s, i))
    usable: Maybe
    usable, uses = act.ask("usable", "usable_by", pre.entry(f"{act.name}entry"), prompt, hash_of(session(s)))
    needs = {
        **first_proposal(pre, act),
        **arming,
        "the carry is armed": live,
        "there is an entry": pre.live(SLOT),
        **uses,
    }
    return usable, needs


def adopting(pre: State, act: Act) -> tuple[Record, Record, Maybe, dict[str, Truth]]:
    """The entry's usable rows go to the actor: what it adopts, what it sees, the plan for more, and what all this needs."""
    s = act.actor
    usable, takes = taking(pre, act)
    adopted = usable.value
    seen, sees = visible(pre, act)
    outcome, plans = act.ask("plan", "plan_append", adopted.last_pair_key, prompt_len(s), seen.lo, seen.hi)
    needs = {
        **takes,
        "some rows are usable": usable.present,
        "the actor has no rows": pre.rows(s) == 0,
        **sees,
        **plans,
        "the append does not panic (A4)": z3.Not(outcome.panics),
        "session hashes do not collide (A1)": no_collision(session(pre.source), session(s)),
    }
    return adopted, seen, outcome.value, needs


def no_collision(one: Num, other: Num) -> Truth:
    """Two sessions with the same known hash are one session."""
    return z3.Implies(z3.And(hash_of(one) == hash_of(other), hash_of(one) != 0), one == other)


def adopted_rows(pre: State, s: Num, adopted: Record) -> State:
    """The slot is empty, and sequence s has the entry's table and as many of its rows as it adopts."""
    return moved(pre, SLOT, s).but(
        rows=changed(pre.rows, s, adopted.rows),
        extent=changed(pre.extent, s, adopted.rows),
        last_key=changed(pre.last_key, s, adopted.last_pair_key),
    )


def adopt_and_append(pre: State, act: Act) -> Step:
    """A warm turn takes the entry, adopts its usable rows and appends the keys that the plan says."""
    s = act.actor
    adopted, seen, plan, needs = adopting(pre, act)
    grown = with_blocks(adopted_rows(pre, s, adopted), act)
    return Step(
        guard={**needs, "there is something to append": plan.present},
        each=(reads_wait(pre, seen),),
        after=with_rows(grown, s, adopted.rows, plan.value.rows, plan.value.first_key, from_store=True),
    )


def adopt_only(pre: State, act: Act) -> Step:
    """A warm turn takes the entry and adopts its usable rows; nothing is appended."""
    adopted, _, plan, needs = adopting(pre, act)
    return Step(
        guard={**needs, "nothing is appended": z3.Not(plan.present)},
        after=adopted_rows(pre, act.actor, adopted),
    )


def refuse(pre: State, act: Act) -> Step:
    """A warm turn takes the entry and cannot use it, or has rows already: the entry's blocks are freed."""
    usable, takes = taking(pre, act)
    return Step(
        guard={**takes, "it is of no use": z3.Or(z3.Not(usable.present), pre.rows(act.actor) > 0)},
        each=(freeing_waits(pre, SLOT),),
        after=freed(pre, SLOT),
    )


def decode(pre: State, act: Act) -> Step:
    """A token is emitted, and the pair that it completes becomes a row; rows of guessed tokens are forgotten."""
    s = act.actor
    n = pre.length(s)
    grown = with_blocks(pre, act)
    return Step(
        guard={"the actor runs": z3.And(s > SLOT, pre.live(s)), "there is a token before": n > 0},
        after=with_rows(grown, s, pre.rows(s), 1, n - 1, from_store=False).but(length=changed(pre.length, s, n + 1)),
    )


def draft(pre: State, act: Act) -> Step:
    """The drafter guesses a token and leaves a row for it above the rows that count."""
    s = act.actor
    table, row = pre.table(s), pre.extent(s)
    grown = with_blocks(pre, act)
    guessed = pre.last_key(s) + 1 + row - pre.rows(s)

    def put(function: Callable[[Num, Num], Num], value: Any) -> Callable[[Num, Num], Num]:
        return lambda t, r: z3.If(z3.And(t == table, r == row), value, function(t, r))

    return Step(
        guard={"the actor runs": z3.And(s > SLOT, pre.live(s)), "it has rows": pre.rows(s) > 0},
        after=grown.but(
            key=put(pre.key, guessed),
            maker=put(pre.maker, NOBODY),
            hidden_from=put(pre.hidden_from, NOBODY),
            hidden_at=put(pre.hidden_at, NOBODY),
            extent=changed(pre.extent, s, row + 1),
        ),
    )


def deposit(pre: State, act: Act) -> Step:
    """A sequence with rows finishes: they become the slot's entry, and an older entry is freed."""
    s = act.actor
    live, arming = armed(act)
    given = moved(freed(pre, SLOT), s, SLOT)
    return Step(
        guard={
            "the actor runs": z3.And(s > SLOT, pre.live(s)),
            "it has rows": pre.rows(s) > 0,
            **arming,
            "the carry is armed": live,
        },
        each=(freeing_waits(pre, SLOT),),
        after=given.but(
            rows=changed(pre.rows, SLOT, pre.rows(s)),
            extent=changed(pre.extent, SLOT, pre.rows(s)),
            last_key=changed(pre.last_key, SLOT, pre.last_key(s)),
            length=changed(pre.length, SLOT, pre.length(s)),
            source=s,
            entry_hash=hash_of(session(s)),
        ),
    )


def abort(pre: State, act: Act) -> Step:
    """A sequence ends without a deposit: its blocks are freed."""
    s = act.actor
    return Step(
        guard={"the actor runs": z3.And(s > SLOT, pre.live(s))},
        each=(freeing_waits(pre, s),),
        after=freed(pre, s),
    )


ACTIONS: Mapping[str, Callable[[State, Act], Step]] = {
    "allocate": allocate,
    "draw-ticket": draw_ticket,
    "write-chunk": write_chunk,
    "land": land,
    "cold-build": cold_build,
    "adopt-append": adopt_and_append,
    "adopt-only": adopt_only,
    "refuse": refuse,
    "decode": decode,
    "draft": draft,
    "deposit": deposit,
    "abort": abort,
}
"""Every action by its name."""
