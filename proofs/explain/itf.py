"""An explanation in the ITF format, which viewers of TLA+ and Quint traces open."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import itf_py

from proofs.explain.explanation import Explanation
from proofs.traces import graphs, machine

_NOTHING = "nothing"


def as_itf(explanation: Explanation) -> dict[str, Any]:
    """One state before the first step and one after each; of rule calls one state each. Needs a counterexample."""
    trace = explanation.trace
    if trace is not None:
        twin = graphs if "batches" in trace.given else machine
        first = twin.Machine(given=trace.given, run=_asks_nothing).snapshot()
        states = [{"action": "start", "choices": {}, **first}]
        states += [{"action": step.action, "choices": step.choices, **step.after} for step in trace.steps]
    else:
        states = [
            {"rule": call.rule, "arguments": call.arguments, "gives": call.gives, "right": call.right} for call in explanation.calls
        ]
    names = list(states[0]) if states else []
    told = itf_py.Trace(
        meta={"source": explanation.obligation, "description": explanation.claim},
        params=[],
        vars=names,
        states=[
            itf_py.State(meta={"index": i}, values={name: _value(state[name]) for name in names}) for i, state in enumerate(states)
        ],
        loop=None,
    )
    found: dict[str, Any] = itf_py.trace_to_json(told)
    # A run that does not repeat has no loop; some readers refuse a null there.
    del found["loop"]
    return found


def _asks_nothing(rule: str, arguments: Any) -> Any:
    raise RuntimeError(f"as_itf: the initial state asks {rule}; it must ask no rule")


def _value(value: Any) -> Any:
    if value is None:
        return _NOTHING
    if isinstance(value, (list, tuple)):
        return [_value(part) for part in value]
    if isinstance(value, dict):
        if value and all(key.isdigit() for key in value):
            return {int(key): _value(part) for key, part in value.items()}
        return SimpleNamespace(**{key.replace("-", "_"): _value(part) for key, part in value.items()})
    return value
