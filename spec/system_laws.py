"""What holds in every state that the actions of `spec.system` and `spec.system_graphs` can reach.

The *laws* are the conjuncts of one inductive invariant; each stands alone under a name, and is a statement about arbitrary
identities (holders, tables, rows, positions, blocks). *Safety* is what the laws are for, and follows from them.
Provenance is told by the ghosts of the state, never by a stamp or a hash: a claim that trusts the stamp it checks proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import z3

from spec.scope import within
from spec.store import inside
from spec.system import (
    BLOCK,
    HOLDER,
    NOBODY,
    POSITION,
    ROW,
    SLOT,
    TABLE,
    Num,
    State,
    Truth,
    configuration,
    hash_of,
    hidden,
    is_block,
    session,
    token,
)
from spec.system_graphs import BATCH, PLACE, depth, pointer, tables_null, width
from spec.system_graphs import State as Graphs


@dataclass(frozen=True, kw_only=True)
class Law:
    """A conjunct of the invariant: what it says of a state at every choice of identities."""

    name: str
    claim: str
    over: tuple[str, ...]
    says: Callable[..., Truth]


Says: TypeAlias = Callable[..., Truth]

LAWS: dict[str, Law] = {}
"""The invariant of the carry, conjunct by conjunct."""

SAFETY: dict[str, Law] = {}
"""What must hold of the carry in every state. It follows from its laws."""

GRAPH_LAWS: dict[str, Law] = {}
"""The invariant of the graph cache, conjunct by conjunct; its last is what it is for."""

GRAPH_SAFETY: dict[str, Law] = {}
"""What else must hold of the graph cache in every state. It follows from its laws."""


def _entered(laws: dict[str, Law], *over: str) -> Callable[[Says], Says]:
    """Enters a law under its function's name, with the docstring as the claim."""

    def enter(says: Says) -> Says:
        name = says.__name__.replace("_", "-")
        laws[name] = Law(name=name, claim=" ".join((says.__doc__ or "").split()), over=over, says=says)
        return says

    return enter


def _law(*over: str) -> Callable[[Says], Says]:
    return _entered(LAWS, *over)


def _safety(*over: str) -> Callable[[Says], Says]:
    return _entered(SAFETY, *over)


def _graph_law(*over: str) -> Callable[[Says], Says]:
    return _entered(GRAPH_LAWS, *over)


def _graph_safety(*over: str) -> Callable[[Says], Says]:
    return _entered(GRAPH_SAFETY, *over)


# ---- the laws of the carry ------------------------------------------------------------------------------------------------


def _is_row(x: State, h: Num, r: Num) -> Truth:
    return z3.And(x.live(h), within(0, r, x.rows(h)))


@_law(HOLDER, ROW)
def rows_are_of_the_session(x: State, h: Num, r: Num) -> Truth:
    """Every row that a holder has was made in the holder's own session."""
    return z3.Implies(_is_row(x, h, r), session(x.maker(x.table(h), r)) == session(x.text(h)))


@_law(HOLDER, ROW, POSITION)
def rows_agree(x: State, h: Num, r: Num, i: Num) -> Truth:
    """Every row that a holder has was made from tokens that agree with the holder's, through the token after its key."""
    t = x.table(h)
    used = z3.And(_is_row(x, h, r), within(0, i, x.key(t, r) + 2))
    return z3.Implies(used, token(x.maker(t, r), i) == token(x.text(h), i))


@_law(HOLDER, ROW)
def rows_read_their_own_hidden(x: State, h: Num, r: Num) -> Truth:
    """The hidden state that went into a row was written by the row's maker, and is the one of the row's key."""
    t = x.table(h)
    own = z3.And(x.hidden_from(t, r) == x.maker(t, r), x.hidden_at(t, r) == x.key(t, r))
    return z3.Implies(_is_row(x, h, r), own)


@_law(HOLDER, ROW, ROW)
def keys_increase(x: State, h: Num, r: Num, q: Num) -> Truth:
    """Keys strictly increase with the rows."""
    t = x.table(h)
    return z3.Implies(z3.And(_is_row(x, h, r), _is_row(x, h, q), r < q), x.key(t, r) + (q - r) <= x.key(t, q))


