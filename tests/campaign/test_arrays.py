"""The claims over arrays say of every range what the kernels say, and of every fault that something is broken."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

import impl.batched as batched
from proofs.campaign import arrays
from proofs.campaign.searches import Sweep, searches
from proofs.gpu.machines import Host
from proofs.gpu.scopes import SCOPES, Scope
from tests.batched.backends import needs_host_kernels

SIZES = [(scope, scale) for scope in SCOPES for scale in scope.sizes]


def test_every_scope_of_the_sweeps_has_a_claim_over_arrays() -> None:
    assert set(arrays.CLAIMS) == {scope.name for scope in SCOPES}


@needs_host_kernels
@pytest.mark.parametrize(("scope", "scale"), SIZES, ids=lambda value: value if isinstance(value, str) else value.name)
def test_arrays_count_as_the_kernels_count(scope: Scope, scale: str) -> None:
    size = scope.sizes[scale]  # type: ignore[index]
    random = Random(f"{scope.name} {scale}")
    for _ in range(3):
        begin = random.randrange(size.cases)
        end = min(begin + random.randrange(1, 3000), size.cases)
        tally = Host().sweep(scope, size, begin=begin, end=end)
        assert arrays.swept(scope.name, size.defines, begin, end) == (tally.broken, tally.first, tally.accepted)


def changed(function: str, change: Callable[[Any], Any]) -> Callable[..., Any]:
    right = getattr(batched, function)

    @functools.wraps(right)
    def wrong(*arguments: Any, **options: Any) -> Any:
        return change(right(*arguments, **options))

    return wrong


def replaced(**fields: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda result: dataclasses.replace(
        result,
        **{name: np.asarray(change(getattr(result, name))).astype(getattr(result, name).dtype) for name, change in fields.items()},
    )


def all_readers(ranges: Any, _: Any) -> Any:
    return ranges.lo, ranges.hi


APPENDS = ("append", "append-as-sets", "append-at-the-edges")

# A fault of each function, and the searches that must notice it on NumPy arrays.
FAULTS: tuple[tuple[str, Callable[..., Any], tuple[str, ...]], ...] = (
    ("usable_by", changed("usable_by", replaced(rows=lambda rows: rows + 1)), ("carried", "carried-64-bit")),
    ("usable_by", changed("usable_by", replaced(last_pair_key=lambda key: key + 1)), ("carried",)),
    ("usable_by", changed("usable_by", replaced(status=lambda status: status * 0)), ("carried",)),
    ("usable_by", changed("usable_by", replaced(status=lambda status: status * 0 + 1)), ("carried",)),
    ("plan_append", changed("plan_append", replaced(rows=lambda rows: rows + 1)), APPENDS),
    ("plan_append", changed("plan_append", replaced(first_key=lambda first: first - 1, rows=lambda rows: rows + 1)), APPENDS),
    ("plan_append", changed("plan_append", replaced(status=lambda status: status * 0 + 1)), APPENDS),
    ("stamped_merge", changed("stamped_merge", replaced(hi=lambda hi: hi + 1)), ("merge", "merge-at-the-edges", "sequences-2")),
    ("stamped_merge", changed("stamped_merge", replaced(lo=lambda lo: lo + 1)),
     ("merge-64-bit", "merge-at-the-edges", "sequences-1")),
    ("stamped_merge", changed("stamped_merge", replaced(owner=lambda owner: owner * 0 + 1)), ("merge", "sequences-1")),
    ("stamped_merge", changed("stamped_merge", replaced(status=lambda status: status * 0)), ("merge-at-the-edges",)),
    ("visible_to", all_readers, ("merge", "merge-64-bit", "sequences-1", "sequences-4-64-bit")),
    ("verify_batch_order", changed("verify_batch_order", replaced(order=lambda order: order[::-1])),
     ("permuted", "tied", "network", "wide")),
    ("verify_batch_order", changed("verify_batch_order", replaced(depths=lambda depths: depths[::-1])),
     ("permuted-by-ranks", "wide")),
    ("verify_batch_order", changed("verify_batch_order", replaced(order=lambda order: order * 0 + 99)), ("tied-by-ranks",)),
    ("verify_graph_key", changed("verify_graph_key", lambda key: batched.Ragged(data=key.data ^ np.uint32(1), offsets=key.offsets)),
     ("permuted", "tied")),
)  # fmt: skip


@pytest.mark.parametrize(("function", "fault", "names"), FAULTS)
def test_a_fault_of_a_function_is_noticed(
    function: str, fault: Callable[..., Any], names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batched, function, fault)
    rules = arrays.Rules(plan_append=batched.plan_append, stamped_merge=batched.stamped_merge)
    for name in names:
        scope = searches()[name]
        assert isinstance(scope, Sweep)
        size = next(iter(scope.scope.sizes.values()))
        end = min(size.cases, 1 << 16)

        broken, first, _ = arrays.swept(name, size.defines, 0, end, rules)

        assert broken > 0
        assert first is not None and arrays.swept(name, size.defines, 0, first, rules)[0] == 0
