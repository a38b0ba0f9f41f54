"""What a campaign can search: the exhaustive sweeps of proofs/gpu, and random searches that are functions of seed and index.

A search answers for a range of indices on one backend: `numpy` (array expressions), `kernels` (the kernels built by the
host's compiler) or `cupy` (this process's first CUDA device). Leaves out how ranges are cut, spread and kept.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

import impl.batched as batched
from impl.batched.arrays import DeviceKernels, chosen_kernels
from impl.batched.kernels import source
from proofs.campaign import arrays, sources
from proofs.campaign.plants import Plant, plant_at
from proofs.gpu import machines
from proofs.gpu.conformance import answers
from proofs.gpu.scopes import SCOPES, Scope

BACKENDS = ("numpy", "kernels", "cupy")
SCALES = ("small", "host", "device", "stretch")
SEED_SHIFT = 40
"""Cases of another seed of `wide` begin 2^40 indices later."""


@dataclass(frozen=True, kw_only=True)
class Range:
    """What was found in a range: cases that broke the claim, the first of them, and how many the rule accepted."""

    broken: int
    first: int | None
    accepted: int


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call of the vector format and what the rule under test answered."""

    fn: str
    args: Mapping[str, Any]
    rule: Any = None


@dataclass(frozen=True, kw_only=True)
class Case:
    """A case read back from its index: in words or values, and the calls that it consists of."""

    told: Mapping[str, Any]
    calls: Sequence[Call]


class Search(Protocol):
    """A family of cases, one for each index."""

    @property
    def name(self) -> str:
        """Its name on the command line."""

    @property
    def claim(self) -> str:
        """What every case must show."""

    @property
    def seeded(self) -> bool:
        """Whether the cases depend on a seed."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The sources that decide its results (proofs.campaign.sources)."""

    @property
    def group(self) -> int:
        """Shards of a whole number of these share no work."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """The number of cases at each scale."""

    def look(self, backend: str, scale: str, seed: int, begin: int, end: int, plant: int | None) -> Range:
        """Look at cases begin to end - 1."""

    def case(self, backend: str, scale: str, seed: int, index: int, plant: int | None) -> Case:
        """Read a case back, with the answers of the rule under test."""


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A scope of proofs/gpu."""

    scope: Scope
    parts: tuple[str, ...] = sources.SWEEPS
    group: int = machines.SHARD_STEP

    @property
    def name(self) -> str:
        return self.scope.name

    @property
    def claim(self) -> str:
        return self.scope.claim

    @property
    def seeded(self) -> bool:
        return self.name == "wide"

    @property
    def sizes(self) -> Mapping[str, int]:
        return {scale: size.cases for scale, size in self.scope.sizes.items()}

    def planted(self, scale: str, plant: int | None) -> Plant | None:
        """The plant at this case. Errors: ValueError."""
        return None if plant is None else plant_at(self.scope, self.scope.sizes[scale], plant)  # type: ignore[index]

    def look(self, backend: str, scale: str, seed: int, begin: int, end: int, plant: int | None) -> Range:
        size, wrong, shift = self.scope.sizes[scale], self.planted(scale, plant), seed << SEED_SHIFT  # type: ignore[index]
        if backend == "numpy":
            rules = wrong.rules() if wrong else None
            broken, first, accepted = arrays.swept(self.name, size.defines, begin + shift, end + shift, rules)
        else:
            machine: machines.Machine = machines.Host() if backend == "kernels" else machines.Device(number=0)
            patches = wrong.patches() if wrong else ()
            tally = machine.sweep(self.scope, size, begin=begin + shift, end=end + shift, patches=patches)
            broken, first, accepted = tally.broken, tally.first, tally.accepted
        return Range(broken=broken, first=None if first is None else first - shift, accepted=accepted)

    def case(self, backend: str, scale: str, seed: int, index: int, plant: int | None) -> Case:
        size, wrong = self.scope.sizes[scale], self.planted(scale, plant)  # type: ignore[index]
        told = self.scope.decode(index + (seed << SEED_SHIFT), size.defines)
        asked: list[Call] = []

        def ask(fn: str, **args: Any) -> Any:
            (result,) = _asked([(fn, args)], backend, wrong)
            asked.append(Call(fn=fn, args=args, rule=result))
            return result

        _CALLS[self.scope.program](told, index, ask)
        return Case(told=told, calls=tuple(asked))


@dataclass(frozen=True, kw_only=True)
class _Asked:
    fn: str
    args: Mapping[str, Any]


@contextlib.contextmanager
def _patched(backend: str, plant: Plant | None) -> Any:
    with contextlib.ExitStack() as stack:
        patches = plant.patches() if plant else ()
        if backend == "kernels":
            stack.enter_context(batched.host_kernels(patches))
        elif backend == "cupy" and patches:
            stack.enter_context(chosen_kernels(DeviceKernels(source("batched.cu", patches=patches))))
        yield


