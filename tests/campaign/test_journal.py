"""A journal goes on after any cut, and is refused where it could tell something that was not found."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from proofs.campaign.journal import Journal, JournalError
from proofs.campaign.work import Found, Job, total

JOB = Job(search="merge", backend="numpy", scale="small", begin=0, end=65536, shard_size=1000)
SOURCES = "0" * 64


def found(shard: int, first: int | None = None) -> Found:
    case = {"told": {"lo": 1}, "calls": []} if first is not None else None
    return Found(shard=shard, broken=first is not None, first=first, accepted=shard * 7, case=case)


def written(path: Path, shards: list[int]) -> bytes:
    journal = Journal(path, JOB, SOURCES)
    for shard in shards:
        journal.add([found(shard)])
    journal.close()
    return path.read_bytes()


def kept(path: Path) -> list[int]:
    journal = Journal(path, JOB, SOURCES)
    journal.close()
    return list(journal.found)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "campaign.journal"


def test_what_was_added_is_there_when_it_is_opened_again(path: Path) -> None:
    journal = Journal(path, JOB, SOURCES)
    journal.add([found(3), found(1)])
    journal.add([found(64, first=64_001)])
    journal.close()

    again = Journal(path, JOB, SOURCES)

    assert again.found == {3: found(3), 1: found(1), 64: found(64, first=64_001)}
    assert not again.torn
    again.close()


def test_a_journal_that_was_cut_anywhere_keeps_every_whole_line_and_goes_on(path: Path, tmp_path: Path) -> None:
    whole = written(path, [5, 2, 9])
    ends = [at + 1 for at, byte in enumerate(whole) if byte == ord("\n")]
    for length in range(len(whole) + 1):
        cut = tmp_path / "cut.journal"
        cut.write_bytes(whole[:length])
        lines = sum(end <= length for end in ends)

        assert kept(cut) == [5, 2, 9][: max(lines - 1, 0)], length
        # The next line stands on a line of its own.
        assert written(cut, [7]).count(b"\n") == max(lines, 1) + 1
        assert kept(cut) == [*[5, 2, 9][: max(lines - 1, 0)], 7]


def test_a_tail_of_zeros_or_of_another_text_is_cut_off(path: Path) -> None:
    whole = written(path, [5, 2])
    for tail in (b"\0" * 100, b'{"shard": 8, "broken": 0, "first": null, "accepted": 1}\n', b"\n", b"\xff\t\xff\n"):
        path.write_bytes(whole + tail)

        assert kept(path) == [5, 2]
        assert path.read_bytes() == whole


def test_damage_before_the_last_line_is_refused(path: Path) -> None:
    whole = written(path, [5, 2, 9, 11])
    lines = whole.splitlines(keepends=True)
    random = Random(1)
    for number in range(len(lines) - 2):
        at = random.randrange(len(lines[number]) - 40)
        bad = lines[number][:at] + bytes([lines[number][at] ^ 1]) + lines[number][at + 1 :]
        path.write_bytes(b"".join([*lines[:number], bad, *lines[number + 1 :]]))

        with pytest.raises(JournalError, match=f"damaged in line {number + 1}; move it away"):
            kept(path)
    # A line that is gone, or there twice, breaks the chain of checksums.
    for changed in (lines[:2] + lines[3:], [*lines[:3], lines[2], *lines[3:]]):
        path.write_bytes(b"".join(changed))
        with pytest.raises(JournalError, match="damaged"):
            kept(path)


@pytest.mark.parametrize("name", ["search", "backend", "scale", "begin", "end", "shard_size", "seed", "plant"])
def test_a_journal_of_another_job_is_refused_and_stays_as_it_is(path: Path, name: str) -> None:
    before = written(path, [5])
    other: dict[str, object] = {"search": "merge-64-bit", "backend": "kernels", "scale": "host"}
    job = Job(**{**JOB.identity(), name: other.get(name, 77)})

    with pytest.raises(JournalError, match=rf"of another campaign \({name} .*move it away or pass another --journal"):
        Journal(path, job, SOURCES)

    assert path.read_bytes() == before


def test_a_journal_of_other_sources_is_refused(path: Path) -> None:
    written(path, [5])

    with pytest.raises(JournalError, match="the sources have changed since"):
        Journal(path, JOB, "1" * 64)


@pytest.mark.parametrize("text", [b"not a journal\nat all\n", b'{"a": 1}\n{"b": 2}\n', b"x"])
def test_a_file_of_something_else_is_refused_and_stays_as_it_is(path: Path, text: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(text)

    with pytest.raises(JournalError, match="is no journal of a campaign"):
        Journal(path, JOB, SOURCES)

    assert path.read_bytes() == text


def test_a_shard_is_never_counted_twice(path: Path) -> None:
    journal = Journal(path, JOB, SOURCES)
    journal.add([found(4)])
    journal.add([found(4), found(5)])
    journal.close()

    assert kept(path) == [4, 5]
    with pytest.raises(ValueError, match="shard 4 is there twice"):
        total(JOB, [found(4), found(4)])


def test_a_journal_in_use_is_refused(path: Path) -> None:
    first = Journal(path, JOB, SOURCES)
    try:
        with pytest.raises(JournalError, match="in use by another campaign"):
            Journal(path, JOB, SOURCES)
    finally:
        first.close()


def test_the_digest_does_not_depend_on_the_order_and_depends_on_every_result() -> None:
    results = [found(shard) for shard in range(JOB.shards)]
    shuffled = Random(5).sample(results, len(results))
    other = [*results[:-1], Found(shard=JOB.shards - 1, broken=0, first=None, accepted=0)]

    assert total(JOB, shuffled) == total(JOB, results)
    assert total(JOB, other).digest != total(JOB, results).digest
    assert total(JOB, results[1:]).digest != total(JOB, results).digest
    assert total(JOB, results).covered == ((0, 65536),)
    assert total(JOB, results).cases == 65536


def test_what_is_covered_is_told_in_ranges() -> None:
    some = total(JOB, [found(shard) for shard in (65, 2, 1, 8, 64)])

    assert some.covered == ((1000, 3000), (8000, 9000), (64_000, 65_536))
    assert (some.shards, some.cases, some.first) == (5, 4536, None)
