"""An engine in one file, as a program for `draftproof conform --target command`: written from DESIGN, sharing no code.

It reads a call a line from standard input and answers each with a line. `--release` makes arithmetic wrap instead of panic.
The tests break it a line at a time, to see that the vectors notice.
"""

import json
import re
import sys
from typing import Any

Fields = dict[str, Any]
Words = list[int]

WORD = 2**64
WHITE = "\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
RELEASE = "--release" in sys.argv


class Panic(Exception):
    pass


def word(value: int) -> int:
    if 0 <= value < WORD:
        return value
    if not RELEASE:
        raise Panic
    return value % WORD


def common_prefix_len(self: Fields, prompt: Words) -> int:
    length = 0
    while length < min(len(self["tokens"]), len(prompt)) and self["tokens"][length] == prompt[length]:
        length += 1
    return length


def session_matches(self: Fields, session_hash: int) -> bool:
    return bool(session_hash != 0 and self["session_hash"] == session_hash)


def usable_by(self: Fields, prompt: Words, session_hash: int) -> Words | None:
    last, common = self["last_pair_key"], common_prefix_len(self, prompt)
    if not session_matches(self, session_hash) or last is None or common < 2:
        return None
    lost = max(0, last + 2 - common)
    if self["rows"] <= lost:
        return None
    return [self["rows"] - lost, last - lost]


def plan_append(last_pair_key: int, prompt_len: int, hidden_lo: int, hidden_hi: int) -> Fields | None:
    if prompt_len < 2:
        return None
    first = max(word(last_pair_key + 1), hidden_lo)
    last = prompt_len - 2
    if first > last or hidden_hi <= last:
        return None
    return {"first_key": first, "rows": last - first + 1}


def hidden_row_offset(base: int, pos: int, hidden_size: int) -> int:
    return word(base + word(word(pos * hidden_size) * 2))


def visible_to(self: Fields, reader_gen: int) -> Words:
    if reader_gen == 0 or self["owner"] != reader_gen:
        return [0, 0]
    return [self["lo"], self["hi"]]


def merge_interval(cur: Words, start: int, count: int) -> Words:
    lo, hi = cur
    end = word(start + count)
    if hi <= lo or start > hi or end < lo:
        return [start, end]
    return [min(lo, start), max(hi, end)]


def stamped_merge(cur: Fields, writer_gen: int, start: int, count: int) -> Fields:
    own = cur["owner"] != 0 and cur["owner"] == writer_gen
    lo, hi = merge_interval([cur["lo"], cur["hi"]] if own else [0, 0], start, count)
    return {"owner": writer_gen, "lo": lo, "hi": hi}


def carry_armed_with(cfg: Fields, multi_seq: bool) -> bool:
    return bool(cfg["carry"] and not multi_seq)


def verify_batch_permutation(slots: Words, ks: Words, canonical: bool) -> Words:
    if len(slots) != len(ks):
        raise Panic
    members = range(len(slots))
    if canonical:
        return sorted(members, key=lambda i: (slots[i], i))
    return sorted(members, key=lambda i: (-ks[i], slots[i], i))


def verify_batch_order(slots: Words, ks: Words, canonical: bool) -> list[Words]:
    order = verify_batch_permutation(slots, ks, canonical)
    depths = [ks[i] for i in order]
    return [order, sorted(depths, reverse=True) if canonical else depths]


def verify_graph_key(pairs: list[Words], wy_tables_null: bool) -> Words:
    return [half for pair in pairs for half in pair] + [2**32 - 1 - wy_tables_null]


def canonical_assignment_at(n: int, min_width: int, kill_switch_clear: bool) -> bool:
    return kill_switch_clear and n >= min_width


def min_width_from_env(raw: str | Fields | None) -> int:
    text = raw if isinstance(raw, str) else ""
    number = re.fullmatch(f"[{WHITE}]*\\+?0*([0-9]+)[{WHITE}]*", text)
    if number is None or len(number[1]) > 20 or int(number[1]) >= WORD:
        return 8
    return int(number[1])


def main() -> None:
    for line in sys.stdin:
        call = json.loads(line)
        try:
            result = globals()[call["fn"]](**call["args"])
        except Panic:
            result = {"panic": True}
        print(json.dumps({"result": result}))


if __name__ == "__main__":
    main()
