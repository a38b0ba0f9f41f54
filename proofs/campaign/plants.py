"""A drill: the rule gives one wrong answer, at the arguments of one case, and the campaign must find it.

The answer that is planted accepts what must be refused, or refuses what must be accepted. On NumPy arrays the rule is
wrapped; in the kernels its text is patched, in the rule itself, so that everything after it is as it always is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import impl.batched as batched
from impl.batched import Status
from impl.batched.kernels import Patch
from proofs.campaign.arrays import Rules
from proofs.gpu.scopes import Scope, Size

_APPEND = "    if (has_key & (last_key == largest<T>())) return Status::Overflow;\n"
_STAMP = "    stamped = {writer, merged.lo, merged.hi};\n    return status;\n"

# The rule's arguments in its kernel, by their names in a decoded case.
_NAMES: Mapping[str, Mapping[str, str]] = {
    "plan_append": {"last_pair_key": "last_key", "prompt_len": "prompt_len", "hidden_lo": "lo", "hidden_hi": "hi"},
    "stamped_merge": {
        "owner": "claim.owner", "lo": "claim.lo", "hi": "claim.hi", "writer_gen": "writer", "start": "start", "count": "count"
    },
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Plant:
    """The arguments that the rule answers wrongly."""

    rule: str
    arguments: Mapping[str, int]

    def patches(self) -> tuple[Patch, ...]:
        """The same in the kernels' text."""
        names = _NAMES[self.rule]
        here = " & ".join(f"({names[name]} == static_cast<T>({value}ull))" for name, value in self.arguments.items())
        if self.rule == "plan_append":
            right = "has_key & (last_key != largest<T>()) & (first < end) & (end <= hi)"
            wrong = f"    if ({here}) return {right} ? Status::None : Status::Ok;\n{_APPEND}"
            return (Patch(file="carry.cuh", before=_APPEND, after=wrong),)
        wrong = _STAMP.replace("return status", f"return {here} ? (status == Status::Ok ? Status::Overflow : Status::Ok) : status")
        return (Patch(file="carry.cuh", before=_STAMP, after=wrong),)

    def rules(self) -> Rules:
        """The rules with the wrong answer in them."""
        if self.rule == "plan_append":
            return Rules(plan_append=self._wrapped(batched.plan_append, self._append_here, Status.NONE))
        return Rules(stamped_merge=self._wrapped(batched.stamped_merge, self._merge_here, Status.OVERFLOW))

    def answered(self, rule: str, arguments: Mapping[str, Any], result: Any) -> Any:
        """What the wrapped rule answers to a call of the vector format, where the right one gives `result`."""
        flat = {**arguments.get("cur", {}), **{name: value for name, value in arguments.items() if name != "cur"}}
        if rule != self.rule or flat != dict(self.arguments):
            return result
        if rule == "plan_append":
            return {"first_key": 0, "rows": 0} if result is None or "panic" in result else None
        return {"owner": 0, "lo": 0, "hi": 0} if "panic" in result else {"panic": True}

    def _append_here(self, last: Any, length: Any, lo: Any, hi: Any) -> Any:
        given = self.arguments
        readable = (lo == given["hidden_lo"]) & (hi == given["hidden_hi"])
        return readable & (last == given["last_pair_key"]) & (length == given["prompt_len"])

    def _merge_here(self, cur: Any, writer: Any, start: Any, count: Any) -> Any:
        given = self.arguments
        claim = (cur.owner == given["owner"]) & (cur.lo == given["lo"]) & (cur.hi == given["hi"])
        return claim & (writer == given["writer_gen"]) & (start == given["start"]) & (count == given["count"])

    @staticmethod
    def _wrapped(rule: Callable[..., Any], here: Callable[..., Any], refused: Status) -> Callable[..., Any]:
        def wrong(*arguments: Any) -> Any:
            found = rule(*arguments)
            status = found.status
            flipped = np.where(status == Status.OK, np.uint8(refused), np.uint8(Status.OK))
            return replace(found, status=np.where(here(*arguments), flipped, status))

        return wrong


def plant_at(scope: Scope, size: Size, index: int) -> Plant:
    """The plant at a case of a scope. Errors: ValueError where the scope's rule has none or the case does not exist."""
    rule = next((rule for rule in _NAMES if rule in scope.functions and not scope.name.startswith("sequences")), None)
    if rule is None:
        raise ValueError(f"plant_at: scope={scope.name} is not about {' or '.join(_NAMES)}; plant in append or merge")
    if not 0 <= index < size.cases:
        raise ValueError(f"plant_at: index={index} is no case of {scope.name}; pass 0 to {size.cases - 1}")
    return Plant(rule=rule, arguments=scope.decode(index, size.defines))
