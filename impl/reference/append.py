"""What a warm turn appends: which pair keys the adopted rows lack, and whether the hidden store can feed them.

Key k reads hidden row k, and a prompt of P tokens ends with key P-2. Appended keys run without a gap to that last
one; a gap between the newest adopted row and the first appended one is normal.

Leaves out: the rows themselves and the appending. Twin: spec/append.py. Source: DESIGN 1a, the carry slot.
"""

from dataclasses import dataclass

from impl.reference.words import U64_MAX, WordRecord, u64


@dataclass(frozen=True, kw_only=True)
class AppendPlan(WordRecord):
    """Append `rows` keys, the first of them first_key. Words of 64 bits. Source: AppendPlan."""

    first_key: int
    rows: int


def plan_append(last_pair_key: int, prompt_len: int, hidden_lo: int, hidden_hi: int) -> AppendPlan | None:
    """Return what to append after key last_pair_key, given readable hidden rows [hidden_lo, hidden_hi).

    None where the prompt has no key, the adopted rows reach its last key, or the readable rows do not.

    Errors: ValueError outside 64 bits; OverflowError where last_pair_key has no successor, unless the prompt has no
    key, which is decided first. Source: plan_append.
    """
    u64("plan_append", "last_pair_key", last_pair_key)
    u64("plan_append", "prompt_len", prompt_len)
    u64("plan_append", "hidden_lo", hidden_lo)
    u64("plan_append", "hidden_hi", hidden_hi)
    if prompt_len < 2:
        return None
    if last_pair_key == U64_MAX:
        raise OverflowError(f"plan_append: last_pair_key={last_pair_key} leaves no next key; pass a key below 2**64-1")
    first_key = max(last_pair_key + 1, hidden_lo)
    end = prompt_len - 1
    if first_key >= end or hidden_hi < end:
        return None
    return AppendPlan(first_key=first_key, rows=end - first_key)
