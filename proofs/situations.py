"""Engine situations: what the rules say in cases that the engine met, told by the models and by the code, and compared.

Every step asks the code for its result, and the model whether it allows that result and no other. What is then shown
is compared with what the situation must come to (DESIGN, section 1), so a situation fails where model and code differ
or where both have moved. Sequences of thousands of tokens are told to the model by a formula for the token at an index.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import z3

from proofs.judge import Runner
from proofs.smt import fresh_context
from spec.machine import Profile
from spec.rules import Rules
from spec.scope import telling
from spec.sorts import CARRIED, Concrete, Record, Seq


@dataclass(frozen=True, kw_only=True)
class Fact:
    """One thing shown: what it is, what it came to, and what it must come to."""

    tells: str
    found: Concrete
    expected: Concrete

    @property
    def holds(self) -> bool:
        """It came to what it must."""
        return bool(self.found == self.expected)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What a situation came to. `differences` are the steps on which the model does not say what the code says."""

    id: str
    facts: tuple[Fact, ...]
    calls: int
    differences: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Model and code agreed on every step, and every fact is as it must be."""
        return not self.differences and all(fact.holds for fact in self.facts)


@dataclass(kw_only=True)
class Stage:
    """Runs steps on both sides and keeps count."""

    run: Runner
    rules: Rules
    calls: int = 0
    differences: list[str] = field(default_factory=list)

    def step(self, rule: str, *values: Concrete, terms: Mapping[str, Callable[[], Any]] | None = None) -> Any:
        """The code's result for these arguments, compared with the model's.

        `terms` tells some of the arguments to the model by formula; its functions are called in the model's context.
        """
        arguments = dict(zip(self.rules[rule].params, values, strict=True))
        result = self.run(rule, arguments)
        if not self._is_the_only_one(rule, arguments, terms or {}, result):
            told = ", ".join(f"{name}={_brief(value)}" for name, value in arguments.items())
            self.differences.append(f"{rule}({told}): the model does not give the code's {_brief(result)}")
        self.calls += 1
        return result

    def _is_the_only_one(self, name: str, arguments: Mapping[str, Concrete], terms: Mapping[str, Any], result: Concrete) -> bool:
        fresh_context()
        rule = self.rules[name]
        size = None if terms else max((_length(value) for value in arguments.values()), default=0)
        with telling(bound=size) as block:
            literals = {n: terms[n]() if n in terms else s.literal(arguments[n], n) for n, s in rule.params.items()}
            answer, code = rule.result.fresh("result"), rule.result.literal(result, "code")
            allowed = z3.And(rule.result.domain(answer), rule.holds(literals, answer, Profile.DEBUG))
            is_codes = rule.result.same(answer, code)
            rest = [*block.definitions.values(), *block.limits]
        given = z3.And(allowed, *rest)
        return _answer(given, is_codes) == "sat" and _answer(given, z3.Not(is_codes)) == "unsat"


def _answer(*formulas: z3.BoolRef) -> str:
    solver = z3.Solver()
    solver.set("rlimit", 20_000_000)
    solver.add(*formulas)
    return str(solver.check())


def _length(value: Concrete) -> int:
    if isinstance(value, Mapping):
        return max((_length(part) for part in value.values()), default=0)
    if isinstance(value, list):
        return max([len(value), *map(_length, value)])
    return 0


def _brief(value: Concrete) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


@dataclass(frozen=True, kw_only=True)
class EngineSituation:
    """A named situation and the steps that play it."""

    id: str
    tells: str
    play: Callable[[Stage], Sequence[Fact]]

    def show(self, run: Runner, rules: Rules) -> Shown:
        """Plays the situation on the code and on the models."""
        stage = Stage(run=run, rules=rules)
        facts = tuple(self.play(stage))
        return Shown(id=self.id, facts=facts, calls=stage.calls, differences=tuple(stage.differences))


# Two prefills that interleave in the one hidden store.

FIRST, SECOND = 1, 2
CHUNKS = ((FIRST, 0, 512), (SECOND, 0, 640), (FIRST, 512, 512))
"""(generation, start, count) of each prefill chunk, in the order of the writes."""


def _interleaved_prefill(stage: Stage) -> Sequence[Fact]:
    stamp: Any = {"owner": 0, "lo": 0, "hi": 0}
    unstamped: Any = [0, 0]
    writer: dict[int, int] = {}
    for generation, start, count in CHUNKS:
        stamp = stage.step("stamped_merge", stamp, generation, start, count)
        unstamped = stage.step("merge_interval", unstamped, start, count)
        writer |= dict.fromkeys(range(start, start + count), generation)
    facts = []
    for name, generation, rows in (("first", FIRST, [512, 1024]), ("second", SECOND, [0, 0])):
        seen: Any = stage.step("visible_to", stamp, generation)
        facts.append(Fact(tells=f"rows that the {name} sequence may read", found=seen, expected=rows))
        facts.append(
            Fact(
                tells="of these, rows that another wrote last",
                found=sum(writer[row] != generation for row in range(*seen)),
                expected=0,
            )
        )
    facts.append(Fact(tells="rows that both would read without the stamp", found=unstamped, expected=[0, 1024]))
    for name, generation, foreign in (("first", FIRST, 512), ("second", SECOND, 512)):
        wrong = sum(writer[row] != generation for row in range(*unstamped))
        facts.append(Fact(tells=f"of these, rows foreign to the {name} sequence", found=wrong, expected=foreign))
    return facts


# A warm turn whose chat template re-tokenised the end of the history.

HISTORY, RETOKENISED, NEW = 10_098, 3, 254
SNAPSHOT = 10_048
"""The warm turn's own prefill begins after this many reused tokens, so its hidden rows do."""
SESSION = 0x5EED


