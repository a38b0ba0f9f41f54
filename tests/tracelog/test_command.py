"""`draftproof trace`: what it shows, what it survives, and its exit codes."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from proofs.cli import draftproof, run
from proofs.exits import Exit
from proofs.tracelog import reading

Show = pytest.CaptureFixture[str]

LAST = 2**64 - 1

STORE = "MTP_CARRY store: rows=142 last_pair_key=Some(10096) seq_tokens=10098"
STAMP = "prompt_len=10180 store=StoreRange { owner: 7, lo: 10096, hi: 10180 }"
ADOPT = f"MTP_CARRY adopt: {STAMP} -> adopted rows=140 appended=83 first_key=10096"
TOO_MANY = f"MTP_CARRY adopt: {STAMP} -> adopted rows=143 appended=83 first_key=10096"


def trace(*arguments: str | Path) -> Exit:
    return run(draftproof, ["trace", *map(str, arguments)])


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "engine.log"


def written(path: Path, *lines: str | bytes, end: bytes = b"\n") -> Path:
    encoded = (line if isinstance(line, bytes) else line.encode() for line in lines)
    path.write_bytes(end.join(encoded) + end)
    return path


def told(path: Path, capsys: Show, *arguments: str) -> dict[str, Any]:
    trace("--json", *arguments, path)
    (entry,) = json.loads(capsys.readouterr().out)["logs"]
    assert isinstance(entry, dict)
    return entry


def reasons(path: Path, capsys: Show, *arguments: str) -> list[tuple[int, str]]:
    return [(finding["line"], finding["reason"].split(" (")[0]) for finding in told(path, capsys, *arguments)["findings"]]


@pytest.mark.parametrize(
    "outcome",
    [
        "adopted rows=140 appended=83 first_key=10096",
        "no carried state",
        "prefix mismatch (common=9956 entry_rows=142)",
        "foreign session (entry=0x1 prompt=0x2)",
        "foreign session (entry=0x0 prompt=0x0)",
        "hidden rows belong to sequence gen 7, not 9",
        "hidden store does not cover the append span",
    ],
)
@pytest.mark.parametrize("prefix", ["", "2026-09-07T01:02:03.4Z DEBUG atlas: ", "\x1b[2m01:02\x1b[0m \x1b[34mDEBUG\x1b[0m "])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\x1b[0m\n"])
def test_a_possible_line_is_read_behind_any_prefix(outcome: str, prefix: str, end: bytes, log: Path, capsys: Show) -> None:
    written(log, prefix + STORE, "other lines", f"{prefix}MTP_CARRY adopt: {STAMP} -> {outcome}", end=end)

    assert trace(log) is Exit.OK
    assert "3 lines, 2 of the carry, 0 impossible; 0 unread, 0 binary, 0 overlong" in capsys.readouterr().out


def test_an_impossible_line_is_shown_with_its_place_and_what_was_stored(log: Path, capsys: Show) -> None:
    assert trace(written(log, "größer", STORE, TOO_MANY, ADOPT)) is Exit.WRONG
    shown = capsys.readouterr().out

    assert f"{log}:3 (byte {len('größer'.encode()) + len(STORE) + 2})   IMPOSSIBLE   more rows adopted than stored" in shown
    assert "(stored in line 2: rows=142 last_pair_key=Some(10096) seq_tokens=10098)" in shown
    assert f"{log}:4 (byte" in shown and "the slot is empty: nothing was stored since the last attempt" in shown


def test_every_attempt_empties_the_slot_but_a_cold_turn_may_have_before(log: Path, capsys: Show) -> None:
    nothing = f"MTP_CARRY adopt: {STAMP} -> no carried state"
    refused = f"MTP_CARRY adopt: {STAMP} -> hidden store does not cover the append span"
    written(log, STORE, nothing, nothing, refused, STORE, refused, nothing, ADOPT)

    assert [line for line, _ in reasons(log, capsys)] == [4, 8]


def test_a_log_that_begins_in_the_middle_of_a_run_may_begin_with_an_adoption(log: Path, capsys: Show) -> None:
    written(log, ADOPT, ADOPT)

    assert [line for line, _ in reasons(log, capsys)] == [1, 2]
    assert [line for line, _ in reasons(log, capsys, "--continued")] == [2]
    impossible = ADOPT.replace("rows=140", "rows=10097")
    assert [line for line, _ in reasons(written(log, impossible), capsys, "--continued")] == [1]


def test_an_entry_without_a_last_key_is_refused_and_never_adopted(log: Path, capsys: Show) -> None:
    keyless = STORE.replace("Some(10096)", "None")
    mismatch = f"MTP_CARRY adopt: {STAMP} -> prefix mismatch (common=10000 entry_rows=142)"
    written(log, keyless, mismatch, keyless, ADOPT)

    assert reasons(log, capsys) == [(4, "nothing of an entry without a last pair key can be adopted")]


@pytest.mark.parametrize(
    ("stamp", "possible"),
    [
        ("owner: 0, lo: 0, hi: 0", True),
        ("owner: 7, lo: 5, hi: 6", True),
        ("owner: 7, lo: 5, hi: 5", False),
        ("owner: 0, lo: 0, hi: 5", False),
        ("owner: 0, lo: 5, hi: 5", False),
    ],
)
def test_a_store_range_is_owned_and_not_empty_or_neither(stamp: str, possible: bool, log: Path) -> None:
    written(log, f"MTP_CARRY adopt: prompt_len=9 store=StoreRange {{ {stamp} }} -> no carried state")

    assert trace(log) is (Exit.OK if possible else Exit.WRONG)


@pytest.mark.parametrize(
    ("line", "possible"),
    [
        (f"MTP_CARRY store: rows=1 last_pair_key=Some({LAST - 2}) seq_tokens={LAST}", True),
        (f"MTP_CARRY store: rows=1 last_pair_key=Some({LAST - 1}) seq_tokens={LAST}", False),
        (f"MTP_CARRY store: rows=1 last_pair_key=Some(0) seq_tokens={LAST + 1}", False),
        (f"MTP_CARRY store: rows=1 last_pair_key=Some(0) seq_tokens={'9' * 5000}", False),
        (f"MTP_CARRY adopt: prompt_len={LAST} store=StoreRange {{ owner: {LAST}, lo: 0, hi: {LAST} }} -> no carried state", True),
        (f"MTP_CARRY adopt: prompt_len=0 store=StoreRange {{ owner: {LAST + 1}, lo: 0, hi: 1 }} -> no carried state", False),
    ],
)
def test_numbers_reach_to_64_bits_and_no_further(line: str, possible: bool, log: Path) -> None:
    assert trace(written(log, line)) is (Exit.OK if possible else Exit.WRONG)


@pytest.mark.parametrize(
    "store",
    [
        STORE.replace("142", "0"),
        STORE.replace("142", "10098"),
        STORE.replace("10098", "10097"),
        STORE.replace("10098", str(LAST + 1)),
        STORE.replace("10098", "9" * 5000),
    ],
)
def test_what_an_impossible_store_line_left_in_the_slot_is_not_known(store: str, log: Path, capsys: Show) -> None:
    written(log, store, ADOPT, ADOPT)

    assert [line for line, _ in reasons(log, capsys)] == [1, 3]


@pytest.mark.parametrize(
    "damage",
    [
        b"MTP_CARRY store: rows=142 last_pair_key=So",
        b"MTP_CAR",
        b"2 last_pair_key=Some(10096) seq_tokens=10098",
        b"MTP_CARRY store: rows=1MTP_CARRY adopt: prompt_len=3",
        b"MTP_CARRY store: rows=\x00\x00\x00 last_pair_key=Some(10096) seq_tokens=10098",
        b"\xff\xfeP_CARRY store: rows=1 last_pair_key=None seq_tokens=9",
        b"MTP_CARRY adopt: prompt_len=-1 store=StoreRange { owner: 7, lo: 1, hi: 2 } -> no carried state",
        b"MTP_CARRY adopt: prompt_len=1 store=StoreRange { owner: 7, lo: 1, hi: 2 } -> something new",
    ],
)
def test_damage_is_counted_and_what_may_have_been_lost_raises_no_alarm(damage: bytes, log: Path, capsys: Show) -> None:
    found = told(written(log, STORE, ADOPT, damage, ADOPT, ADOPT), capsys)

    assert found["unread"] == {"carry_lines": 1, "first_at": [3]}
    assert [finding["line"] for finding in found["findings"]] == [5]


def test_pieces_of_many_lost_lines_are_counted_at_their_places(log: Path, capsys: Show) -> None:
    piece, binary = b"2 last_pair_key=Some(10096) seq_tokens=10098", b"\xffMTP_ store"
    written(log, STORE, *([piece, b"other", binary] * 30_000))
    found = told(log, capsys, "--max-findings", "5")

    assert found["unread"] == {"carry_lines": 60_000, "first_at": [2, 4, 5, 7, 8]}
    assert (found["lines"], found["binary_lines"]) == (90_001, 30_000)


def test_binary_noise_is_counted_and_changes_nothing(log: Path, capsys: Show) -> None:
    found = told(written(log, STORE, b"\x00\x01\x02", bytes(range(128, 256)), "größer", ADOPT, b"\x7fELF", ADOPT), capsys)

    assert (found["binary_lines"], found["unread"]["carry_lines"]) == (3, 0)
    assert [finding["line"] for finding in found["findings"]] == [7]


def test_a_line_longer_than_a_block_is_passed_over(log: Path, capsys: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BLOCK", 4096)
    written(log, STORE, ADOPT, b"x" * 100_000 + STORE.encode(), ADOPT, ADOPT, b"y" * 10_000)
    found = told(log, capsys)

    assert (found["overlong_lines"], found["lines"], found["bytes"]) == (2, 6, log.stat().st_size)
    (finding,) = found["findings"]
    log.write_bytes(log.read_bytes()[:-1])
    assert told(log, capsys)["lines"] == 6
    assert finding["line"] == 5 and log.read_bytes()[finding["offset"] :].startswith(ADOPT.encode())


def test_all_are_counted_and_the_first_are_shown(log: Path, capsys: Show) -> None:
    written(log, *[ADOPT] * 9)

    assert trace("--max-findings", "2", log) is Exit.WRONG
    shown = capsys.readouterr().out
    assert shown.count("IMPOSSIBLE") == 2 and "7 more impossible lines" in shown and "9 impossible;" in shown


def test_standard_input_and_packed_logs_are_read_and_each_log_is_a_run(
    tmp_path: Path, log: Path, capsys: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = tmp_path / "engine.log.gz"
    packed.write_bytes(gzip.compress(f"{STORE}\n{TOO_MANY}\n".encode()))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{ADOPT}\n".encode())))

    assert trace("--json", written(log, STORE), "-", packed) is Exit.WRONG
    logs = json.loads(capsys.readouterr().out)["logs"]
    assert [entry["violations"] for entry in logs] == [0, 1, 1]


def test_a_log_that_cannot_be_read_to_its_end_is_bad_input_and_what_was_found_is_told(tmp_path: Path, capsys: Show) -> None:
    packed = tmp_path / "cut.gz"
    whole = gzip.compress(b"".join(f"{ADOPT}{n}\n".encode() for n in range(20_000)))
    packed.write_bytes(whole[: len(whole) // 2])

    assert trace(packed) is Exit.USAGE
    assert "cannot be read to its end" in capsys.readouterr().out
    assert trace(tmp_path / "absent.log") is Exit.USAGE
    assert trace(tmp_path) is Exit.USAGE
    assert trace() is Exit.USAGE


@pytest.mark.parametrize("content", [b"", b"nothing of the carry\n", b"MTP_CARRY store: ro"])
def test_a_log_without_a_carry_line_is_bad_input(content: bytes, log: Path, capsys: Show) -> None:
    log.write_bytes(content)

    assert trace(log) is Exit.USAGE
    assert "no carry line could be read" in capsys.readouterr().out


def test_a_last_line_without_its_end_is_a_line(log: Path, capsys: Show) -> None:
    log.write_bytes(f"{STORE}\n{TOO_MANY}".encode())

    assert reasons(log, capsys) == [(2, "more rows adopted than stored")]
    assert told(log, capsys)["lines"] == 2


def test_an_interrupt_ends_with_its_own_code(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(reading.Reading, "read", interrupted)

    assert trace(written(log, STORE)) is Exit.INTERRUPTED
