"""Workers of any kind: those of other sources get nothing, those that die or fail lose nothing, all find what is planted."""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest

from proofs.campaign.cluster import Place, connected
from proofs.campaign.spreading import why_refused
from proofs.exits import Exit
from tests.batched.backends import NO_COMPILER
from tests.campaign.clusters import Cluster, changed, cluster, ended, free_port, ran, started, waited_for, workers_of

pytestmark = pytest.mark.slow

BACKENDS = [
    "numpy",
    pytest.param("kernels", marks=pytest.mark.skipif(NO_COMPILER is not None, reason=str(NO_COMPILER))),
]
MERGE = ("merge", "--scale", "host", "--backend", "numpy", "--range", "0:1500000", "--shard-size", "7001")


def in_ranges(told: dict[str, Any]) -> int:
    return sum(high - low for low, high in told["covered"])


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    names = ("digest", "covered", "accepted", "broken", "cases_done", "exit")
    return [one[name] for name in names] == [other[name] for name in names]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    whole = ran(tmp_path_factory.mktemp("undisturbed"), *MERGE, "--threads", "1")
    assert (whole.code, whole.told["complete"], in_ranges(whole.told)) == (Exit.OK, True, 1_500_000)
    return whole.told


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[Cluster]:
    with cluster(tmp_path) as here:
        yield here