@_law(HOLDER, ROW)
def keys_are_known(x: State, h: Num, r: Num) -> Truth:
    """No key is below 0 or above the last one that the holder knows of."""
    return z3.Implies(_is_row(x, h, r), within(0, x.key(x.table(h), r), x.last_key(h) + 1))


@_law(HOLDER)
def keys_have_tokens(x: State, h: Num) -> Truth:
    """A holder with rows has the token after its last key."""
    return z3.Implies(z3.And(x.live(h), x.rows(h) > 0), x.last_key(h) + 2 <= x.length(h))


@_law(HOLDER)
def guesses_lie_above(x: State, h: Num) -> Truth:
    """Rows of guessed tokens lie above those that count."""
    return z3.Implies(x.live(h), within(0, x.rows(h), x.extent(h) + 1))


@_law(HOLDER)
def generations_are_drawn(x: State, s: Num) -> Truth:
    """The generation of every sequence is a ticket drawn before the next one."""
    return z3.Implies(x.born(s), within(1, x.generation(s), x.ticket))


@_law(HOLDER, HOLDER)
def generations_are_unique(x: State, s: Num, t: Num) -> Truth:
    """No two sequences ever have the same generation."""
    return z3.Implies(z3.And(x.born(s), x.born(t), x.generation(s) == x.generation(t)), s == t)


@_law(HOLDER)
def holders_are_born(x: State, h: Num) -> Truth:
    """A sequence that runs was allocated, and tables are named after sequences that were."""
    return z3.Implies(x.live(h), z3.And(x.born(x.table(h)), z3.Or(h == SLOT, x.born(h))))


@_law()
def the_stamp_is_its_stampers(x: State) -> Truth:
    """The generation on the hidden store's range is that of the sequence that stamped it."""
    return z3.Implies(x.stamp.owner != 0, z3.And(x.born(x.stamper), x.generation(x.stamper) == x.stamp.owner))


@_law()
def a_stamp_lasts_until_the_next_allocation(x: State) -> Truth:
    """Whoever last wrote hidden rows owns the range until the next sequence is allocated."""
    return z3.Implies(x.stamper != NOBODY, x.stamp.owner == x.generation(x.stamper))


@_law()
def an_owned_range_is_not_empty(x: State) -> Truth:
    """Whoever owns the hidden store's range owns at least one row."""
    return z3.Implies(x.stamp.owner != 0, x.stamp.lo < x.stamp.hi)


@_law(POSITION)
def claimed_rows_are_the_stampers(x: State, p: Num) -> Truth:
    """Every hidden row under a stamp was last written by the sequence that stamped it, with the state of that position."""
    claimed = z3.And(x.stamp.owner != 0, inside(p, x.stamp))
    return z3.Implies(claimed, z3.And(x.writer(p) == x.stamper, x.position(p) == p))


@_law()
def the_entry_names_its_session(x: State) -> Truth:
    """The hash in the slot's entry is that of the session whose tokens it has."""
    return z3.Implies(x.live(SLOT), x.entry_hash == hash_of(session(x.source)))


@_law()
def the_entry_has_rows(x: State) -> Truth:
    """The slot's entry is never without rows."""
    return z3.Implies(x.live(SLOT), x.rows(SLOT) > 0)


@_law()
def the_slot_is_armed(x: State) -> Truth:
    """The slot has an entry only if the carry is configured and multi-sequence dispatch is off."""
    cfg, multi_seq = configuration()
    return z3.Implies(x.live(SLOT), z3.And(cfg.carry, z3.Not(multi_seq)))


@_law(HOLDER, HOLDER)
def tables_have_one_holder(x: State, h: Num, g: Num) -> Truth:
    """No two holders have the same table."""
    return z3.Implies(z3.And(x.live(h), x.live(g), x.table(h) == x.table(g)), h == g)


