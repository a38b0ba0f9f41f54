"""The order of a verify batch: who is dispatched at which position, and how many rows each position verifies.

Member i has SSM slot slots[i] (2**64-1 for none) and ks[i] rows. The canonical arm orders by slot and deals the
depths anew, deepest first; the other arm orders deepest first and leaves every member its own depth. Input index
breaks all ties, so the order is a function of the batch.

Leaves out: chunked dispatch. Twin: spec/order.py. Source: DESIGN 1b.
"""

from collections.abc import Sequence

from impl.reference.words import flag, u64_sequence


def verify_batch_permutation(slots: Sequence[int], ks: Sequence[int], canonical: bool) -> list[int]:
    """Return, for each position of the dispatch, the index of the member that stands there.

    Errors: ValueError outside 64 bits or for unequal lengths. Source: verify_batch_permutation.
    """
    return _permutation(*_batch("verify_batch_permutation", slots, ks, canonical))


def verify_batch_order(slots: Sequence[int], ks: Sequence[int], canonical: bool) -> tuple[list[int], list[int]]:
    """Return the dispatch order of verify_batch_permutation and, beside it, the depth of each position.

    Errors: ValueError outside 64 bits or for unequal lengths. Source: verify_batch_order.
    """
    batch = _batch("verify_batch_order", slots, ks, canonical)
    order = _permutation(*batch)
    depths = [batch[1][member] for member in order]
    return order, sorted(depths, reverse=True) if canonical else depths


_Batch = tuple[tuple[int, ...], tuple[int, ...], bool]


def _batch(function: str, slots: Sequence[int], ks: Sequence[int], canonical: bool) -> _Batch:
    batch = (
        u64_sequence(function, "slots", slots),
        u64_sequence(function, "ks", ks),
        flag(function, "canonical", canonical),
    )
    if len(batch[0]) != len(batch[1]):
        raise ValueError(f"{function}: slots has {len(batch[0])} items and ks has {len(batch[1])}; pass one of each per member")
    return batch


def _permutation(slots: tuple[int, ...], ks: tuple[int, ...], canonical: bool) -> list[int]:
    # sorted() is stable and range() ascends, which is the tie-break on the index.
    members = range(len(slots))
    if canonical:
        return sorted(members, key=lambda member: slots[member])
    return sorted(members, key=lambda member: (-ks[member], slots[member]))
