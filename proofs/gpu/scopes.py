"""The scopes: what is swept exhaustively, at which sizes, and how a case is read back from its index.

A case is a pure function of its index, so a range of indices is a unit of work that any machine can take. The kernels
say what each claim means in full; the decoders here are a second telling of how they read an index.

Scales: `small` is what a mutant is searched in, `host` what a processor sweeps in seconds, `device` what a GPU does,
`stretch` what it does when asked for more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Scale: TypeAlias = Literal["small", "host", "device", "stretch"]
Decoder: TypeAlias = Callable[[int, Mapping[str, int]], dict[str, Any]]
NO_SLOT = 2**64 - 1
ROWS, WRITERS = 4, 4
INTERVALS = [(lo, hi) for lo in range(ROWS) for hi in range(lo + 1, ROWS + 1)]
ACTIONS = WRITERS * len(INTERVALS) + 2


@dataclass(frozen=True, kw_only=True)
class Size:
    """One size of a scope: the kernel's defines, and the number of cases."""

    cases: int
    defines: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Scope:
    """A family of cases and its claim.

    program, kernel: the file in proofs/gpu/kernels and the function in it. functions: the functions under test.
    arguments: what the kernel takes besides its range. decode(index, defines) names the case's values.
    """

    name: str
    claim: str
    program: str
    kernel: str
    functions: tuple[str, ...]
    sizes: Mapping[Scale, Size]
    decode: Decoder
    arguments: tuple[int, ...] = ()


def fields(index: int, *widths: tuple[str, int]) -> dict[str, int]:
    """Read an index as fields of so many bits each, the lowest first."""
    values = {}
    for name, bits in widths:
        values[name] = index & (1 << bits) - 1
        index >>= bits
    return values


def carried(index: int, defines: Mapping[str, int]) -> dict[str, Any]:
    """Decode a case of carried.cu."""
    case = fields(index, ("common", 5), ("over", 3), ("entry_session", 2), ("session_hash", 2), ("keys", defines["KEYS"]))
    keys = [key for key in range(defines["KEYS"]) if case["keys"] >> key & 1]
    last = (keys[-1] if keys else 0) + case["over"]
    return {
        "keys": keys,
        "rows": len(keys),
        "last_pair_key": None if case["over"] == 7 else last,
        "common": case["common"],
        "entry_session": case["entry_session"],
        "session_hash": case["session_hash"],
    }


def append(index: int, defines: Mapping[str, int]) -> dict[str, Any]:
    """Decode a case of append.cu in four fields of BITS bits."""
    bits = defines["BITS"]
    case = fields(index, ("hidden_hi", bits), ("hidden_lo", bits), ("prompt_len", bits), ("last_pair_key", bits))
    return dict(reversed(case.items()))


def append_edges(index: int, defines: Mapping[str, int]) -> dict[str, Any]:
    """Decode a case of append.cu near both ends of 64 bits."""
    return {name: _edge(code, 16) for name, code in append(index, {"BITS": 5}).items()}


def merge(index: int, defines: Mapping[str, int]) -> dict[str, Any]:
    """Decode a case of merge.cu."""
    bits = defines["BITS"]
    return fields(index, ("owner", 2), ("writer_gen", 2), ("count", bits), ("start", bits), ("hi", bits), ("lo", bits))


def merge_edges(index: int, defines: Mapping[str, int]) -> dict[str, Any]:
    """Decode a case of merge.cu near both ends of 64 bits."""
    case = fields(index, ("count", 4), ("start", 4), ("hi", 4), ("lo", 4), ("own", 1))
    own = case.pop("own")
    return {"owner": 1 if own else 2, "writer_gen": 1, **{name: _edge(code, 8) for name, code in case.items()}}


def _edge(code: int, half: int) -> int:
    return code if code < half else 2**64 - 2 * half + code