@_law(TABLE, BLOCK)
def blocks_are_listed_once(x: State, t: Num, b: Num) -> Truth:
    """A block is on the free list or in a table at most once, and never in both."""
    free, held = x.free(b), x.holds(t, b)
    return z3.And(0 <= free, 0 <= held, free + held <= 1)


@_law(TABLE, TABLE, BLOCK)
def blocks_are_in_one_table(x: State, t: Num, u: Num, b: Num) -> Truth:
    """No block is in two tables."""
    return z3.Implies(z3.And(x.holds(t, b) > 0, x.holds(u, b) > 0), t == u)


@_law(TABLE, BLOCK)
def tables_with_blocks_are_held(x: State, t: Num, b: Num) -> Truth:
    """A table with blocks in it has a holder."""
    keeper = x.keeper(t)
    return z3.Implies(x.holds(t, b) > 0, z3.And(x.live(keeper), x.table(keeper) == t))


@_law(BLOCK)
def no_block_is_lost(x: State, b: Num) -> Truth:
    """Every block is on the free list or in a table."""
    return z3.Implies(is_block(b), z3.Or(x.free(b) > 0, x.holds(x.home(b), b) > 0))


@_law(HOLDER, BLOCK)
def blocks_mean_rows(x: State, h: Num, b: Num) -> Truth:
    """A holder with blocks has rows, so whoever adopts a table leaves none behind."""
    return z3.Implies(z3.And(x.live(h), x.holds(x.table(h), b) > 0), x.rows(h) > 0)


@_law(BLOCK)
def writes_go_to_held_blocks(x: State, b: Num) -> Truth:
    """A write under way goes to a block that is still in the table for which it was issued."""
    return z3.Implies(x.pending(b) != NOBODY, x.holds(x.pending(b), b) > 0)


# ---- what the laws are for ------------------------------------------------------------------------------------------------


@_safety(HOLDER, ROW, POSITION)
def no_foreign_rows(x: State, s: Num, r: Num, i: Num) -> Truth:
    """Every row in a live drafter was produced in its own session from tokens that agree with its own."""
    maker, k = x.maker(x.table(s), r), x.key(x.table(s), r)
    agrees = z3.Implies(within(0, i, k + 2), token(maker, i) == token(s, i))
    return z3.Implies(z3.And(s > SLOT, _is_row(x, s, r)), z3.And(session(maker) == session(s), agrees))


@_safety(HOLDER, ROW)
def every_row_read_is_its_writers(x: State, s: Num, r: Num) -> Truth:
    """Every hidden row that went into a row of a live drafter was written by the row's maker, for the row's key."""
    t = x.table(s)
    own = z3.And(x.hidden_from(t, r) == x.maker(t, r), x.hidden_at(t, r) == x.key(t, r))
    return z3.Implies(z3.And(s > SLOT, _is_row(x, s, r)), own)


@_safety(HOLDER, ROW)
def rows_are_what_their_holder_would_make(x: State, s: Num, r: Num) -> Truth:
    """Every row in a live drafter is what its sequence would have made itself: the same hidden state, the same next token."""
    maker, k = x.maker(x.table(s), r), x.key(x.table(s), r)
    same = z3.And(hidden(maker, k) == hidden(s, k), token(maker, k + 1) == token(s, k + 1))
    return z3.Implies(z3.And(s > SLOT, _is_row(x, s, r)), same)


@_safety(HOLDER, BLOCK)
def every_block_has_one_owner(x: State, h: Num, b: Num) -> Truth:
    """Every block is once on the free list and with no holder, or not on it and once with exactly one holder."""

    def owns(holder: Num) -> Truth:
        return z3.And(x.live(holder), x.holds(x.table(holder), b) > 0)

    owner = x.keeper(x.home(b))
    is_free = z3.And(x.free(b) == 1, z3.Not(owns(h)))
    is_owned = z3.And(x.free(b) == 0, x.holds(x.home(b), b) == 1, owns(owner), z3.Implies(owns(h), h == owner))
    return z3.Implies(is_block(b), z3.Or(is_free, is_owned))


