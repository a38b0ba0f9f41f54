"""The shortest runs of the graph cache's model to its harm, as data: a GPU's machine replays them and has no solver.

`graph_traces.json` beside this file has a trace for each fault of the graph cache, and for each fault of the key's rule that
comes to a wrong launch; and, for each action of the right model, one that reaches it. `python -m proofs.gpu.engine_traces
--write` makes the file anew, and a test compares it with what the models give now.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

FILE = "graph_traces.json"


@dataclass(frozen=True, kw_only=True)
class GraphTrace:
    """A trace and what it is of.

    fault: whether its end is a harm. told: the key of these words is what the trace says, as the fault is in the key's rule.
    pointers: whose memory launches use, slots or members. given, steps, harm, place: as proofs.traces.trace.Trace.
    """

    name: str
    tells: str
    fault: bool
    told: bool
    pointers: str
    given: Mapping[str, Any]
    steps: tuple[Mapping[str, Any], ...]
    place: tuple[int, ...]

    @property
    def keys(self) -> dict[tuple[Any, ...], tuple[int, ...]]:
        """The keys that the trace tells, by pairs and tables."""
        calls = [call for step in self.steps for call in step["calls"]]
        return {
            (tuple(map(tuple, call["arguments"]["pairs"])), call["arguments"]["wy_tables_null"]): tuple(call["result"])
            for call in calls
        }


def graph_traces() -> tuple[GraphTrace, ...]:
    """Return the traces of the file."""
    entries = json.loads(resources.files("proofs.gpu").joinpath(FILE).read_text(encoding="utf-8"))
    return tuple(
        GraphTrace(
            name=entry["name"],
            tells=entry["tells"],
            fault=entry["fault"],
            told=entry["told"],
            pointers=entry["pointers"],
            given=entry["trace"]["given"],
            steps=tuple(entry["trace"]["steps"]),
            place=tuple(entry["trace"]["place"]),
        )
        for entry in entries
    )


def found() -> str:
    """Search the traces with Z3, and return the text of the file."""
    return "[\n" + ",\n".join(json.dumps(entry) for entry in _searched()) + "\n]\n"


def _searched() -> Iterator[dict[str, Any]]:
    # The solver is loaded here alone.
    import spec.system_graphs as model
    from proofs.faults import rules_of
    from proofs.faults.key import FAULTS
    from proofs.traces.faults import SYSTEM_FAULTS
    from proofs.traces.search import shortest, shortest_to
    from proofs.traces.settings import Graphs
    from spec.rules import RULES
    from spec.system_laws import GRAPH_LAWS

    def entry(name: str, tells: str, trace: Any, *, fault: bool, told: bool, pointers: str = "slots") -> dict[str, Any]:
        return {"name": name, "tells": tells, "fault": fault, "told": told, "pointers": pointers, "trace": trace.as_json()}

    for action in model.ACTIONS:
        reached = shortest_to(Graphs(model=model), RULES, action).trace
        if reached is None:
            raise RuntimeError(f"engine_traces: no run of the right model takes {action}")
        yield entry(f"reaches {action}", f"The right model takes {action}.", reached, fault=False, told=False)
    for system in SYSTEM_FAULTS.values():
        if not system.of_graphs:
            continue
        harmed = shortest(system.setting(), system.rules(), system.law()).trace
        if harmed is None:
            raise RuntimeError(f"engine_traces: {system.name} comes to no harm")
        told = not system.patch.module.startswith("system")
        pointers = "slots" if told else "members"
        yield entry(system.name, system.tells, harmed, fault=True, told=told, pointers=pointers)
    law = GRAPH_LAWS["launches-fit-the-batch-that-runs-them"]
    for fault in FAULTS:
        harmed = shortest(Graphs(model=model), rules_of("key", fault.patch.apply()), law, limit=3).trace
        if harmed is not None:
            yield entry(fault.name, fault.tells, harmed, fault=True, told=True)


def main(arguments: list[str]) -> int:
    """Write the file, or say whether it is up to date: 0 if it is, 1 if not, 2 for other arguments."""
    path = Path(__file__).with_name(FILE)
    if arguments not in ([], ["--write"]):
        print("usage: python -m proofs.gpu.engine_traces [--write]", file=sys.stderr)
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
