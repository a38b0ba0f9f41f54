"""A run of a system model as a table: one line a step, rows drawn as letters of whoever made them, the bad read marked.

Sequence 1 is A, 2 is B; a row is the letter of its maker and its key. A small letter is a hidden row whose write has not landed,
`?` a guessed token's row, `.` a hidden row that nobody wrote, `!` what the harm is about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proofs.traces.trace import Trace

BAD = "!"

_ROW_HARMS = (
    "no-foreign-rows",
    "rows-agree",
    "rows-are-what-their-holder-would-make",
    "every-row-read-is-its-writers",
)
_BLOCK_HARMS = ("every-block-has-one-owner", "no-write-reaches-another-owner")


@dataclass(frozen=True, kw_only=True)
class Line:
    """A step: what was done, then the columns of the state after it."""

    number: int
    action: str
    columns: Mapping[str, str]
    bad: bool = False


def letter(sequence: int) -> str:
    """What a sequence is called in a timeline."""
    return "." if sequence < 0 else "slot" if sequence == 0 else chr(ord("A") + sequence - 1)


def lines(trace: Trace) -> tuple[Line, ...]:
    """The timeline of a trace."""
    of_graphs = "batches" in trace.given
    told = []
    for number, step in enumerate(trace.steps, start=1):
        bad = number == len(trace.steps) and bool(trace.harm)
        place = trace.place if bad else ()
        columns = _graph_columns(step.after, place) if of_graphs else _columns(step.after, trace.harm if bad else "", place)
        told.append(Line(number=number, action=_action(step.action, step.choices), columns=columns, bad=bad))
    return tuple(told)


def cast(trace: Trace) -> tuple[str, ...]:
    """Who takes part, one line each."""
    if "batches" in trace.given:
        batches = trace.given["batches"]
        return tuple(
            f"{letter(b['id'])}: members {b['members']} in slots {b['slots']} at depths {b['depths']}, "
            f"{'no WY tables' if b['wy_tables_null'] else 'WY tables'}"
            for b in batches
        )
    used = {step.choices.get("actor") for step in trace.steps}
    return tuple(
        f"{letter(s['id'])}: session {s['session']} (hash {s['session_hash']}), prompt {s['tokens'][: s['prompt_len']]}, "
        f"then {s['tokens'][s['prompt_len'] :]}"
        for s in trace.given["sequences"]
        if s["id"] in used
    )


def _action(action: str, choices: Mapping[str, Any]) -> str:
    words = [action]
    if "actor" in choices:
        words.append(letter(choices["actor"]))
    if "count" in choices:
        words.append(f"[{choices['start']}, {choices['start'] + choices['count']})")
    if "earlier" in choices:
        words.append(f"of {letter(choices['earlier'])}'s")
    words += [f"{name} {','.join(map(str, choices[name]))}" for name in ("draws", "writes") if choices.get(name)]
    return " ".join(words)


def _columns(after: Mapping[str, Any], harm: str, place: Sequence[int]) -> dict[str, str]:
    generations = {holder["generation"]: letter(int(h)) for h, holder in after["holders"].items() if h != "0"}
    stamp = after["stamp"]
    owner = generations.get(stamp["owner"], "nobody" if stamp["owner"] == 0 else f"gen {stamp['owner']}")
    holders = {int(h): holder for h, holder in after["holders"].items()}
    rows = [f"{letter(h)}:{_drafter(h, holder, harm, place)}" for h, holder in sorted(holders.items()) if h != 0]
    slot = f"{_drafter(0, holders[0], harm, place)} of {letter(holders[0]['source'])}" if 0 in holders else "empty"
    return {
        "range": f"[{stamp['lo']}, {stamp['hi']}) {owner}",
        "hidden": " ".join(_hidden(cell) for cell in after["store"]),
        "rows": "  ".join(rows) or "-",
        "slot": slot,
        "blocks": _blocks(after, harm, place),
    }


def _hidden(cell: Sequence[Any]) -> str:
    writer, position, landed = cell
    name = letter(writer)
    return name if writer < 0 else f"{name if landed else name.lower()}{position}"


def _drafter(holder: int, told: Mapping[str, Any], harm: str, place: Sequence[int]) -> str:
    drawn = []
    for r, row in enumerate(told["drafter"]):
        text = drafter_row(row)
        drawn.append(text + BAD if is_bad_row(harm, place, holder, r) else text)
    return " ".join(drawn) or "-"


def owners(after: Mapping[str, Any], block: int) -> list[str]:
    """Who has a block: the free list, holders by their letters, tables that nobody holds. Each as often as it has it."""
    found = ["free"] * after["free"][block]
    for table, counts in after["tables"].items():
        holding = [letter(int(h)) for h, holder in after["holders"].items() if str(holder["table"]) == table]
        found += (holding or [f"table {table}"]) * counts[block]
    return sorted(found)


def drafter_row(row: Mapping[str, Any]) -> str:
    """A drafter row by its maker and key, and the hidden row that it was made from where that is not its own."""
    if row["maker"] < 0:
        return f"?{row['key']}"
    read = f"<{letter(row['hidden_from'])}{row['hidden_at']}"
    own = (row["hidden_from"], row["hidden_at"]) == (row["maker"], row["key"])
    return f"{letter(row['maker'])}{row['key']}{'' if own else read}"


def _blocks(after: Mapping[str, Any], harm: str, place: Sequence[int]) -> str:
    told = []
    for b in range(len(after["free"])):
        writing = f", written by table {after['pending'][b]}" if after["pending"][b] >= 0 else ""
        bad = BAD if is_bad_block(harm, place, b) else ""
        told.append(f"{b}: {' and '.join(owners(after, b)) or 'lost'}{writing}{bad}")
    return "  ".join(told)


def is_bad_row(harm: str, place: Sequence[int], holder: int, row: int) -> bool:
    """The harm is about this row of this holder."""
    return harm in _ROW_HARMS and tuple(place[:2]) == (holder, row)


def is_bad_block(harm: str, place: Sequence[int], block: int) -> bool:
    """The harm is about this block."""
    return harm in _BLOCK_HARMS and tuple(place[1:2]) == (block,)


def _graph_columns(after: Mapping[str, Any], place: Sequence[int]) -> dict[str, str]:
    captures = {
        n: f"{letter(int(n))}: pointers {c['pointers']} depths {c['depths']}{' no tables' if c['wy_tables_null'] else ''}"
        for n, c in after["captures"].items()
    }
    ran = [
        f"{letter(int(n))} ran {letter(source)}'s" + (f"{BAD} at place {place[1]}" if place and int(n) == place[0] else "")
        for n, source in after["ran"].items()
    ]
    return {
        "cached": " ".join(letter(n) for n in after["cached"]) or "-",
        "captures": "  ".join(captures.values()) or "-",
        "ran": "  ".join(ran) or "-",
    }
