"""Logs that the system model wrote: every line of a run is possible, and every planted fault is found where it is."""

from __future__ import annotations

import io
import random
from collections import Counter

import pytest

from proofs.tracelog import reading
from proofs.tracelog.reading import Reading
from proofs.tracelog.slot import Told
from tests.tracelog.engine import carry_lines, faults, written_log

AFTER = "MTP_CARRY adopt: prompt_len=9 store=StoreRange { owner: 0, lo: 0, hi: 0 } -> no carried state"


def read(log: bytes, *, continued: bool = False) -> Reading:
    found = Reading(keep=10**6, continued=continued)
    found.read(io.BytesIO(log))
    return found


def text(*lines: str) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def test_every_line_of_every_run_is_possible() -> None:
    told: Counter[Told] = Counter()
    for seed in range(100):
        found = read(text(*carry_lines(seed)))
        assert (found.findings, found.unread, found.binary) == ([], 0, 0)
        told += found.told

    assert all(told[message] >= 30 for message in Told), told


def test_every_planted_fault_is_found_and_nothing_else() -> None:
    kinds = set()
    for seed in range(4):
        for fault in faults(carry_lines(seed)):
            kinds.add(fault.what)
            found = read(text(*fault.lines, AFTER))

            assert [finding.line for finding in found.findings] == [len(fault.lines)], fault
            assert found.findings[0].text == fault.lines[-1][: reading.SHOWN]

    assert len(kinds) == 22


def test_faults_among_noise_and_damage_are_found_at_their_lines_and_damage_is_counted() -> None:
    lines = list(written_log(random.Random(5), 60, quiet=3, faulty=4))
    planted = [number for number, (_, what) in enumerate(lines, start=1) if what not in ("", "damage", "before a fault")]
    harmed = [number for number, (_, what) in enumerate(lines, start=1) if what == "damage"]
    log = b"".join(line + b"\n" for line, _ in lines)

    found = read(log)

    assert [finding.line for finding in found.findings] == planted
    assert found.unread_at == harmed and found.unread == len(harmed) > 30
    assert found.lines == len(lines) and found.size == len(log)
    starts = [finding.offset for finding in found.findings]
    assert all(log[start : start + 11] == b"2026-11-30T" and log[start - 1 : start] == b"\n" for start in starts)
    assert found.binary > 0


@pytest.mark.parametrize("block", [1, 7, 64, 4096])
def test_what_is_found_does_not_depend_on_where_blocks_end(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    log = b"".join(line + b"\n" for line, _ in written_log(random.Random(6), 4, quiet=1, faulty=4))
    whole = read(log)
    stream = io.BytesIO(log)

    pieces = Reading(keep=10**6)
    monkeypatch.setattr(stream, "read", lambda size: io.BytesIO.read(stream, min(size, block)), raising=False)
    pieces.read(stream)

    assert pieces == whole and whole.violations == 16
