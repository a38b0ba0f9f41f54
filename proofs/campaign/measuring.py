"""How much faster several workers are than one: the same job with each number of them, in turn, in one run.

Wall clock is what a user waits; where others load the machine it tells little, so the processor time that the shards took
stands beside it. A ratio of processor times near 1 says that workers do not slow each other down, and the busy share says
how much of the time the workers were at work rather than waiting for shards, or for a processor.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from proofs.campaign.cluster import Place, connected
from proofs.campaign.running import run
from proofs.campaign.work import Job


def _place(job: Job, count: int) -> Place:
    return Place(devices=tuple(range(count))) if job.backend == "cupy" else Place(workers=count)


def measured(job: Job, counts: Sequence[int], repeats: int) -> dict[str, Any]:
    """The job with each number of workers, `repeats` times each; workers have started and loaded before a clock starts."""
    runs: list[dict[str, Any]] = []
    warm = Job(**{**job.identity(), "end": min(job.begin + 64 * 2, job.end), "shard_size": 1})
    digests = set()
    for _ in range(repeats):
        for count in counts:
            with connected(_place(job, count)) as client:
                client.wait_for_workers(count, timeout=120)
                run(warm, client, None)
                started = time.perf_counter()
                outcome = run(job, client, None)
                seconds = time.perf_counter() - started
            digests.add((outcome.total.digest, outcome.complete, outcome.total.broken))
            runs.append({"workers": count, "seconds": seconds, "cpu_seconds": outcome.cpu, "busy": outcome.cpu / (seconds * count)})
    best = {count: min((one for one in runs if one["workers"] == count), key=lambda one: one["seconds"]) for count in counts}
    least_cpu = {count: min(one["cpu_seconds"] for one in runs if one["workers"] == count) for count in counts}
    first = counts[0]
    return {
        **job.identity(),
        "runs": runs,
        "agree": len(digests) == 1 and all(complete for _, complete, _ in digests),
        "digest": min(digests)[0],
        "compared": [
            {
                "workers": count,
                "seconds": best[count]["seconds"],
                "speedup": best[first]["seconds"] / best[count]["seconds"],
                "cpu_ratio": least_cpu[count] / least_cpu[first] if least_cpu[first] else None,
                "busy": best[count]["busy"],
            }
            for count in counts
        ],
    }


def shown(found: Mapping[str, Any]) -> str:
    """The measurement for people."""
    cases, repeats = found["end"] - found["begin"], len(found["runs"]) // len(found["compared"])
    lines = [f"{found['search']} ({found['scale']}, {found['backend']}), {cases:,} cases, best of {repeats}"]
    lines.append(f"{'workers':>8}{'seconds':>10}{'speedup':>10}{'cpu ratio':>11}{'busy':>8}")
    for one in found["compared"]:
        ratio = "" if one["cpu_ratio"] is None else f"{one['cpu_ratio']:.2f}"
        lines.append(f"{one['workers']:>8}{one['seconds']:>10.2f}{one['speedup']:>10.2f}{ratio:>11}{one['busy']:>8.0%}")
    agree = "every run came to it" if found["agree"] else "RUNS DISAGREE, or one is not complete"
    lines.append(f"digest {found['digest']}: {agree}")
    return "\n".join(lines)
