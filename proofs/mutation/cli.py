"""The command `draftproof mutants`: what changes of a line in the reference, the models or the kernels go unnoticed."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import click

from proofs import console
from proofs.checker import Settings
from proofs.exits import Exit, worst
from proofs.gpu import faults, machines
from proofs.mutation import models, reference
from proofs.processors import cores
from proofs.replay import run
from proofs.report import replace_file

FOLDER = Path("build") / "mutants"
BACKSTOP = 600.0
"""Seconds for one fault, which may meet every claim about its rules."""


@click.command("mutants")
@click.option("--only", type=click.Choice(["reference", "models", "kernels"]), help="One of the three; all by default.")
@click.option("--fault", default="*", metavar="GLOB", help="Only the generated faults of models and kernels that match.")
@click.option("--matrix", is_flag=True, help="Find every claim that kills a fault of the models, not only the first.")
@click.option("--jobs", type=click.IntRange(min=1), default=cores, help="Worker processes; all cores by default.")
@click.option("--json", "as_json", is_flag=True, help="Print what came of it as JSON.")
def mutants(only: str | None, fault: str, matrix: bool, jobs: int, as_json: bool) -> Exit:
    """Change reference, models and kernels line by line, and see who notices.

    A change of the reference must fail one of its tests, or stand in the reviewed list of survivors. A change of a model
    must be refuted by a claim, or be proved to be none. A change of the kernels must fail a check that needs no device,
    or stand in the reviewed list of equivalents. Takes some minutes; build/mutants keeps what came of it.

    \b
    Example:
      draftproof mutants --only models --fault 'store.*'
      draftproof mutants --only kernels --fault 'carry.cuh *'
    """
    documents: dict[str, Any] = {}
    if only in (None, "reference"):
        _tell("mutating impl/reference: some minutes")
        judgement = reference.mutate(jobs)
        documents["reference"] = reference.document(judgement)
        if not as_json:
            console.emit(reference.shown(judgement))
    if only in (None, "models"):
        _tell("changing the models: some minutes")
        started = time.perf_counter()
        documents["models"] = models.campaign(run, Settings(jobs=jobs, backstop=BACKSTOP), pattern=fault, matrix=matrix)
        documents["models"]["seconds"] = round(time.perf_counter() - started, 1)
        if not documents["models"]["faults"]:
            raise click.BadParameter(f"{fault!r} matches no generated fault", param_hint="--fault")
        if not as_json:
            console.emit(models.shown(documents["models"]))
    if only in (None, "kernels"):
        _tell("changing the kernels: some minutes")
        if missing := machines.host_compiler_here():
            raise click.UsageError(f"{missing}; --only reference and --only models need none")
        judged = faults.campaign(jobs, None if fault == "*" else faults.named(fault))
        documents["kernels"] = faults.document(judged)
        if not as_json:
            console.emit(faults.shown(judged))
    for name, document in documents.items():
        replace_file(FOLDER / f"{name}.json", json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    if as_json:
        console.emit(json.dumps(documents, indent=1, ensure_ascii=False))
    return worst(document["exit"] for document in documents.values())


def _tell(text: str) -> None:
    click.echo(text, err=True)
