"""The warm-turn append: which pair keys are written, and from which hidden rows (DESIGN 1a).

Models `plan_append`. A prompt of P tokens has keys 0..P-2; the plan is told as a set of keys: all that are new, reachable and
wanted, or nothing. The code is `impl.reference.append`.
"""

from __future__ import annotations

import z3

from spec.machine import Profile, kept, outcome, overflows
from spec.sorts import Maybe, Outcome


def plan_append(
    last_pair_key: z3.ArithRef,
    prompt_len: z3.ArithRef,
    hidden_lo: z3.ArithRef,
    hidden_hi: z3.ArithRef,
    result: Outcome,
    profile: Profile = Profile.DEBUG,
) -> z3.BoolRef:
    """`plan_append`: from the first new key whose hidden row is in the store up to the prompt's last, if all are there.

    A prompt without keys gives nothing before the last key is even looked at.
    """
    plan: Maybe = result.value
    first, end = plan.value.first_key, plan.value.first_key + plan.value.rows
    next_key = kept(last_pair_key + 1)
    has_keys = prompt_len >= 2
    keys_end = prompt_len - 1
    new_and_stored = z3.And(next_key <= first, hidden_lo <= first)
    earliest = z3.Or(first == next_key, first == hidden_lo)
    wanted = z3.And(has_keys, next_key < keys_end, hidden_lo < keys_end, hidden_hi >= keys_end)
    planned = z3.And(new_and_stored, earliest, end == keys_end)
    return outcome(
        result,
        profile,
        overflow=z3.And(has_keys, overflows(last_pair_key + 1)),
        value=z3.And(plan.present == wanted, z3.Implies(plan.present, planned)),
    )