def _retokenised_turn(stage: Stage) -> Sequence[Fact]:
    kept, prompt_len = HISTORY - RETOKENISED, HISTORY + NEW
    tokens = list(range(HISTORY))
    prompt = [i if i < kept else i + 20_000 for i in range(prompt_len)]
    entry = {"rows": HISTORY - 1, "last_pair_key": HISTORY - 2, "tokens": tokens, "session_hash": SESSION}

    def entry_term() -> Record:
        short = CARRIED.literal({**entry, "tokens": []})
        return Record(fields={**short.fields, "tokens": Seq(name="tokens", length=z3.IntVal(HISTORY), at=_as_term)})

    def prompt_term() -> Seq:
        return Seq(name="prompt", length=z3.IntVal(prompt_len), at=lambda i: z3.If(i < kept, i, i + 20_000))

    terms = {"self": entry_term, "prompt": prompt_term}
    common = stage.step("common_prefix_len", entry, prompt, terms=terms)
    adopted: Any = stage.step("usable_by", entry, prompt, SESSION, terms=terms)
    stamp: Any = {"owner": 0, "lo": 0, "hi": 0}
    stamp = stage.step("stamped_merge", stamp, FIRST, SNAPSHOT, prompt_len - SNAPSHOT)
    lo, hi = stage.step("visible_to", stamp, FIRST)
    plan = stage.step("plan_append", adopted[1], prompt_len, lo, hi)
    return (
        Fact(tells="tokens that history and prompt share", found=common, expected=10_095),
        Fact(tells="rows adopted, and their last key", found=adopted, expected=[10_094, 10_093]),
        Fact(tells="keys appended", found=plan, expected={"first_key": 10_094, "rows": 257}),
    )


def _as_term(index: Any) -> Any:
    return z3.IntVal(index) if isinstance(index, int) else index


# How many graph keys a batch of one set of slots can get.

SLOTS, DEPTHS = list(range(8)), (2, 3, 4)
ARRANGEMENTS = tuple(product(DEPTHS, repeat=len(SLOTS)))
KEPT = 12
"""At width 8 the planner may prune 16 positions and keeps 3/4 of them; each adds one to its member's depth of 2."""


def _keys(run: Runner, arrangements: Sequence[Sequence[int]], canonical: bool) -> int:
    """How many distinct keys the code gives to members in SLOTS with these depths."""

    def key(ks: Sequence[int]) -> Any:
        order = run("verify_batch_order", {"slots": SLOTS, "ks": list(ks), "canonical": canonical})
        return run("verify_graph_key", {"pairs": _pairs(order), "wy_tables_null": False})

    return len({tuple(key(ks)) for ks in arrangements})


def _pairs(order: Any) -> list[list[int]]:
    return [[SLOTS[member], depth] for member, depth in zip(*order, strict=True)]


def _planned_keys(stage: Stage) -> Sequence[Fact]:
    planned = [ks for ks in ARRANGEMENTS if sum(k - 2 for k in ks) == KEPT]
    # The model is asked about one arrangement of each multiset, shallow members first, so that the deal moves depths.
    multisets = dict.fromkeys(tuple(sorted(ks)) for ks in planned)
    for ks, canonical in (*((ks, True) for ks in multisets), (planned[0], False)):
        order = stage.step("verify_batch_order", SLOTS, list(ks), canonical)
        stage.step("verify_graph_key", _pairs(order), False)
    return (
        Fact(tells="arrangements that the planner can make", found=len(planned), expected=266),
        Fact(tells="their keys in the other arm", found=_keys(stage.run, planned, False), expected=266),
        Fact(tells="their keys in the canonical arm", found=_keys(stage.run, planned, True), expected=3),
    )


def _all_keys(stage: Stage) -> Sequence[Fact]:
    return (
        Fact(tells="keys in the other arm", found=_keys(stage.run, ARRANGEMENTS, False), expected=6561),
        Fact(tells="keys in the canonical arm", found=_keys(stage.run, ARRANGEMENTS, True), expected=45),
    )


SITUATIONS = (
    EngineSituation(
        id="situations/interleaved-prefill",
        tells="The first sequence writes rows 0-511, the second rows 0-639, the first rows 512-1023.",
        play=_interleaved_prefill,
    ),
    EngineSituation(
        id="situations/retokenised-warm-turn",
        tells="A warm turn of 10,352 tokens; the chat template re-tokenised the last 3 of a history of 10,098.",
        play=_retokenised_turn,
    ),
    EngineSituation(
        id="situations/planned-graph-keys",
        tells="Eight members in slots 0-7, and every arrangement of depths that the planner can make.",
        play=_planned_keys,
    ),
    EngineSituation(
        id="situations/all-graph-keys",
        tells="Eight members in slots 0-7, and every arrangement of depths 2, 3 and 4.",
        play=_all_keys,
    ),
)
"""The situations, in the order in which they are shown."""
