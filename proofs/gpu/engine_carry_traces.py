"""The system's shortest runs to a harm, and to each action, replayed step by step on a real engine.

`carry_traces.json` beside this file has them as data, since the machine of a GPU has no solver; `python -m
proofs.gpu.engine_carry_traces --write` makes the file anew, and a test compares it with what the models give now. After each
step the engine's books, its hidden rows and its drafter rows are what the model's are: whose they are is read off the tags.
Left out are blocks, which the model hands out in any way and the engine as it needs them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
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
    return _parting("", _told(engines, after), {part: after[part] for part in PARTS})


PARTS = ("ticket", "stamp", "capture", "store", "holders")
"""What is compared of a state."""


def _parting(path: str, here: Any, model: Any) -> str:
    if isinstance(here, dict) and isinstance(model, Mapping) and here.keys() == model.keys():
        parts = ((f"{path} {name}", here[name], model[name]) for name in model)
    elif isinstance(here, list) and isinstance(model, list) and len(here) == len(model):
        parts = ((f"{path} {place}", one, other) for place, (one, other) in enumerate(zip(here, model, strict=True)))
    else:
        return "" if here == model else f"{path.strip()} is {_brief(here)} on the engine, {_brief(model)} in the model"
    return next((found for part in parts if (found := _parting(*part))), "")


def _brief(value: Any) -> str:
    return " and ".join(value) or "nothing" if isinstance(value, Mapping) else str(value)


def _told(engines: Any, after: Mapping[str, Any]) -> dict[str, Any]:
    """The engine's state as the model tells its own; where the model says nothing of a value, the model's."""

    def number(array: Any) -> int:
        return int(array)

    store = []
    _, tags = engines.store.settled(engines.xp.arange(engines.size.capacity))
    for p, (writer, position, landed) in enumerate(after["store"]):
        if writer == -1:
            # Fresh memory has no writer, and no position that counts.
            store.append([_signed(tags[p, 0]), position, landed])
        else:
            store.append([_signed(tags[p, 0]), _signed(tags[p, 2]), number(engines.store.stream[p]) == 0])
    return {
        "ticket": number(engines.ticket[0]),
        "stamp": {"owner": number(engines.owner[0]), "lo": number(engines.lo[0]), "hi": number(engines.hi[0])},
        "capture": {"owner": number(engines.capture_owner[0]), "length": number(engines.capture_length[0])},
        "store": store,
        "holders": {
            str(h): _holder(engines, h, after["holders"].get(str(h), {}))
            for h in range(engines.live.shape[1])
            if bool(engines.live[0, h])
        },
    }


def _holder(engines: Any, h: int, model: Mapping[str, Any]) -> dict[str, Any]:
    rows, extent = int(engines.rows[0, h]), int(engines.extent[0, h])
    told = {"table": int(engines.queue[0, h]), "rows": rows, "length": int(engines.length[0, h])}
    if h != SLOT:
        told["generation"] = int(engines.generation[0, h])
    if rows > 0:
        told["last_key"] = int(engines.last_key[0, h])
    if h == SLOT:
        told |= {"source": int(engines.source[0]), "session_hash": int(engines.entry_session[0])}
    drafter = []
    for r in range(extent):
        block = engines.table[:1, h, r // BLOCK_ROWS].astype(np.int64)
        _, tags = engines.pool.settled(engines.places(0, block, r % BLOCK_ROWS))
        maker, hidden_from = _signed(tags[0, 0]), _signed(tags[0, TAG])
        row = {"key": _signed(tags[0, 2]), "maker": maker, "hidden_from": hidden_from, "hidden_at": _signed(tags[0, TAG + 2])}
        beside = model.get("drafter", [])[r : r + 1]
        if beside and maker == -1:
            # The key of a guess is no more than a label; its tag says that it is nobody's.
            row["key"] = beside[0]["key"]
        if beside and hidden_from == -1:
            row["hidden_at"] = beside[0]["hidden_at"]
        drafter.append(row)
    return told | {"drafter": drafter}


def _signed(word: Any) -> int:
    value = int(word)
    return value - 2**64 if value >= 2**63 else value


# ---- the file


def found() -> str:
    """Search the traces with Z3, and return the text of the file."""
    return "[\n" + ",\n".join(json.dumps(entry) for entry in _searched()) + "\n]\n"


def _searched() -> Iterator[dict[str, Any]]:
    # The solver is loaded here alone.
    import spec.system as model
    from proofs.traces.faults import SYSTEM_FAULTS
    from proofs.traces.search import shortest, shortest_to
    from proofs.traces.settings import Carry
    from spec.rules import RULES

    def entry(name: str, tells: str, trace: Any) -> dict[str, Any]:
        if trace is None:
            raise RuntimeError(f"engine_carry_traces: no run for {name}")
        told = trace.as_json()
        steps = [{part: step[part] for part in ("action", "choices", "after")} for step in told["steps"]]
        return {"name": name, "tells": tells, "harm": trace.harm, "given": told["given"], "steps": steps}

    for action in model.ACTIONS:
        yield entry(f"reaches {action}", f"The right model takes {action}.", shortest_to(Carry(model=model), RULES, action).trace)
    for fault in SYSTEM_FAULTS.values():
        if not fault.of_graphs:
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
