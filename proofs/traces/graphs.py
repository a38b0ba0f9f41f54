"""The graph cache in plain Python: the twin of `spec.system_graphs`, which asks the code for every key.

Written from DESIGN 1b: a dictionary from keys to captures, each with what it baked. An action whose condition does not hold
raises `Impossible`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from proofs.traces.machine import Runner
from proofs.traces.trace import Impossible

ABSENT_SLOT = 2**64 - 1


@dataclass
class Machine:
    """The graph cache for the batches of `given`, as a trace gives them."""

    given: Mapping[str, Any]
    run: Runner
    cache: dict[tuple[int, ...], set[int]] = field(default_factory=dict)
    """For each key the batches whose captures are cached under it."""
    captures: dict[int, dict[str, Any]] = field(default_factory=dict)
    ran: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._about = {about["id"]: about for about in self.given["batches"]}

    def step(self, action: str, choices: Mapping[str, Any]) -> None:
        """Takes one action. Impossible if its condition does not hold."""
        getattr(self, action)(**choices)

    def capture(self, actor: int) -> None:
        batch = self._unrun(actor)
        if ABSENT_SLOT in batch["slots"]:
            raise Impossible("every member has a slot")
        self.captures[actor] = self._needs(batch)
        self.cache.setdefault(self._key(batch), set()).add(actor)
        self.ran[actor] = actor

    def replay(self, actor: int, earlier: int) -> None:
        if earlier not in self.cache.get(self._key(self._unrun(actor)), ()):
            raise Impossible("the earlier capture is cached under an equal key")
        self.ran[actor] = earlier

    def evict(self, actor: int) -> None:
        if not any(actor in captures for captures in self.cache.values()):
            raise Impossible("it is cached")
        for captures in self.cache.values():
            captures.discard(actor)

    def _unrun(self, actor: int) -> Mapping[str, Any]:
        if actor in self.ran:
            raise Impossible("it has not run")
        about: Mapping[str, Any] = self._about[actor]
        return about

    def _key(self, batch: Mapping[str, Any]) -> tuple[int, ...]:
        pairs = [list(pair) for pair in zip(batch["slots"], batch["depths"], strict=True)]
        return tuple(self.run("verify_graph_key", {"pairs": pairs, "wy_tables_null": batch["wy_tables_null"]}))

    def _needs(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """What launches for the batch bake: the memory of each member's slot, the depths, whether there are tables."""
        pointers = list(batch["slots"])
        return {"pointers": pointers, "depths": list(batch["depths"]), "wy_tables_null": batch["wy_tables_null"]}

    def snapshot(self) -> dict[str, Any]:
        """The state, in the form of a trace's snapshots."""
        cached = sorted(c for captures in self.cache.values() for c in captures)
        ran = {str(n): source for n, source in sorted(self.ran.items())}
        return {"cached": cached, "captures": {str(n): c for n, c in sorted(self.captures.items())}, "ran": ran}

    def harms(self) -> set[tuple[str, tuple[int, ...]]]:
        """Everything that is wrong in this state: the name of what should hold, and the identities for which it does not."""
        found: set[tuple[str, tuple[int, ...]]] = set()
        for n, source in self.ran.items():
            needs, baked = self._needs(self._about[n]), self.captures[source]
            whole = len(needs["depths"]) == len(baked["depths"]) and needs["wy_tables_null"] == baked["wy_tables_null"]
            for p, (pointer, depth) in enumerate(zip(needs["pointers"], needs["depths"], strict=True)):
                if not whole or (pointer, depth) != (baked["pointers"][p], baked["depths"][p]):
                    found.add(("launches-fit-the-batch-that-runs-them", (n, p)))
        return found
