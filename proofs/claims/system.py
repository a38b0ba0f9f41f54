"""Claims about the carry as a whole: the laws of `spec.system` hold in every state that its actions can reach.

*Claim.* Every row in a live drafter was produced in its own session from tokens that agree with its own; every hidden row read
was written by the reader; every block has exactly one owner. For any number of sequences, rows, tokens, positions and blocks.

*Assumptions.* A1, A2, A4 and A5, each a named part of a guard. A8 is no assumption here: it follows from the laws.

*Argument.* Induction over the steps of a run, outside the solver: each law holds initially, and each action keeps it. A step is
shown for one choice of identities; `_support` says which laws at which identities it rests on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, TypeAlias

import z3

import spec.system
import spec.system_graphs
from proofs.faults.lapses import KEEPING, Lapse, lapses_of
from proofs.obligation import Goal, Register, Variant, World
from spec.carry import common_length
from spec.scope import bound, every, telling
from spec.sorts import CARRIED, RANGE, TOKENS, U32, USIZE, Maybe, Record, Seq
from spec.store import inside
from spec.system import BLOCK, HOLDER, POSITION, ROW, SLOT, TABLE
from spec.system_graphs import BATCH, PLACE
from spec.system_laws import GRAPH_LAWS, GRAPH_SAFETY, LAWS, SAFETY, Law

_SKOLEM = {
    HOLDER: ("h", "g"),
    TABLE: ("t", "u"),
    ROW: ("r", "q"),
    POSITION: ("p",),
    BLOCK: ("b",),
    BATCH: ("n", "m"),
    PLACE: ("p",),
}
"""What an arbitrary identity of each kind is called: the first of its kind, the second."""


def identities(over: Sequence[str]) -> list[z3.ArithRef]:
    """Arbitrary identities of these kinds."""
    names = {kind: iter(skolems) for kind, skolems in _SKOLEM.items()}
    return [z3.Int(next(names[kind])) for kind in over]


Instance: TypeAlias = tuple[Any, ...]
"""The name of a law, and identities to take it at."""

Laws: TypeAlias = Mapping[str, Law]

Support: TypeAlias = Callable[[str, Any, Any, Sequence[Any]], Iterator[Instance]]

Kept: TypeAlias = Callable[[ModuleType, Laws, str, Law, World], Goal]


def _support(law: str, x: Any, a: Any, terms: Sequence[Any]) -> Iterator[Instance]:
    """Which laws, at which identities, keep `law` true at `terms` through any action of sequence `a` in state `x`."""
    last, slots_last = x.rows(a) - 1, x.rows(SLOT) - 1
    if law in ("rows-are-of-the-session", "rows-agree", "rows-read-their-own-hidden", "keys-increase", "keys-are-known"):
        h, r, *rest = terms
        yield from [(law, SLOT, r, *rest), (law, a, r, *rest)]
        yield from [("tables-have-one-holder", h, a), ("tables-have-one-holder", h, SLOT), ("guesses-lie-above", a)]
    if law in ("rows-agree", "keys-increase", "keys-are-known"):
        yield from [("keys-increase", SLOT, r, slots_last), ("keys-are-known", SLOT, slots_last)]
    if law in ("keys-increase", "keys-are-known"):
        yield from [("keys-increase", a, r, last), ("keys-are-known", a, last), ("keys-have-tokens", a)]
    if law == "rows-are-of-the-session":
        yield ("the-entry-names-its-session",)
    if law == "rows-read-their-own-hidden":
        yield from [("the-stamp-is-its-stampers",), ("generations-are-unique", x.stamper, a), ("holders-are-born", a)]
    if law == "generations-are-unique":
        yield from [("generations-are-drawn", terms[0]), ("generations-are-drawn", terms[1])]
    if law == "the-stamp-is-its-stampers":
        yield ("holders-are-born", a)
    if law == "claimed-rows-are-the-stampers":
        yield from [("the-stamp-is-its-stampers",), ("generations-are-unique", x.stamper, a), ("holders-are-born", a)]
    if law in ("keys-have-tokens", "guesses-lie-above", "holders-are-born"):
        yield from [(law, a), (law, SLOT)]
    if law == "tables-have-one-holder":
        h, g = terms
        yield from [(law, SLOT, a), ("holders-are-born", h), ("holders-are-born", g)]
        yield from [(law, one, other) for one in (h, g) for other in (a, SLOT)]
    if law == "blocks-are-listed-once":
        t, b = terms
        for h in (a, SLOT):
            yield from [(law, x.table(h), b), ("blocks-are-in-one-table", t, x.table(h), b)]
    if law == "blocks-are-in-one-table":
        *tables, b = terms
        for t in (*tables, x.table(SLOT)):
            yield from [("blocks-are-listed-once", t, b), (law, t, x.table(SLOT), b)]
    if law == "tables-with-blocks-are-held":
        t, b = terms
        yield from [("tables-have-one-holder", x.keeper(t), SLOT), ("tables-have-one-holder", a, SLOT)]
        yield from [("blocks-mean-rows", a, b), ("holders-are-born", x.keeper(t))]
    if law == "no-block-is-lost":
        (b,) = terms
        yield from [("blocks-are-listed-once", t, b) for t in (x.home(b), x.table(a), x.table(SLOT))]
    if law == "blocks-mean-rows":
        h, b = terms
        yield from [("tables-have-one-holder", h, a), ("tables-have-one-holder", h, SLOT), ("guesses-lie-above", a)]
        yield from [("tables-with-blocks-are-held", a, b), ("holders-are-born", x.keeper(a))]
    if law == "writes-go-to-held-blocks":
        (b,) = terms
        yield from [("blocks-are-listed-once", t, b) for t in (x.pending(b), x.table(a), x.table(SLOT))]


_STAMPED = (
    "the-stamp-is-its-stampers",
    "a-stamp-lasts-until-the-next-allocation",
    "an-owned-range-is-not-empty",
    "claimed-rows-are-the-stampers",
)
_RUNS = ("cold-build", "adopt-append", "adopt-only", "refuse", "decode", "draft", "deposit", "abort")
_HANDS_OVER = ("allocate", "cold-build", "adopt-append", "adopt-only", "refuse", "deposit", "abort")
_MOVES_BLOCKS = ("cold-build", "adopt-append", "refuse", "decode", "draft", "deposit", "abort")

TOUCHING = {
    **dict.fromkeys(["rows-are-of-the-session", "rows-agree", "rows-read-their-own-hidden"], ("allocate", *_RUNS)),
    **dict.fromkeys(["keys-increase", "keys-are-known", "guesses-lie-above"], ("allocate", *_RUNS)),
    **dict.fromkeys(["keys-have-tokens", "the-entry-has-rows"], (*_HANDS_OVER, "decode")),
    "generations-are-drawn": ("allocate", "draw-ticket"),
    "generations-are-unique": ("allocate",),
    **dict.fromkeys(
        _STAMPED,
        ("allocate", "write-chunk"),
    ),
    **dict.fromkeys(["holders-are-born", "tables-have-one-holder"], _HANDS_OVER),
    **dict.fromkeys(["the-entry-names-its-session", "the-slot-is-armed"], _HANDS_OVER),
    **dict.fromkeys(["blocks-are-listed-once", "blocks-are-in-one-table", "no-block-is-lost"], _MOVES_BLOCKS),
    **dict.fromkeys(["tables-with-blocks-are-held", "blocks-mean-rows"], ("allocate", "adopt-only", *_MOVES_BLOCKS)),
    "writes-go-to-held-blocks": ("land", *_MOVES_BLOCKS),
}
"""For each law the actions that change something it reads. Of all others one obligation shows that they change nothing."""


def _kept(model: ModuleType, laws: Laws, action: str, law: Law, world: World) -> Goal:
    """The law after one action, at arbitrary identities."""
    before = model.any_state()
    act = model.Act(world)
    step = model.ACTIONS[action](before, act)
    terms = identities(law.over)
    given = {**step.guard, _told(law.name, terms): law.says(before, *terms)}
    reads: list[Any] = []
    if law.name == "rows-read-their-own-hidden":
        h, r = terms
        reads.append(step.after.key(step.after.table(h), r))
    support = [*_support(law.name, before, act.actor, terms), *(("claimed-rows-are-the-stampers", k) for k in reads)]
    for name, *places in support:
        if name in laws:
            given[_told(name, places)] = laws[name].says(before, *places)
    blocks = [term for term, kind in zip(terms, law.over, strict=True) if kind == BLOCK]
    for each in step.each:
        for place in {POSITION: reads, BLOCK: blocks}[each.over]:
            given[f"{each.name}: {place}"] = each.says(place)
    variants = _variants(f"system/{law.name}/{action}", given, lambda lapse: _lapsed(model, law, lapse, before, step.after))
    return Goal(given=given, show=law.says(step.after, *terms), variants=variants)


def _variants(obligation: str, given: Mapping[str, Any], show: Callable[[Lapse], z3.BoolRef]) -> dict[str, Variant]:
    """What the claim says under each of its lapses."""
    lapses = lapses_of(obligation) if bound() is not None else ()
    return {lapse.name: Variant(without=lapse.spared(given), show=show(lapse)) for lapse in lapses}


def _lapsed(model: ModuleType, law: Law, lapse: Lapse, before: Any, after: Any) -> z3.BoolRef:
    """The law, at arbitrary identities, after a step with the lapse."""
    return law.says(lapse.after(model, before, after), *identities(law.over))


_APPENDED = ("keys-increase", "keys-are-known", "keys-have-tokens", "guesses-lie-above", "blocks-mean-rows")

_ASSUMED: Sequence[tuple[str, Sequence[str], Sequence[str]]] = (
    ("A1", ("adopt-append", "adopt-only"), ("rows-are-of-the-session",)),
    ("A2", ("allocate",), ("generations-are-drawn",)),
    ("A3", ("",), ("rows-are-what-their-holder-would-make",)),
    ("A4", ("adopt-append",), ("rows-read-their-own-hidden", *_APPENDED)),
    ("A4", ("write-chunk",), _STAMPED),
    ("A5", ("cold-build", "adopt-append"), ("rows-read-their-own-hidden",)),
    ("A5", ("cold-build", "refuse", "deposit", "abort"), ("writes-go-to-held-blocks",)),
    ("A6", ("replay",), ("launches-fit-the-batch-that-runs-them",)),
    ("A7", ("replay",), ("launches-fit-the-batch-that-runs-them",)),
)
"""What is assumed, at which actions, by which laws: what the unsat cores tell."""


def assumed(law: str, action: str = "") -> tuple[str, ...]:
    """The assumptions that an obligation rests on."""
    return tuple(assumption for assumption, actions, laws in _ASSUMED if action in actions and law in laws)


def _told(law: str, places: Sequence[Any]) -> str:
    where = ", ".join("SLOT" if place is SLOT else str(place) for place in places)
    return f"before: {law}({where})"


def _untouched(model: ModuleType, law: Law, world: World) -> Goal:
    """The law after each of the actions that change nothing it reads, whatever their guards."""
    before = model.any_state()
    terms = identities(law.over)
    after: dict[str, Any] = {}
    # What the rules say in these actions plays no part, so it goes to a telling and a world of its own.
    with telling(bound=bound()):
        for action in _others(model, law):
            after[action] = model.ACTIONS[action](before, model.Act(World(table=world.table), f"{action}.")).after
        kept = [law.says(state, *terms) for state in after.values()]
    given = {_told(law.name, terms): law.says(before, *terms)}
    variants = _variants(
        f"system/{law.name}/elsewhere", given, lambda lapse: _lapsed(model, law, lapse, before, after[lapse.action])
    )
    return Goal(given=given, show=z3.And(kept), variants=variants)


def _kept_in_part(model: ModuleType, laws: Laws, law: Law, support: Support, world: World) -> Goal:
    """The law after each of the actions that keep it however much they leave out: no guard is given, and any effects are lost."""
    before, terms = model.any_state(), identities(law.over)
    given, after = {_told(law.name, terms): law.says(before, *terms)}, dict[str, Any]()
    # As above.
    with telling(bound=bound()):
        for action in KEEPING[law.name]:
            act = model.Act(World(table=world.table), f"{action}.")
            after[action] = _made_in_part(model, before, model.ACTIONS[action](before, act).after, action)
            for name, *places in support(law.name, before, act.actor, terms):
                if name in laws and len(places) == len(laws[name].over):
                    given[_told(name, places)] = laws[name].says(before, *places)
        kept = [law.says(state, *terms) for state in after.values()]
    variants = _variants(f"system/{law.name}/in-part", given, lambda lapse: _lapsed(model, law, lapse, before, after[lapse.action]))
    return Goal(given=given, show=z3.And(kept), variants=variants)


def _made_in_part(model: ModuleType, before: Any, after: Any, action: str) -> Any:
    """The state after some of the changes, which ones is left open, and not the others."""

    def chosen(field: str, made: Any, lost: Any) -> Any:
        taken = z3.Bool(f"{action}.makes.{field}")
        if field in model.RECORDS:
            return Record(fields={part: z3.If(taken, made.fields[part], lost.fields[part]) for part in model.RECORDS[field]})
        if field in model.NUMBERS:
            return z3.If(taken, made, lost)
        return lambda *at: z3.If(taken, made(*at), lost(*at))

    fields = {field: (getattr(after, field), getattr(before, field)) for field in (*model.SHAPES, *model.NUMBERS, *model.RECORDS)}
    return before.but(**{field: chosen(field, *both) for field, both in fields.items() if both[0] is not both[1]})


def _others(model: ModuleType, law: Law) -> list[str]:
    return [action for action in model.ACTIONS if action not in TOUCHING[law.name]]


def _safe(model: ModuleType, laws: Laws, goal: Law) -> Goal:
    """What the laws are for, at arbitrary identities, from the laws alone."""
    x, terms = model.any_state(), identities(goal.over)
    support = [(name, places) for name, *places in _rests_on(goal.name, x, terms) if name in laws]
    given = {_told(name, places): laws[name].says(x, *places) for name, places in support}
    if goal.name == "rows-are-what-their-holder-would-make" and "rows-agree" in laws:
        s, r = terms
        maker, key = x.maker(x.table(s), r), x.key(x.table(s), r)
        agree = every("i", 0, key + 2, lambda i: laws["rows-agree"].says(x, s, r, i))
        given |= {
            "before: rows-agree(h, r, every i)": agree,
            "hidden states are functions of tokens (A3)": model.tokens_decide(maker, s, key),
        }
    show = goal.says(x, *terms)
    return Goal(given=given, show=show, variants=_variants(f"system/{goal.name}", given, lambda _: show))


def _rests_on(goal: str, x: Any, terms: Sequence[Any]) -> Iterator[Instance]:
    if goal == "no-foreign-rows":
        s, r, i = terms
        yield from [("rows-are-of-the-session", s, r), ("rows-agree", s, r, i)]
    if goal == "rows-are-what-their-holder-would-make":
        yield ("keys-are-known", *terms)
    if goal == "an-entry-has-no-more-rows-than-keys":
        first, last = z3.IntVal(0), x.rows(SLOT) - 1
        yield from [("keys-increase", SLOT, first, last), ("the-entry-has-rows",)]
        yield from [("keys-are-known", SLOT, first), ("keys-are-known", SLOT, last)]
    if goal == "every-row-read-is-its-writers":
        yield ("rows-read-their-own-hidden", *terms)
    if goal == "every-block-has-one-owner":
        h, b = terms
        home, table = x.home(b), x.table(h)
        yield from [("no-block-is-lost", b), ("tables-with-blocks-are-held", home, b)]
        yield from [("blocks-are-listed-once", home, b), ("blocks-are-listed-once", table, b)]
        yield from [("blocks-are-in-one-table", home, table, b), ("tables-have-one-holder", h, x.keeper(home))]
    if goal == "no-write-reaches-another-owner":
        h, b = terms
        yield from [("writes-go-to-held-blocks", b), ("blocks-are-listed-once", x.pending(b), b)]
        yield ("blocks-are-in-one-table", x.table(h), x.pending(b), b)
    if goal == "a-right-to-read-is-not-lost-silently":
        yield from [("a-stamp-lasts-until-the-next-allocation",), ("generations-are-drawn", x.stamper)]
        yield ("holders-are-born", x.stamper)
    if goal == "a-capture-is-shared-by-batches-alike":
        n, m, p = terms
        yield from [("launches-fit-the-batch-that-runs-them", n, p), ("launches-fit-the-batch-that-runs-them", m, p)]
    if goal == "the-slot-is-used-only-while-armed":
        yield ("the-slot-is-armed",)
    if goal == "checks-for-nothing-decide-nothing":
        yield from [("generations-are-drawn", *terms), ("holders-are-born", *terms)]
        yield from [("an-owned-range-is-not-empty",), ("the-entry-has-rows",), ("keys-have-tokens", SLOT)]


def claims_of(model: ModuleType, laws: Laws = LAWS) -> Register:
    """The obligations about a model of the carry (`spec.system`, or that module with a line changed) and an invariant."""
    register = Register("system")
    for goal in SAFETY.values():
        _safety(register, model, laws, goal)
    _initiation(register, model, "every-law", laws)
    for law in laws.values():
        for action in TOUCHING[law.name]:
            _consecution(register, model, laws, law, action, _kept)
        _elsewhere(register, model, law)
        _in_part(register, model, laws, law, _support)
    return register


def graph_claims_of(model: ModuleType, laws: Laws = GRAPH_LAWS) -> Register:
    """The same for the graph cache (`spec.system_graphs`)."""
    register = Register("system")
    for goal in GRAPH_SAFETY.values():
        _safety(register, model, laws, goal)
    _initiation(register, model, "every-graph-law", laws)
    for law in laws.values():
        for action in model.ACTIONS:
            _consecution(register, model, laws, law, action, _graph_kept)
        _in_part(register, model, laws, law, lambda name, x, actor, terms: iter([("captures-ran", terms[0])]))
    return register


def _graph_kept(model: ModuleType, laws: Laws, action: str, law: Law, world: World) -> Goal:
    """The law after one action on the graph cache, at arbitrary identities."""
    before, act = model.any_state(), model.Act(world)
    step = model.ACTIONS[action](before, act)
    n, *places = terms = identities(law.over)
    given = {**step.guard, _told(law.name, terms): law.says(before, *terms)}
    support: list[Instance] = [("captures-ran", n), ("runs-are-of-batches-that-ran", n)]
    if action == "replay":
        support += [
            ("captures-ran", act.number("earlier")),
            ("launches-fit-the-batch-that-runs-them", act.number("earlier"), *places),
        ]
    for name, *where in support:
        if name in laws and len(where) == len(laws[name].over):
            given[_told(name, where)] = laws[name].says(before, *where)
    for each in step.each:
        given |= {f"{each.name}: {place}": each.says(place) for place in places}
    variants = _variants(f"system/{law.name}/{action}", given, lambda lapse: _lapsed(model, law, lapse, before, step.after))
    return Goal(given=given, show=law.says(step.after, *terms), variants=variants)


def _safety(register: Register, model: ModuleType, laws: Laws, goal: Law) -> None:
    @register.theorem(goal.name, f"{goal.claim} It follows from the laws.", assumes=assumed(goal.name))
    def follows(world: World) -> Goal:
        return _safe(model, laws, goal)


def _initiation(register: Register, model: ModuleType, name: str, laws: Mapping[str, Law]) -> None:
    @register.theorem(f"{name}/initially", "In the initial state every law holds.")
    def initially(world: World) -> Goal:
        start = model.initial_state()

        def lawful(state: Any) -> z3.BoolRef:
            return z3.And([law.says(state, *identities(law.over)) for law in laws.values()])

        variants = _variants(f"system/{name}/initially", {}, lambda lapse: lawful(lapse.after(model, start, start)))
        return Goal(show=lawful(start), variants=variants)


def _consecution(register: Register, model: ModuleType, laws: Laws, law: Law, action: str, kept: Kept) -> None:
    claim = f"{law.claim} Kept by the action: {action}."

    @register.theorem(f"{law.name}/{action}", claim, assumes=assumed(law.name, action))
    def consecution(world: World) -> Goal:
        return kept(model, laws, action, law, world)


def _elsewhere(register: Register, model: ModuleType, law: Law) -> None:
    others = ", ".join(_others(model, law))

    @register.theorem(f"{law.name}/elsewhere", f"{law.claim} Untouched by the other actions: {others}.")
    def untouched(world: World) -> Goal:
        return _untouched(model, law, world)


def _in_part(register: Register, model: ModuleType, laws: Laws, law: Law, support: Support) -> None:
    if law.name not in KEEPING:
        return
    actions = ", ".join(KEEPING[law.name])

    @register.theorem(
        f"{law.name}/in-part", f"{law.claim} Kept, whatever conditions are skipped and whichever effects are lost, by: {actions}."
    )
    def kept(world: World) -> Goal:
        return _kept_in_part(model, laws, law, support, world)


CLAIMS = claims_of(spec.system)
CLAIMS.obligations += graph_claims_of(spec.system_graphs)


@CLAIMS.boundary(
    "slots-are-told-apart-beyond-32-bits",
    "Two batches of one member have different keys if their slots differ, even where slots do not fit 32 bits.",
    assumes=("A7",),
)
def slots_are_told_apart_beyond_32_bits(world: World) -> Goal:
    one, other, depth = world.some(USIZE, "one"), world.some(USIZE, "other"), world.some(U32, "depth")

    def packed(name: str, slot: z3.ArithRef) -> Seq:
        return Seq(name=name, length=z3.IntVal(1), at=lambda p: Record(fields={"slot": slot % 2**32, "k": depth}))

    key, is_key = world.answer("key", "verify_graph_key", packed("pairs", one), z3.BoolVal(False))
    other_key, is_other = world.answer("other_key", "verify_graph_key", packed("other_pairs", other), z3.BoolVal(False))
    return Goal(
        given={"key is the key": is_key, "other_key is the other's": is_other, "the slots differ": one != other},
        show=key.at(z3.IntVal(0)) != other_key.at(z3.IntVal(0)),
    )


@CLAIMS.boundary(
    "an-allocation-leaves-rights-alone",
    "A sequence that may read the hidden rows it wrote may still read them after another sequence is allocated.",
)
def an_allocation_leaves_rights_alone(world: World) -> Goal:
    before = spec.system.any_state()
    step = spec.system.allocate(before, spec.system.Act(world))
    reader, row = z3.Int("reader"), world.some(USIZE, "row")
    gen = before.generation(reader)
    seen, sees = world.answer("seen", "visible_to", before.stamp, gen)
    seen_after, sees_after = world.answer("seen_after", "visible_to", step.after.stamp, gen)
    return Goal(
        given={
            **step.guard,
            "another sequence runs": z3.And(reader != z3.Int("actor"), before.live(reader)),
            "the range is a machine value": RANGE.domain(before.stamp),
            "its generation is a machine value": USIZE.domain(gen),
            "what it may read": sees,
            "what it may read afterwards": sees_after,
            "it may read the row": inside(row, seen),
        },
        show=inside(row, seen_after),
    )


@CLAIMS.theorem(
    "a-clamped-append-never-starts-below-the-readable-rows",
    "The larger of the next key and the first readable row is not below the first readable row: a check for it decides nothing.",
)
def a_clamped_append_never_starts_below_the_readable_rows(world: World) -> Goal:
    next_key, low, high = (world.some(USIZE, name) for name in ("next_key", "hidden_lo", "hidden_hi"))
    first = z3.If(next_key < low, low, next_key)
    return Goal(show=z3.Not(low > first), witnesses={"it is clamped": z3.And(next_key < low, low < high)})


def _asked(world: World) -> tuple[Record, z3.ArithRef, Maybe, z3.BoolRef]:
    entry, prompt, asking = world.some(CARRIED, "entry"), world.some(TOKENS, "prompt"), world.some(USIZE, "session_hash")
    usable, uses = world.answer("usable", "usable_by", entry, prompt, asking)
    return entry, asking, usable, uses


@CLAIMS.boundary(
    "nothing-usable-means-a-foreign-session",
    "Where nothing of an entry is usable, the entry is another session's, or a session is unknown.",
)
def nothing_usable_means_a_foreign_session(world: World) -> Goal:
    entry, asking, usable, uses = _asked(world)
    return Goal(
        given={"usable is what usable_by gives": uses, "nothing is usable": z3.Not(usable.present)},
        show=z3.Or(entry.session_hash != asking, asking == 0),
    )


@CLAIMS.boundary(
    "nothing-usable-means-too-little-agrees",
    "Where nothing of an entry is usable, fewer than two tokens agree.",
)
def nothing_usable_means_too_little_agrees(world: World) -> Goal:
    entry, _, usable, uses = _asked(world)
    prompt = world.calls[-1].arguments["prompt"]
    return Goal(
        given={
            "usable is what usable_by gives": uses,
            "nothing is usable": z3.Not(usable.present),
            "the entry has rows and a key": z3.And(entry.rows > 0, entry.last_pair_key.present),
        },
        show=common_length(entry.tokens, prompt) < 2,
    )