@pytest.fixture(scope="module")
def other_sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages with one more comment in the implementation under test."""
    return changed(tmp_path_factory.mktemp("other"), "impl/batched/ragged.py", "# of another version\n")


def test_a_worker_of_other_sources_gets_nothing_and_the_others_do_it_all(
    scheduler: Cluster, other_sources: Path, tmp_path: Path, undisturbed: dict[str, Any]
) -> None:
    with scheduler.worker("other", other_sources), scheduler.worker("right"):
        told = ran(tmp_path, *MERGE, "--scheduler", scheduler.address).told

    assert same(told, undisturbed)
    assert told["workers"] == 1
    (refused,) = told["refused"]
    assert "it has other sources" in refused["reason"]


def test_only_workers_of_other_sources_leave_the_campaign_undecided(
    scheduler: Cluster, other_sources: Path, tmp_path: Path
) -> None:
    with scheduler.worker("other", other_sources):
        end = ran(tmp_path, *MERGE, "--scheduler", scheduler.address, "--patience", "1")

    assert (end.code, end.told["covered"], end.told["workers"]) == (Exit.UNDECIDED, [], 0)
    assert len(end.told["refused"]) == 1
    assert "no worker that may be asked" in end.told["stopped"]


def test_a_worker_that_joins_later_is_asked_for_its_sources_too(
    scheduler: Cluster, other_sources: Path, tmp_path: Path, undisturbed: dict[str, Any]
) -> None:
    journal = tmp_path / "journal"
    arguments = (*MERGE, "--scheduler", scheduler.address, "--journal", str(journal))
    with contextlib.ExitStack() as stack:
        port = free_port()
        first = stack.enter_context(scheduler.worker("first", port=port))
        process = stack.enter_context(started(tmp_path, *arguments))
        waited_for(lambda: journal.exists() and journal.read_bytes().count(b"\n") > 3)
        # The campaign waits for the newcomers, so that it is not over before they come.
        psutil.Process(first.pid).suspend()
        stack.enter_context(scheduler.worker("other", other_sources))
        first.kill()
        # Also one that comes back to an address is asked anew.
        stack.enter_context(scheduler.worker("second", port=port))
        told = ended(process).told

    assert same(told, undisturbed)
    assert (told["workers"], len(told["refused"])) == (1, 1)
    assert told["retried"] > 0


def test_what_is_loaded_counts_as_much_as_what_is_on_disk() -> None:
    right = {"files": "a" * 64, "loaded": "a" * 64, "pid": 1, "host": "elsewhere", "versions": {"z3-solver": "1", "cvc5": "2"}}

    assert why_refused(right, "a" * 64, {}) == ""
    assert why_refused({**right, "loaded": None}, "a" * 64, {"cvc5": "2"}) == ""
    assert "has loaded other sources" in why_refused({**right, "loaded": "b" * 64}, "a" * 64, {})
    assert "has other sources" in why_refused({**right, "files": "b" * 64}, "a" * 64, {})
    itself = {"pid": os.getpid(), "host": platform.node()}
    assert why_refused({**right, **itself, "files": "b" * 64}, "a" * 64, {}) == ""
    assert "has loaded other sources" in why_refused({**right, **itself, "loaded": "b" * 64}, "a" * 64, {})
    assert "cvc5 2, not 3" in why_refused(right, "a" * 64, {"cvc5": "3"})
    assert "cannot say what its sources are" in why_refused(ValueError("what?"), "a" * 64, {})


@pytest.mark.skipif(NO_COMPILER is not None, reason=str(NO_COMPILER))
def test_a_shard_that_fails_is_tried_elsewhere(scheduler: Cluster, tmp_path: Path) -> None:
    arguments = ("merge", "--scale", "small", "--backend", "kernels", "--shard-size", "1000", "--scheduler", scheduler.address)
    with scheduler.worker("bad", CXX="no-such-compiler"), scheduler.worker("good"):
        told = ran(tmp_path, *arguments).told

    assert (told["exit"], told["complete"], told["failed"]) == (Exit.OK, True, [])
    assert told["retried"] > 0


def test_a_shard_that_fails_everywhere_is_reported_and_never_success(scheduler: Cluster, tmp_path: Path) -> None:
    arguments = ("merge", "--scale", "small", "--backend", "kernels", "--shard-size", "30000", "--scheduler", scheduler.address)
    with scheduler.worker("bad", CXX="no-such-compiler"):
        end = ran(tmp_path, *arguments)

    assert (end.code, end.told["exit"], end.told["complete"], end.told["covered"]) == (Exit.UNDECIDED, Exit.UNDECIDED, False, [])
    assert [failed["cases"] for failed in sorted(end.told["failed"], key=lambda failed: failed["shard"])] == [
        [0, 30000], [30000, 60000], [60000, 65536]
    ]  # fmt: skip
    assert all("3 times" in failed["reason"] and "no g++" in failed["reason"] for failed in end.told["failed"])


@pytest.mark.exhaustive
def test_a_scheduler_that_goes_away_leaves_a_journal_to_go_on_from(tmp_path: Path, undisturbed: dict[str, Any]) -> None:
    journal = tmp_path / "journal"
    with contextlib.ExitStack() as elsewhere:
        here = elsewhere.enter_context(cluster(tmp_path))
        elsewhere.enter_context(here.worker("only"))
        with started(tmp_path, *MERGE, "--journal", str(journal), "--scheduler", here.address, "--patience", "5") as process:
            waited_for(lambda: journal.exists() and journal.read_bytes().count(b"\n") > 3)
            elsewhere.close()
            end = ended(process)

    assert end.code == Exit.UNDECIDED
    assert 0 < end.told["shards_done"] < end.told["shards"]
    assert end.told["stopped"]
    again = ran(tmp_path, *MERGE, "--journal", str(journal), "--threads", "1").told
    assert same(again, undisturbed)
    assert again["shards_resumed"] == end.told["shards_done"]


def check_kills(folder: Path, seed: int, kills: int, undisturbed: dict[str, Any], *, within: float) -> tuple[int, int]:
    """Kill clients and workers at random moments, so many in all; every campaign that ends must have missed nothing.

    A killed client's campaign goes on from its journal; one that ends makes room for the next. Returns how many of each.
    """
    random = Random(seed)
    clients = workers = journals = 0
    while True:
        last = clients + workers >= kills
        with started(folder, *MERGE, "--local-workers", "2", "--journal", str(folder / f"journal{journals}")) as process:
            children: list[psutil.Process] = []
            killed = False
            while not last and not killed and process.poll() is None and clients + workers < kills:
                threading.Event().wait(random.uniform(0.1, within))
                children = workers_of(process) or children
                if process.poll() is None and random.random() < 0.4:
                    process.kill()
                    killed = True
                    clients += 1
                elif victims := workers_of(process):
                    with contextlib.suppress(psutil.NoSuchProcess):
                        random.choice(victims).kill()
                        workers += 1
            if killed:
                process.wait()
                # Workers end with the client that they were started by.
                waited_for(functools.partial(all_ended, children))
                continue
            end = ended(process)
        assert end.code == Exit.OK, end.error
        assert same(end.told, undisturbed)
        journals += 1
        if last or clients + workers >= kills:
            return clients, workers


def all_ended(processes: list[psutil.Process]) -> bool:
    return not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in processes)


def test_what_is_killed_once_loses_and_repeats_nothing(tmp_path: Path, undisturbed: dict[str, Any]) -> None:
    assert sum(check_kills(tmp_path, 4, 3, undisturbed, within=4.0)) == 3


@pytest.mark.exhaustive
def test_what_is_killed_at_twenty_random_moments_loses_and_repeats_nothing(tmp_path: Path, undisturbed: dict[str, Any]) -> None:
    clients, workers = check_kills(tmp_path, 20261201, 20, undisturbed, within=6.0)

    assert clients + workers == 20
    assert clients >= 4
    assert workers >= 4


TEN_THOUSAND = ("append", "--scale", "host", "--shard-size", str(-(-(2**24) // 10_000)))


@contextlib.contextmanager
def kind_of_worker(kind: str, folder: Path) -> Iterator[tuple[str, ...]]:
    """The options for a kind of worker."""
    if kind == "external":
        with cluster(folder) as here, here.worker("one"), here.worker("two"):
            yield "--scheduler", here.address
    else:
        yield ("--threads", "2") if kind == "in-process" else ("--local-workers", "2")


@pytest.mark.exhaustive
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", ["in-process", "local processes", "external"])
def test_a_violation_in_one_shard_of_ten_thousand_is_found_by_every_kind_of_worker(kind: str, backend: str, tmp_path: Path) -> None:
    plant = Random(f"{kind} {backend}").randrange(2**23, 2**24)
    with kind_of_worker(kind, tmp_path) as options:
        end = ran(tmp_path, *TEN_THOUSAND, "--backend", backend, "--plant", str(plant), *options)

    assert end.code == Exit.WRONG, end.error
    violation = end.told["violation"]
    assert end.told["shards"] >= 9_990
    assert (violation["index"], end.told["broken"]) == (plant, 1)
    assert violation["vector"]["fn"] == "plan_append"
    assert violation["calls"][0]["rule"] != violation["calls"][0]["reference"] == violation["vector"]["result"]
    # What stands behind the violation was not looked at: it ended the campaign.
    assert not end.told["complete"] or plant > 2**24 - 500 * 1678


@pytest.mark.parametrize("kind", ["in-process", "local processes", "external"])
def test_a_violation_is_found_by_every_kind_of_worker(kind: str, tmp_path: Path) -> None:
    arguments = ("append", "--scale", "small", "--backend", "numpy", "--shard-size", "10000", "--plant", "700000")
    with kind_of_worker(kind, tmp_path) as options:
        end = ran(tmp_path, *arguments, *options)

    assert (end.code, end.told["violation"]["index"], end.told["violation"]["shard"]) == (Exit.WRONG, 700_000, 70)


def test_each_device_has_a_worker_that_sees_no_other() -> None:
    with connected(Place(devices=(0, 3))) as client:
        client.wait_for_workers(2, timeout=60)
        seen = client.run(lambda: (os.environ["CUDA_VISIBLE_DEVICES"], os.getpid()))

    assert sorted(device for device, _ in seen.values()) == ["0", "3"]
    assert len({pid for _, pid in seen.values()} - {os.getpid()}) == 2


def test_everything_that_is_started_here_listens_on_this_machine_alone(tmp_path: Path) -> None:
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    with connected(Place(workers=1)) as client:
        client.wait_for_workers(1, timeout=60)
        ours = [psutil.Process(), *psutil.Process().children(recursive=True)]
        places = {c.laddr.ip for one in ours for c in one.net_connections(kind="inet") if c.status == psutil.CONN_LISTEN}

    assert places == {"127.0.0.1"}
    left = [child for child in psutil.Process().children(recursive=True) if child.pid not in before]
    assert [child for child in left if "resource_tracker" not in " ".join(child.cmdline())] == []
