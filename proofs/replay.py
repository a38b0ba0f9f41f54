"""Concrete calls in the vector format, run on the reference: what the code says to what a model says.

The one place where values of the vector format (DESIGN, section 6) become arguments of `impl.reference` and its results
become such values. Replay, conformance and the tests all go through `run`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from impl import reference
from spec.sorts import PANIC, Concrete


def _entry(value: Mapping[str, Any]) -> reference.CarriedDrafter:
    # A method is told only the fields that it reads, and none reads the blocks.
    unread: dict[str, Any] = {"block_table": (), "rows": 0, "last_pair_key": None, "tokens": (), "session_hash": 0}
    return reference.CarriedDrafter(**{**unread, **value})


def _range(value: Mapping[str, Any]) -> reference.StoreRange:
    return reference.StoreRange(owner=value["owner"], lo=value["lo"], hi=value["hi"])


def _config(value: Mapping[str, Any]) -> reference.DrafterContext:
    return reference.DrafterContext(prefill=value["prefill"], carry=value["carry"])


def _raw(value: str | Mapping[str, str] | None) -> str | bytes | None:
    return bytes.fromhex(value["hex"]) if isinstance(value, Mapping) else value


def _pairs(value: list[list[int]]) -> list[tuple[int, int]]:
    return [(pair[0], pair[1]) for pair in value]


_READ: Mapping[str, Mapping[str, Callable[[Any], Any]]] = {
    "carry_armed_with": {"cfg": _config},
    "stamped_merge": {"cur": _range},
    "verify_graph_key": {"pairs": _pairs},
    "min_width_from_env": {"raw": _raw},
}
_OF_MEMBERS = {"verify_batch_permutation", "verify_batch_order"}
_OF_ENTRY = {"common_prefix_len", "session_matches", "usable_by"}


def _method(fn: str, receiver: Any) -> Callable[..., Any]:
    made: Any = _entry(receiver) if fn in _OF_ENTRY else _range(receiver)
    return getattr(made, fn)  # type: ignore[no-any-return]


def _shown(result: Any) -> Concrete:
    if isinstance(result, (reference.StoreRange, reference.AppendPlan)):
        return asdict(result)
    if isinstance(result, (tuple, list)):
        return [_shown(part) for part in result]
    return result


def run(fn: str, args: Mapping[str, Any]) -> Concrete:
    """What the reference gives for one call of the vector format; `{"panic": true}` where it panics.

    ValueError for arguments outside the domain, KeyError for a missing argument.
    """
    read = _READ.get(fn, {})
    values = {name: read[name](value) if name in read else value for name, value in args.items()}
    call = _method(fn, values.pop("self")) if "self" in args else getattr(reference, fn)
    panics: type[Exception] = OverflowError
    if fn in _OF_MEMBERS and len(values["slots"]) != len(values["ks"]):
        # Unequal lengths raise ValueError, as a value outside the domain does: rule the latter out first.
        for members in (values["slots"], values["ks"]):
            call(slots=members, ks=members, canonical=values["canonical"])
        panics = ValueError
    try:
        return _shown(call(**values))
    except panics:
        return dict(PANIC)