def _asked(calls: Sequence[tuple[str, Mapping[str, Any]]], backend: str, plant: Plant | None = None) -> list[Any]:
    """What the rules under test answer, in the order of the calls."""
    given = [_Asked(fn=fn, args=args) for fn, args in calls]
    with _patched(backend, plant):
        if backend == "cupy":
            import cupy

            found = {id(one): result for one, result in answers(given, xp=cupy)}
        else:
            found = {id(one): result for one, result in answers(given)}
    results = [found[id(one)] for one in given]
    if plant is None or backend != "numpy":
        return results
    return [plant.answered(fn, args, result) for (fn, args), result in zip(calls, results, strict=True)]


Ask = Callable[..., Any]


def _of_carried(told: Mapping[str, Any], _: int, ask: Ask) -> None:
    tokens = list(range(told["common"]))
    entry = {"rows": told["rows"], "last_pair_key": told["last_pair_key"], "tokens": tokens}
    ask("usable_by", self={**entry, "session_hash": told["entry_session"]}, prompt=[*tokens, 99], session_hash=told["session_hash"])


def _of_append(told: Mapping[str, Any], _: int, ask: Ask) -> None:
    ask("plan_append", **told)


def _of_merge(told: Mapping[str, Any], _: int, ask: Ask) -> None:
    claim = {name: told[name] for name in ("owner", "lo", "hi")}
    stamped = ask("stamped_merge", cur=claim, **{name: told[name] for name in ("writer_gen", "start", "count")})
    if "panic" not in stamped:
        for reader in range(4):
            ask("visible_to", self=stamped, reader_gen=reader)


def _of_orders(told: Mapping[str, Any], index: int, ask: Ask) -> None:
    slots, ks = told["slots"], told["ks"]
    for canonical in (told["canonical"],) if "canonical" in told else (True, False):
        found = ask("verify_batch_order", slots=slots, ks=ks, canonical=canonical)
        if all(slot < 2**32 for slot in slots) and all(member < len(slots) for member in found[0]):
            pairs = [[slots[member], depth] for member, depth in zip(*found, strict=True)]
            ask("verify_graph_key", pairs=pairs, wy_tables_null=bool(index % 27 & 1))


def _of_network(told: Mapping[str, Any], index: int, ask: Ask) -> None:
    ask("verify_batch_order", slots=told["words"], ks=[2] * len(told["words"]), canonical=True)
    ask("verify_batch_order", slots=[2] * len(told["words"]), ks=told["words"], canonical=False)


def _of_sequences(told: Mapping[str, Any], _: int, ask: Ask) -> None:
    claim: Any = {"owner": 0, "lo": 0, "hi": 0}
    tickets, fresh = [0, 1, 2, 3], 4
    for sentence in told["trace"]:
        words = sentence.split()
        writer = int(words[1])
        if "allocated" in words:
            tickets[writer], fresh, claim = fresh, fresh + 1, {"owner": 0, "lo": 0, "hi": 0}
        else:
            lo, last = int(words[4]), int(words[6])
            claim = ask("stamped_merge", cur=claim, writer_gen=tickets[writer], start=lo, count=last + 1 - lo)
            if "panic" in claim:
                return
    for ticket in tickets:
        ask("visible_to", self=claim, reader_gen=ticket)


_CALLS: Mapping[str, Callable[[Mapping[str, Any], int, Ask], None]] = {
    "carried.cu": _of_carried,
    "append.cu": _of_append,
    "merge.cu": _of_merge,
    "orders.cu": _of_orders,
    "network.cu": _of_network,
    "wide.cu": _of_orders,
    "sequences.cu": _of_sequences,
}


@dataclass(frozen=True, kw_only=True)
class RandomCalls:
    """Random calls of every function, as `draftproof vectors` draws them, against the reference."""

    name: str = "random-calls"
    claim: str = "A random call of any function gives what the reference gives."
    seeded: bool = True
    parts: tuple[str, ...] = sources.CALLS
    group: int = 1
    sizes: Mapping[str, int] = field(default_factory=lambda: dict(zip(SCALES, (1 << 14, 1 << 20, 1 << 30, 1 << 40), strict=True)))

    # Calls of one function go into one batch.
    BATCH: ClassVar[int] = 4096

    def look(self, backend: str, scale: str, seed: int, begin: int, end: int, plant: int | None) -> Range:
        from proofs.replay import run

        broken, first, accepted = 0, None, 0
        for low in range(begin, end, self.BATCH):
            calls = [self._call(seed, index) for index in range(low, min(low + self.BATCH, end))]
            results = _asked(calls, backend)
            for at, ((fn, args), result) in enumerate(zip(calls, results, strict=True)):
                right = run(fn, args)
                accepted += right is not None and right is not False and right != {"panic": True}
                # True equals 1 in Python, and is no 1 in the vector format.
                if result != right or type(result) is not type(right):
                    broken += 1
                    first = low + at if first is None else first
        return Range(broken=broken, first=first, accepted=accepted)

    def case(self, backend: str, scale: str, seed: int, index: int, plant: int | None) -> Case:
        fn, args = self._call(seed, index)
        (result,) = _asked([(fn, args)], backend)
        return Case(told={"fn": fn, **args}, calls=(Call(fn=fn, args=args, rule=result),))

    @staticmethod
    def _call(seed: int, index: int) -> tuple[str, Mapping[str, Any]]:
        from random import Random

        from proofs.conform.draws import draw
        from spec.rules import RULES

        rules = tuple(RULES)
        rule = rules[index % len(rules)]
        random = Random(f"campaign {seed} {index}")
        return rule.name, draw(rule, random, longest=random.choice((3, 6, 6, 40)))


