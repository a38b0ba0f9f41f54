"""The system's shortest runs to a harm, and to each action, replayed step by step on a real engine.

`carry_traces.json` beside this file has them as data, since the machine of a GPU has no solver; `python -m
proofs.gpu.engine_carry_traces --write` makes the file anew, and a test compares it with what the models give now. After each
step the engine's books, its hidden rows and its drafter rows are what the model's are: whose they are is read off the tags.
Left out are blocks, which the model hands out in any way and the engine as it needs them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from impl.engine.carry import SLOT, TAG, Cast, EngineSize, Outcome
from impl.engine.head import HeadSize
from proofs.gpu.engine_carry_audit import harms
from proofs.gpu.engine_carry_faults import BY_NAME, NONE, Fault
from proofs.gpu.engine_carry_runs import moved

FILE = "carry_traces.json"

BLOCK_ROWS = 4
VOCABULARY = 16

_OPERATIONS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "allocate": ("allocate", ("DONE",)),
    "draw-ticket": ("draw_ticket", ("DONE",)),
    "write-chunk": ("write_chunk", ("DONE", "IGNORED")),
    "land": ("land", ("DONE",)),
    "cold-build": ("cold_turn", ("DONE",)),
    "adopt-append": ("warm_turn", ("APPENDED",)),
    "adopt-only": ("warm_turn", ("ADOPTED",)),
    "refuse": ("warm_turn", ("REFUSED",)),
    "decode": ("decode", ("DONE",)),
    "draft": ("draft", ("DONE",)),
    "deposit": ("deposit", ("DONE",)),
    "abort": ("abort", ("DONE",)),
}
"""For each action of the model the engine's operation, and the outcomes that are this action."""


@dataclass(frozen=True, kw_only=True)
class CarryTrace:
    """A trace. name: of its fault, or of the action that it reaches. harm: the law broken at its end, or nothing."""

    name: str
    tells: str
    harm: str
    given: Mapping[str, Any]
    steps: tuple[Mapping[str, Any], ...]

    @property
    def fault(self) -> Fault:
        """The engine's fault of that name; of a trace that comes to no harm, none."""
        return BY_NAME[self.name] if self.harm else NONE


def carry_traces() -> tuple[CarryTrace, ...]:
    """Return the traces of the file."""
    entries = json.loads(resources.files("proofs.gpu").joinpath(FILE).read_text(encoding="utf-8"))
    return tuple(CarryTrace(**{**entry, "steps": tuple(entry["steps"])}) for entry in entries)


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """What a run on the engine came to.

    taken: how many steps were the actions of the trace, with the model's state after each. differs: what was not, at the
    first step where something was not. harms: the laws broken after the last step; before: whether the trace's harm was
    there earlier. unequal: drafter rows whose bits are not a cold build's.
    """

    taken: int
    differs: str
    harms: frozenset[str]
    before: bool
    unequal: int


def replayed(trace: CarryTrace, fault: Fault, xp: Any, *, coloured: bool = False, **options: Any) -> Replayed:
    """Run a trace on an engine with a fault, on the arrays of module xp.

    After a difference the run goes on, with what the engine can do. coloured: each sequence has tokens of its own, so that
    what is another's also has other bits. options: as those of Engines.
    """
    engines = fault.engines(_size(trace.given), moved(_cast(trace.given, coloured), xp), xp, **options)
    taken, differs, before, found = 0, "", False, {}
    for number, step in enumerate(trace.steps, start=1):
        before = before or trace.harm in found
        difference = _step(engines, step, xp) or _difference(engines, step["after"])
        if difference and not differs:
            differs = f"step {number}, {step['action']}: {difference}"
        taken += not differs
        found = {name: int(count[0]) for name, count in harms(engines).items() if int(count[0])}
    unequal = found.get("rows-are-what-their-holder-would-make", 0)
    return Replayed(taken=taken, differs=differs, harms=frozenset(found), before=before, unequal=unequal)


