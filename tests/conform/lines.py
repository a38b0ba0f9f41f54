"""Vector lines for the tests: one right line a function, its results worked out by hand from DESIGN."""

from __future__ import annotations

import json
from typing import Any

ENTRY = {"rows": 3, "last_pair_key": 2, "tokens": [5, 6, 7, 8], "session_hash": 9}

RIGHT: dict[str, tuple[dict[str, Any], Any]] = {
    "common_prefix_len": ({"self": ENTRY, "prompt": [5, 6, 9]}, 2),
    "session_matches": ({"self": ENTRY, "session_hash": 9}, True),
    # Keys 0..2 were kept; 3 tokens agree, so the keys 0 and 1 survive.
    "usable_by": ({"self": ENTRY, "prompt": [5, 6, 7, 1], "session_hash": 9}, [2, 1]),
    "plan_append": (
        {"last_pair_key": 1, "prompt_len": 6, "hidden_lo": 0, "hidden_hi": 5},
        {"first_key": 2, "rows": 3},
    ),
    "hidden_row_offset": ({"base": 1000, "pos": 3, "hidden_size": 8}, 1048),
    "visible_to": ({"self": {"owner": 4, "lo": 1, "hi": 6}, "reader_gen": 5}, [0, 0]),
    "merge_interval": ({"cur": [3, 9], "start": 9, "count": 2}, [3, 11]),
    "stamped_merge": (
        {"cur": {"owner": 1, "lo": 0, "hi": 9}, "writer_gen": 2, "start": 4, "count": 2},
        {"owner": 2, "lo": 4, "hi": 6},
    ),
    "carry_armed_with": ({"cfg": {"prefill": False, "carry": True}, "multi_seq": False}, True),
    "verify_batch_permutation": ({"slots": [7, 3, 5], "ks": [2, 2, 4], "canonical": True}, [1, 2, 0]),
    "verify_batch_order": ({"slots": [7, 3, 5], "ks": [2, 3, 4], "canonical": True}, [[1, 2, 0], [4, 3, 2]]),
    "verify_graph_key": ({"pairs": [[1, 4], [2, 3]], "wy_tables_null": True}, [1, 4, 2, 3, 2**32 - 2]),
    "canonical_assignment_at": ({"n": 8, "min_width": 8, "kill_switch_clear": True}, True),
    "min_width_from_env": ({"raw": " +12\u3000"}, 12),
}


def line(fn: str, /, **beside: Any) -> str:
    """The right line of a function; `beside` adds keys, or replaces them."""
    args, result = RIGHT[fn]
    return json.dumps({"fn": fn, "args": args, "result": result, **beside})