@dataclass(frozen=True, kw_only=True)
class RandomInterleavings:
    """Random runs of whole engines on real memory (proofs.gpu.engine_carry_runs): each case is one world's run.

    Worlds are run in blocks, each with a seed of its own, and a world's run depends on its block's seed and its place alone.
    Accepted are the worlds in which a warm turn adopted rows.
    """

    name: str = "random-interleavings"
    claim: str = "After every step of a random run no row is foreign, no block lost, and rows are those of a cold build."
    seeded: bool = True
    parts: tuple[str, ...] = sources.SWEEPS
    group: int = 256
    sizes: Mapping[str, int] = field(default_factory=lambda: dict(zip(SCALES, (1 << 9, 1 << 13, 1 << 20, 1 << 27), strict=True)))

    BLOCK: ClassVar[int] = group
    BLOCKS_OF_A_SEED: ClassVar[int] = 1 << 20

    def look(self, backend: str, scale: str, seed: int, begin: int, end: int, plant: int | None) -> Range:
        broken, first, accepted = 0, None, 0
        for block in range(begin // self.BLOCK, -(-end // self.BLOCK)):
            base = block * self.BLOCK
            within = slice(max(begin - base, 0), min(end - base, self.BLOCK))
            bad, adopted, _ = self._run(backend, seed, block)
            accepted += int(adopted[within].sum())
            if bad[within].any():
                broken += int(bad[within].sum())
                first = base + within.start + int(bad[within].argmax()) if first is None else first
        return Range(broken=broken, first=first, accepted=accepted)

    def case(self, backend: str, scale: str, seed: int, index: int, plant: int | None) -> Case:
        block, world = divmod(index, self.BLOCK)
        _, _, told = self._run(backend, seed, block, follow=world)
        return Case(told={"block_seed": self._seed(seed, block), "world": world, **told}, calls=())

    def _seed(self, seed: int, block: int) -> int:
        return seed * self.BLOCKS_OF_A_SEED + block

    def _run(self, backend: str, seed: int, block: int, follow: int | None = None) -> tuple[Any, Any, dict[str, Any]]:
        """Where a world broke a law, where one adopted rows, and what a followed world did up to its first harm."""
        from impl.engine.carry import Engines, Outcome
        from proofs.gpu.engine_carry_audit import harms
        from proofs.gpu.engine_carry_runs import ACTIONS, SIZE, Interleavings, moved, random_cast

        if backend == "cupy":
            import cupy as xp
        else:
            import numpy as xp
        number = self._seed(seed, block)
        with _patched(backend, None):
            engines = Engines(SIZE, moved(random_cast(number, self.BLOCK), xp), xp)
            runs = Interleavings(engines=engines, seed=number)
            bad, adopted = xp.zeros(self.BLOCK, np.bool_), xp.zeros(self.BLOCK, np.bool_)
            steps: list[str] = []
            broken: list[str] = []
            for built in runs.steps():
                found = harms(engines, rebuild=built)
                for count in found.values():
                    bad |= count > 0
                action, outcome = runs.log[-1]
                adopted |= (outcome == int(Outcome.ADOPTED)) | (outcome == int(Outcome.APPENDED))
                if follow is not None and not broken:
                    steps.append(f"{ACTIONS[int(action[follow])]}: {Outcome(int(outcome[follow])).name.lower()}")
                    broken = [law for law, count in found.items() if int(count[follow])]
        return (*(flags if xp is np else flags.get() for flags in (bad, adopted)), {"steps": steps, "broken": broken})


@functools.cache
def searches() -> Mapping[str, Search]:
    """Every search by its name."""
    found: list[Search] = [Sweep(scope=scope) for scope in SCOPES]
    found += [RandomCalls(), RandomInterleavings()]
    return {search.name: search for search in found}


def missing(backend: str) -> str | None:
    """Why a backend is not here, or None where it is."""
    if backend == "numpy":
        return None
    if backend == "kernels":
        return machines.host_compiler_here()
    present, reason = machines.devices_here()
    return None if present else reason