def _size(given: Mapping[str, Any]) -> EngineSize:
    longest = len(given["sequences"][0]["tokens"])
    head = HeadSize(hidden=16, heads=2, head_size=4, vocabulary=VOCABULARY, positions=longest + 2)
    return EngineSize(head=head, capacity=given["capacity"], block_rows=BLOCK_ROWS, blocks=2 * -(-longest // BLOCK_ROWS))


def _cast(given: Mapping[str, Any], coloured: bool) -> Cast:
    about = [dict.fromkeys(given["sequences"][0], 0) | {"tokens": [0], "hidden": [0]}, *given["sequences"]]
    longest = len(given["sequences"][0]["tokens"])

    def column(name: str, dtype: Any) -> Any:
        return np.array([[one[name] for one in about]], dtype)

    def rows(name: str, dtype: Any) -> Any:
        table = np.zeros((1, len(about), longest), dtype)
        for s, one in enumerate(about):
            table[0, s, : len(one[name])] = one[name]
        return table

    tokens = rows("tokens", np.uint32)
    if coloured:
        tokens += np.arange(len(about), dtype=np.uint32)[:, None] * 2
    return Cast(
        tokens=tokens,
        prompt_len=column("prompt_len", np.uint64),
        session_hash=column("session_hash", np.uint64),
        session=column("session", np.int64),
        carry=np.array([given["cfg"]["carry"]]),
        multi_seq=np.array([given["multi_seq"]]),
        content=rows("hidden", np.uint64),
    )


def _step(engines: Any, step: Mapping[str, Any], xp: Any) -> str:
    """Take a step. Returns what the engine did in its place, or nothing if it did this."""
    operation, expected = _OPERATIONS[step["action"]]
    choices, arguments = step["choices"], [xp.zeros(1, np.int64)]
    if "actor" in choices:
        arguments.append(xp.full(1, choices["actor"], np.int64))
    if "start" in choices:
        arguments += [xp.full(1, choices[name], np.uint64) for name in ("start", "count")]
    outcome = int(getattr(engines, operation)(*arguments)[0])
    name = Outcome(outcome).name
    return "" if name in expected else f"the engine says {name.lower().replace('_', ' ')}"


def _difference(engines: Any, after: Mapping[str, Any]) -> str:
    """The first part of the state that is not the model's."""
    return parting(told(engines, after), {part: after[part] for part in PARTS})


PARTS = ("ticket", "stamp", "capture", "store", "holders")
"""What is compared of a state."""


def parting(here: Any, model: Any, path: str = "") -> str:
    """Where two states first differ, in words, or nothing where they do not."""
    if isinstance(here, dict) and isinstance(model, Mapping) and here.keys() == model.keys():
        parts = ((here[name], model[name], f"{path} {name}") for name in model)
    elif isinstance(here, list) and isinstance(model, list) and len(here) == len(model):
        parts = ((one, other, f"{path} {place}") for place, (one, other) in enumerate(zip(here, model, strict=True)))
    else:
        return "" if here == model else f"{path.strip()} is {_brief(here)} on the engine, {_brief(model)} in the model"
    return next((found for part in parts if (found := parting(*part))), "")


def _brief(value: Any) -> str:
    return " and ".join(value) or "nothing" if isinstance(value, Mapping) else str(value)


def told(engines: Any, after: Mapping[str, Any], world: int = 0) -> dict[str, Any]:
    """A world's state as the model tells its own; where the model says nothing of a value, what `after` has there."""
    store = []
    at = engines.xp.arange(engines.size.capacity) + world * engines.size.capacity
    _, tags = engines.store.settled(at)
    for p, (writer, position, _) in enumerate(after["store"]):
        # Fresh memory has no writer, and no position that counts; nothing lands there either.
        landed = writer != -1 and int(engines.store.stream[at[p]]) == 0
        here = position if writer == -1 else _signed(tags[p, 2])
        store.append([_signed(tags[p, 0]), here, landed if writer != -1 else after["store"][p][2]])
    return {
        "ticket": int(engines.ticket[world]),
        "stamp": {"owner": int(engines.owner[world]), "lo": int(engines.lo[world]), "hi": int(engines.hi[world])},
        "capture": {"owner": int(engines.capture_owner[world]), "length": int(engines.capture_length[world])},
        "store": store,
        "holders": {
            str(h): _holder(engines, world, h, after["holders"].get(str(h), {}))
            for h in range(engines.live.shape[1])
            if bool(engines.live[world, h])
        },
    }


def _holder(engines: Any, world: int, h: int, model: Mapping[str, Any]) -> dict[str, Any]:
    at = world, h
    rows, extent = int(engines.rows[at]), int(engines.extent[at])
    here = {"table": int(engines.queue[at]), "rows": rows, "length": int(engines.length[at])}
    if h != SLOT:
        here["generation"] = int(engines.generation[at])
    if rows > 0:
        here["last_key"] = int(engines.last_key[at])
    if h == SLOT:
        here |= {"source": int(engines.source[world]), "session_hash": int(engines.entry_session[world])}
    drafter = []
    for r in range(extent):
        block = engines.table[world, h : h + 1, r // engines.size.block_rows].astype(np.int64)
        _, tags = engines.pool.settled(engines.places(world, block, r % engines.size.block_rows))
        maker, hidden_from = _signed(tags[0, 0]), _signed(tags[0, TAG])
        row = {"key": _signed(tags[0, 2]), "maker": maker, "hidden_from": hidden_from, "hidden_at": _signed(tags[0, TAG + 2])}
        beside = model.get("drafter", [])[r : r + 1]
        if beside and maker == -1:
            # The key of a guess is no more than a label; its tag says that it is nobody's.
            row["key"] = beside[0]["key"]
        if beside and hidden_from == -1:
            row["hidden_at"] = beside[0]["hidden_at"]
        drafter.append(row)
    return here | {"drafter": drafter}


def _signed(word: Any) -> int:
    value = int(word)
    return value - 2**64 if value >= 2**63 else value


# ---- the file


def found() -> str:
    """Search the traces with Z3, and return the text of the file."""
    return "[\n" + ",\n".join(json.dumps(entry) for entry in searched()) + "\n]\n"


def searched(only: Collection[str] | None = None) -> Iterator[dict[str, Any]]:
    """Search the traces of these names, or all, and tell them as the file has them."""
    # The solver is loaded here alone.
    import spec.system as model
    from proofs.traces.faults import SYSTEM_FAULTS
    from proofs.traces.search import shortest, shortest_to
    from proofs.traces.settings import Carry
    from spec.rules import RULES

    def entry(name: str, tells: str, trace: Any) -> dict[str, Any]:
        if trace is None:
            raise RuntimeError(f"engine_carry_traces: no run for {name}")
        data = trace.as_json()
        steps = [{part: step[part] for part in ("action", "choices", "after")} for step in data["steps"]]
        return {"name": name, "tells": tells, "harm": trace.harm, "given": data["given"], "steps": steps}

    for action in model.ACTIONS:
        if only is None or f"reaches {action}" in only:
            found = shortest_to(Carry(model=model), RULES, action).trace
            yield entry(f"reaches {action}", f"The right model takes {action}.", found)
    for fault in SYSTEM_FAULTS.values():
        if not fault.of_graphs and (only is None or fault.name in only):
            yield entry(fault.name, fault.tells, shortest(fault.setting(), fault.rules(), fault.law()).trace)


def main(arguments: list[str]) -> int:
    """Write the file, or say whether it is up to date: 0 if it is, 1 if not, 2 for other arguments."""
    path = Path(__file__).with_name(FILE)
    if arguments not in ([], ["--write"]):
        print("usage: python -m proofs.gpu.engine_carry_traces [--write]", file=sys.stderr)
        return 2
    now = found()
    if arguments:
        path.write_text(now, encoding="utf-8")
        return 0
    same = path.is_file() and path.read_text(encoding="utf-8") == now
    print(f"{path} is {'up to date' if same else 'stale; --write makes it anew'}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
