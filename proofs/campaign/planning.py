"""How a campaign is planned from what was asked: the backend, the scale, the range and the size of a shard.

Plans depend on nothing but what was asked, so that the same command finds its journal again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from proofs.campaign.searches import BACKENDS, SCALES, SEED_SHIFT, Search, Sweep, missing, searches
from proofs.campaign.work import Job
from proofs.gpu.machines import SHARD_STEP

FOLDER = Path("build") / "campaign"
SHARD_SECONDS = 2.0
SHARES = 64
"""Into so many shards at least a campaign is cut, so that many workers have something to do."""

# Cases per second of one worker, about: for the size of a shard and for what a list says, and for nothing that is shown
# as measured. By program, then numpy (one core), kernels (one core), cupy (one H200).
RATES: Mapping[str, Mapping[str, float]] = {
    "carried.cu": {"numpy": 1.5e6, "kernels": 7e7, "cupy": 5e11},
    "append.cu": {"numpy": 2.5e7, "kernels": 4e8, "cupy": 1e12},
    "merge.cu": {"numpy": 4.5e6, "kernels": 7e7, "cupy": 9e11},
    "orders.cu": {"numpy": 3e5, "kernels": 2.5e6, "cupy": 3e10},
    "network.cu": {"numpy": 1.5e5, "kernels": 1.5e8, "cupy": 7e11},
    "wide.cu": {"numpy": 8e4, "kernels": 1.5e6, "cupy": 1.3e10},
    "sequences.cu": {"numpy": 1.5e6, "kernels": 7e7, "cupy": 6e11},
    "random-calls": dict.fromkeys(BACKENDS, 1e4),
    "random-interleavings": {"numpy": 600, "kernels": 600, "cupy": 1e4},
}


class PlanError(ValueError):
    """What was asked cannot be planned; the message names the argument, its value, the rule and the remedy."""


def rate(search: Search, backend: str) -> float:
    """Cases per second of one worker, about."""
    return RATES[search.scope.program if isinstance(search, Sweep) else search.name][backend]


def shard_size(search: Search, backend: str, cases: int) -> int:
    """Cases of a shard by default: about two seconds of work, or a 64th of all; of large shards whole groups of cases."""
    size = max(min(int(rate(search, backend) * SHARD_SECONDS), -(-cases // SHARES)), 1)
    return size // search.group * search.group or (size if search.group == SHARD_STEP else search.group)


def planned(
    name: str,
    *,
    backend: str | None = None,
    scale: str | None = None,
    limits: str | None = None,
    size: int | None = None,
    seed: int | None = None,
    plant: int | None = None,
) -> Job:
    """The job that was asked for, with the defaults put in. Errors: PlanError."""
    search = searches().get(name)
    if search is None:
        raise PlanError(f"SCOPE={name} is no search; `draftproof campaign --list` shows them")
    backend = backend or ("numpy" if missing("kernels") else "kernels")
    usual: tuple[str, ...] = SCALES
    if scale is None:
        usual = ("device", "host", "small", "stretch") if backend == "cupy" else ("host", "small", "device", "stretch")
    elif scale not in search.sizes:
        raise PlanError(f"--scale {scale}: {name} has {', '.join(search.sizes)}; pass one of them")
    else:
        usual = (scale,)
    chosen = next(one for one in usual if one in search.sizes)
    begin, end = _limits(limits, search.sizes[chosen])
    if seed is not None and not search.seeded:
        raise PlanError(f"--seed {seed}: {name} is exhaustive and has no seed; leave it out")
    if seed is not None and not 0 <= seed < 1 << 63 - SEED_SHIFT:
        raise PlanError(f"--seed {seed} is outside 0 to {(1 << 63 - SEED_SHIFT) - 1}; pass one within")
    if plant is not None:
        if not isinstance(search, Sweep):
            raise PlanError(f"--plant {plant}: {name} has no plants; pass append or merge")
        try:
            search.planted(chosen, plant)
        except ValueError as error:
            raise PlanError(f"--plant {plant}: {error}") from error
    return Job(
        search=name,
        backend=backend,
        scale=chosen,
        begin=begin,
        end=end,
        shard_size=size or shard_size(search, backend, end - begin),
        seed=seed or 0,
        plant=plant,
    )


def _limits(text: str | None, cases: int) -> tuple[int, int]:
    if text is None:
        return 0, cases
    low, colon, high = text.partition(":")
    try:
        begin, end = int(low or 0), int(high or cases)
    except ValueError:
        begin = end = 0
    if not colon or not 0 <= begin < end <= cases:
        raise PlanError(f"--range {text} is no range of its cases; pass LOW:HIGH with 0 <= LOW < HIGH <= {cases}")
    return begin, end


def journal_of(job: Job) -> Path:
    """Where a job's journal is by default."""
    parts = [job.search, job.scale, job.backend]
    parts += [f"seed{job.seed}"] if job.seed else []
    parts += [f"{job.begin}-{job.end}"] if (job.begin, job.end) != (0, job.about.sizes[job.scale]) else []
    parts += [f"by{job.shard_size}"] if job.shard_size != shard_size(job.about, job.backend, job.end - job.begin) else []
    parts += [f"planted{job.plant}"] if job.plant is not None else []
    return FOLDER / f"{'.'.join(parts)}.journal"
