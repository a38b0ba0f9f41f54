"""The reference: every function of the carry and of the verify key in plain Python, standard library alone.

It tells what the engine does when overflow is checked: OverflowError where that build panics on arithmetic, ValueError
where it panics on unequal lengths and for any argument outside the domain (words.py). Environment readers take the
environment as an argument; nothing is read at import.
"""

from impl.reference.append import AppendPlan, plan_append
from impl.reference.carry import (
    DEFAULT_MARCONI_MIN_TOKENS,
    Adopted,
    CarriedDrafter,
    CarryOutcome,
    DrafterContext,
    ForeignHiddens,
    ForeignSession,
    MarconiThreshold,
    ModelLevers,
    NoCarry,
    NoHiddens,
    PrefixMismatch,
    carry_armed,
    carry_armed_with,
    marconi_min_tokens,
    mtp_carry_debug,
    mtp_carry_drafter_enabled,
    set_marconi_min_tokens,
)
from impl.reference.gate import (
    CANONICAL_KEY_MIN_WIDTH,
    canonical_assignment,
    canonical_assignment_at,
    canonical_key_min_width,
    canonical_verify_key_enabled,
    min_width_from_env,
)
from impl.reference.key import verify_graph_key
from impl.reference.order import verify_batch_order, verify_batch_permutation
from impl.reference.store import StoreRange, hidden_row_offset, merge_interval, stamped_merge

__all__ = [
    "CANONICAL_KEY_MIN_WIDTH",
    "DEFAULT_MARCONI_MIN_TOKENS",
    "Adopted",
    "AppendPlan",
    "CarriedDrafter",
    "CarryOutcome",
    "DrafterContext",
    "ForeignHiddens",
    "ForeignSession",
    "MarconiThreshold",
    "ModelLevers",
    "NoCarry",
    "NoHiddens",
    "PrefixMismatch",
    "StoreRange",
    "canonical_assignment",
    "canonical_assignment_at",
    "canonical_key_min_width",
    "canonical_verify_key_enabled",
    "carry_armed",
    "carry_armed_with",
    "hidden_row_offset",
    "marconi_min_tokens",
    "merge_interval",
    "min_width_from_env",
    "mtp_carry_debug",
    "mtp_carry_drafter_enabled",
    "plan_append",
    "set_marconi_min_tokens",
    "stamped_merge",
    "verify_batch_order",
    "verify_batch_permutation",
    "verify_graph_key",
]