@_safety(HOLDER, BLOCK)
def no_write_reaches_another_owner(x: State, h: Num, b: Num) -> Truth:
    """A block with a write under way is nobody's but the holder's for whose table it was issued."""
    written = z3.And(x.pending(b) != NOBODY, x.live(h), x.holds(x.table(h), b) > 0)
    return z3.And(z3.Implies(written, x.table(h) == x.pending(b)), z3.Implies(x.pending(b) != NOBODY, x.free(b) <= 0))


@_safety()
def a_right_to_read_is_not_lost_silently(x: State) -> Truth:
    """Only an allocation or another's chunk takes from a running sequence the right to read the hidden rows it wrote last."""
    may_read = z3.And(x.stamp.owner == x.generation(x.stamper), x.stamp.owner != 0)
    return z3.Implies(z3.And(x.stamper > SLOT, x.live(x.stamper)), may_read)


@_safety()
def an_entry_has_no_more_rows_than_keys(x: State) -> Truth:
    """What `usable_by` takes for granted of an entry (A8) holds of every entry that is ever deposited."""
    return z3.Implies(x.live(SLOT), x.rows(SLOT) <= x.last_key(SLOT) + 1)


@_safety()
def the_slot_is_used_only_while_armed(x: State) -> Truth:
    """The slot has an entry only if the carry is configured and multi-sequence dispatch is off."""
    cfg, multi_seq = configuration()
    return z3.Implies(x.live(SLOT), z3.And(cfg.carry, z3.Not(multi_seq)))


@_safety(HOLDER)
def checks_for_nothing_decide_nothing(x: State, s: Num) -> Truth:
    """No sequence that runs has generation 0, no owned range is empty, and no entry is without rows and its last key's tokens."""
    entry = z3.And(x.rows(SLOT) > 0, x.last_key(SLOT) + 2 <= x.length(SLOT))
    return z3.And(
        z3.Implies(z3.And(s > SLOT, x.live(s)), x.generation(s) != 0),
        z3.Implies(x.stamp.owner != 0, x.stamp.lo < x.stamp.hi),
        z3.Implies(x.live(SLOT), entry),
    )


# ---- the laws of the graph cache ------------------------------------------------------------------------------------------


@_graph_law(BATCH)
def captures_ran(x: Graphs, c: Num) -> Truth:
    """A batch whose capture is cached ran it itself."""
    return z3.Implies(x.cached(c), z3.And(c > NOBODY, x.ran(c) == c))


@_graph_law(BATCH)
def runs_are_of_batches_that_ran(x: Graphs, n: Num) -> Truth:
    """What a batch runs is the capture of one that ran."""
    return z3.Implies(x.ran(n) != NOBODY, x.ran(x.ran(n)) != NOBODY)


def _baked_is_needed(x: Graphs, c: Num, n: Num, p: Num) -> Truth:
    whole = z3.And(x.baked_width(c) == width(n), x.baked_null(c) == tables_null(n))
    here = z3.And(x.baked_pointer(c, p) == pointer(n, p), x.baked_depth(c, p) == depth(n, p))
    return z3.And(whole, z3.Implies(within(0, p, width(n)), here))


@_graph_law(BATCH, PLACE)
def launches_fit_the_batch_that_runs_them(x: Graphs, n: Num, p: Num) -> Truth:
    """Whatever capture a batch runs, its own or an earlier one, baked the memory, depths and tables that the batch needs."""
    return z3.Implies(x.ran(n) != NOBODY, _baked_is_needed(x, x.ran(n), n, p))


@_graph_safety(BATCH, BATCH, PLACE)
def a_capture_is_shared_by_batches_alike(x: Graphs, n: Num, m: Num, p: Num) -> Truth:
    """Two batches that run one capture need the same memory, depths and tables."""
    shared = z3.And(x.ran(n) != NOBODY, x.ran(n) == x.ran(m))
    here = z3.And(pointer(n, p) == pointer(m, p), depth(n, p) == depth(m, p))
    whole = z3.And(width(n) == width(m), tables_null(n) == tables_null(m))
    return z3.Implies(shared, z3.And(whole, z3.Implies(within(0, p, width(n)), here)))
