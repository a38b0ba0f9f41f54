"""The functions of both documents over batches: arrays in, arrays out, NumPy or CuPy by the type of the input.

NumPy arrays go through array expressions; CuPy arrays through one CUDA kernel per function on the current stream. The
same kernels compile for the host (`host_kernels`), where they serve NumPy arrays. Nothing is moved between a device and
the host: mixing the two is an error.

Values are unsigned 64-bit (tokens and key words 32-bit) and exact. What is one value in the documents is one array
here; rows of different lengths are a `Ragged`; None, a panic on overflow and unequal lengths are a `Status` per row.
"""

from impl.batched.arrays import Status, host_kernels
from impl.batched.mtp_carry import (
    AppendPlans,
    CarriedDrafters,
    Intervals,
    Pointers,
    StoreRanges,
    StoreRangesOrOverflow,
    UsableRows,
    carry_armed_with,
    common_prefix_len,
    hidden_row_offset,
    merge_interval,
    plan_append,
    session_matches,
    stamped_merge,
    usable_by,
    visible_to,
)
from impl.batched.ragged import Ragged
from impl.batched.verify_key import (
    BatchOrders,
    canonical_assignment_at,
    min_width_from_env,
    verify_batch_order,
    verify_batch_permutation,
    verify_graph_key,
)

__all__ = [
    "AppendPlans",
    "BatchOrders",
    "CarriedDrafters",
    "Intervals",
    "Pointers",
    "Ragged",
    "Status",
    "StoreRanges",
    "StoreRangesOrOverflow",
    "UsableRows",
    "canonical_assignment_at",
    "carry_armed_with",
    "common_prefix_len",
    "hidden_row_offset",
    "host_kernels",
    "merge_interval",
    "min_width_from_env",
    "plan_append",
    "session_matches",
    "stamped_merge",
    "usable_by",
    "verify_batch_order",
    "verify_batch_permutation",
    "verify_graph_key",
    "visible_to",
]