def _depths(index: int, width: int) -> list[int]:
    return [2 + index // 3**i % 3 for i in range(width)]


def permuted(index: int, defines: Mapping[str, int]) -> dict[str, Any]:
    """Decode a case of orders.cu whose slots are a permutation."""
    width = defines["WIDTH"]
    number, depths = divmod(index, 3**width)
    free, slots = list(range(width)), []
    while free:
        number, digit = divmod(number, len(free))
        slots.append(free.pop(digit))
    return {"slots": slots, "ks": _depths(depths, width)}


def tied(index: int, defines: Mapping[str, int]) -> dict[str, Any]:
    """Decode a case of orders.cu whose slots are 0, 1, 2 or none."""
    width = defines["WIDTH"]
    number, depths = divmod(index, 3**width)
    slots = [number >> 2 * i & 3 for i in range(width)]
    return {"slots": [NO_SLOT if slot == 3 else slot for slot in slots], "ks": _depths(depths, width)}


def wide(index: int, defines: Mapping[str, int]) -> dict[str, Any]:
    """Decode a case of wide.cu, whose values are a hash of the index."""

    def mixed(x: int) -> int:
        x = (x ^ x >> 16) * 0x7FEB352D & 0xFFFFFFFF
        x = (x ^ x >> 15) * 0x846CA68B & 0xFFFFFFFF
        return x ^ x >> 16

    base = mixed(index & 0xFFFFFFFF ^ mixed((index >> 32) + 0x9E3779B9 & 0xFFFFFFFF))
    step = mixed(base + 0x85EBCA6B & 0xFFFFFFFF) | 1
    slots, ks = [], []
    for member in range(32):
        x = base + member * step & 0xFFFFFFFF
        bits = (x ^ x >> 15) * 0x2C1B3C6D & 0xFFFFFFFF
        slots.append(bits >> 23)
        ks.append(bits >> 21 & 3)
    return {"canonical": index & 2 == 0, "slots": slots, "ks": ks}


def trace(index: int, depth: int) -> list[str]:
    """Decode a sequence of `depth` actions of sequences.cu, as sentences."""
    actions = [index // ACTIONS ** (depth - 1 - step) % ACTIONS for step in range(depth)]
    return [describe(action) for action in actions]


def describe(action: int) -> str:
    """Say what an action of the small world does."""
    if action >= WRITERS * len(INTERVALS):
        return f"writer {1 + action - WRITERS * len(INTERVALS)} is allocated anew"
    writer, interval = divmod(action, len(INTERVALS))
    lo, hi = INTERVALS[interval]
    return f"writer {writer} writes rows {lo} to {hi - 1}"


def _sequences(depth: int) -> Scope:
    size = Size(cases=ACTIONS**depth)
    scales: tuple[Scale, ...] = ("small", "host", "device")
    sizes: dict[Scale, Size] = dict.fromkeys(scales[max(depth - 3, 0) if depth < 5 else 2 :], size)
    return Scope(
        name=f"sequences-{depth}",
        claim=f"After {depth} writes and allocations in any order, whoever sees a row wrote it last.",
        program="sequences.cu",
        kernel="sequences" if depth > 1 else "sequences_short",
        functions=("stamped_merge", "merge_interval", "visible_to"),
        sizes=sizes if depth < 7 else {"stretch": size},
        decode=lambda index, _: {"trace": trace(index, depth)},
        arguments=(depth,),
    )


def _carried(keys: int) -> Size:
    return Size(cases=1 << 12 + keys, defines={"KEYS": keys})


def _bits(bits: int, more: int = 0) -> Size:
    return Size(cases=1 << 4 * bits + more, defines={"BITS": bits})


def _permuted(width: int) -> Size:
    cases = 3**width
    for factor in range(2, width + 1):
        cases *= factor
    return Size(cases=cases, defines={"WIDTH": width})


def _network(width: int) -> Size:
    return Size(cases=1 << width, defines={"WIDTH": width})


def _tied(width: int) -> Size:
    return Size(cases=12**width, defines={"WIDTH": width})


_USABLE = ("usable_by", "session_matches")
_MERGE = ("stamped_merge", "merge_interval", "visible_to")
_ORDER = ("verify_batch_permutation", "verify_batch_order", "verify_graph_key")


def _orders(name: str, slots: str, decode: Decoder, size: Callable[[int], Size], widths: Mapping[Scale, int]) -> Scope:
    rule = "by ranks" if name.endswith("-by-ranks") else "by a network"
    return Scope(
        name=name,
        claim=f"{slots}, {rule}. Members go once each, in order, with their multiset of depths; keys are as counts tell.",
        program="orders.cu",
        kernel=name.replace("-by-ranks", "_ranks"),
        functions=_ORDER,
        sizes={scale: size(width) for scale, width in widths.items()},
        decode=decode,
    )


SCOPES: tuple[Scope, ...] = (
    Scope(
        name="carried",
        claim="The rows kept are the session's own and agree, and a row is lost only to a key that is absent.",
        program="carried.cu",
        kernel="carried",
        functions=_USABLE,
        sizes={"small": _carried(8), "host": _carried(12), "device": _carried(24), "stretch": _carried(26)},
        decode=carried,
    ),
    Scope(
        name="carried-64-bit",
        claim="The same on 64-bit words.",
        program="carried.cu",
        kernel="carried_wide",
        functions=_USABLE,
        sizes={"small": _carried(8), "host": _carried(10), "device": _carried(20)},
        decode=carried,
    ),
    Scope(
        name="append",
        claim="A plan is the run of new, readable keys that ends with key P-2, and is refused only where there is none.",
        program="append.cu",
        kernel="append",
        functions=("plan_append",),
        sizes={"small": _bits(5), "host": _bits(6), "device": _bits(9), "stretch": _bits(10)},
        decode=append,
    ),
    Scope(
        name="append-as-sets",
        claim="The same on 64-bit words, told in sets of keys and rows.",
        program="append.cu",
        kernel="append_sets",
        functions=("plan_append",),
        sizes={"small": Size(cases=1 << 24), "host": Size(cases=1 << 24), "device": Size(cases=1 << 24)},
        decode=lambda index, _: append(index, {"BITS": 6}),
    ),
    Scope(
        name="append-at-the-edges",
        claim="The same at both ends of 64 bits, where the last key has no successor.",
        program="append.cu",
        kernel="append_edges",
        functions=("plan_append",),
        sizes={"small": Size(cases=1 << 20), "host": Size(cases=1 << 20), "device": Size(cases=1 << 20)},
        decode=append_edges,
    ),
    Scope(
        name="merge",
        claim="After a write each reader sees only rows that it wrote last; the writer sees all that it must.",
        program="merge.cu",
        kernel="merge",
        functions=_MERGE,
        sizes={"small": _bits(3, 4), "host": _bits(5, 4), "device": _bits(6, 4)},
        decode=merge,
    ),
    Scope(
        name="merge-64-bit",
        claim="The same on 64-bit words.",
        program="merge.cu",
        kernel="merge_wide",
        functions=_MERGE,
        sizes={"small": _bits(3, 4), "host": _bits(4, 4), "device": _bits(6, 4)},
        decode=merge,
    ),
    Scope(
        name="merge-at-the-edges",
        claim="The same at both ends of 64 bits; a write that would end beyond them claims nothing.",
        program="merge.cu",
        kernel="merge_edges",
        functions=_MERGE,
        sizes={"small": Size(cases=1 << 17), "host": Size(cases=1 << 17), "device": Size(cases=1 << 17)},
        decode=merge_edges,
    ),
    _orders("permuted", "Distinct slots", permuted, _permuted, {"small": 5, "host": 6, "device": 8, "stretch": 10}),
    _orders("permuted-by-ranks", "Distinct slots", permuted, _permuted, {"small": 5, "host": 6, "device": 8}),
    _orders("tied", "Equal and absent slots", tied, _tied, {"small": 4, "host": 5, "device": 8}),
    _orders("tied-by-ranks", "Equal and absent slots", tied, _tied, {"small": 4, "host": 5, "device": 8}),
    Scope(
        name="network",
        claim="The sorting network sorts every input of zeros and ones, hence everything.",
        program="network.cu",
        kernel="network",
        functions=_ORDER[:2],
        sizes={"small": _network(16), "host": _network(24), "device": _network(32)},
        decode=lambda index, defines: {"words": [index >> word & 1 for word in range(defines["WIDTH"])]},
    ),
    Scope(
        name="wide",
        claim="The same for 32 members at random, by network on pairs of 16-bit words.",
        program="wide.cu",
        kernel="wide",
        functions=_ORDER[:2],
        sizes={
            "small": Size(cases=1 << 14),
            "host": Size(cases=1 << 19),
            "device": Size(cases=1 << 33),
            "stretch": Size(cases=1 << 36),
        },
        decode=wide,
    ),
    *(_sequences(depth) for depth in range(1, 8)),
    Scope(
        name="sequences-4-64-bit",
        claim="Four writes and allocations on 64-bit words.",
        program="sequences.cu",
        kernel="sequences_wide",
        functions=_MERGE,
        sizes={"host": Size(cases=ACTIONS**4), "device": Size(cases=ACTIONS**4)},
        decode=lambda index, _: {"trace": trace(index, 4)},
        arguments=(4,),
    ),
)

BY_NAME = {scope.name: scope for scope in SCOPES}
