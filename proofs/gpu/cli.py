"""The commands `draftproof gpu check` and `draftproof gpu bench`, and their exit codes.

0: everything held. 1: something did not, or a device was required and there is none. 2: bad usage. Nothing here loads
a solver, so that the commands also run where there is none (`python -m proofs.gpu`).
"""

from __future__ import annotations

import datetime
import json
import platform
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from proofs.gpu import machines, records
from proofs.gpu.machines import Host


def _bench(devices: str, scale: str, require_device: bool) -> Any:
    from proofs.gpu.check import Bench

    try:
        numbers = tuple(int(number) for number in devices.split(","))
    except ValueError:
        raise click.BadParameter(f"{devices!r} is no list of numbers; pass e.g. 0,1", param_hint="--devices") from None
    present, why_not = machines.devices_here()
    no_host = machines.host_compiler_here()
    if present:
        try:
            found = machines.devices(numbers)
        except ValueError as absent:
            raise click.BadParameter(str(absent), param_hint="--devices") from absent
        machines.use(numbers[0])
        chosen = "device" if scale == "auto" else scale
        return Bench(machine=found, numbers=numbers, scale=chosen, host=None if no_host else Host())  # type: ignore[arg-type]
    if require_device:
        raise click.ClickException(f"gpu: no device ran: {why_not}")
    if no_host:
        raise click.ClickException(f"gpu: {why_not}, and {no_host}: nothing can run here")
    click.echo(f"No device: {why_not}. A smaller scope runs on the host's build of the kernels.", err=True)
    return Bench(machine=Host(), numbers=(), scale="host" if scale in ("auto", "device", "stretch") else scale)  # type: ignore[arg-type]


def description(bench: Any) -> dict[str, Any]:
    """Return what the record says of the machine: names and versions."""
    said: dict[str, Any] = {
        "name": bench.machine.parts[0].name if bench.on_device else bench.machine.name,
        "processor": platform.machine(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
    if bench.on_device:
        import cupy

        runtime = cupy.cuda.runtime
        properties = runtime.getDeviceProperties(bench.numbers[0])
        said |= {
            "devices": len(bench.numbers),
            "cupy": cupy.__version__,
            "driver": runtime.driverGetVersion(),
            "runtime": runtime.runtimeGetVersion(),
            "nvrtc": ".".join(map(str, cupy.cuda.compiler._get_nvrtc_version())),
            "multiprocessors": properties["multiProcessorCount"],
            "memory": properties["totalGlobalMem"],
        }
    return said


def _progress(shown: bool) -> Callable[[str], None]:
    started = time.perf_counter()

    def show(name: str) -> None:
        if shown:
            click.echo(f"{time.perf_counter() - started:7.1f} s  {name}", err=True)

    return show


def _keep(record: Path | None, part: str, result: dict[str, Any], bench: Any) -> None:
    """Put a result in the record that was asked for."""
    if record is None:
        return
    now, device = datetime.datetime.now(datetime.UTC), description(bench)
    path = record
    if record.suffix != ".json":
        path = record / records.file_name(device["name"], device.get("devices", 1), now.date())
    records.write(path, records.extended(path, part, result, device, now.strftime("%Y-%m-%dT%H:%M:%SZ")))
    click.echo(f"{part} is in {path}", err=True)


def _amount(value: float) -> str:
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g} "


def _check_lines(sections: Sequence[Any], verbose: bool) -> list[str]:
    lines, failures = [], []
    for section in sections:
        held = sum(row.ok for row in section.rows)
        lines.append(f"{section.name:14} {'ok    ' if section.ok else 'FAILED'} {held}/{len(section.rows)}"
                     f"   {section.seconds:.1f} s")  # fmt: skip
        for row in section.rows:
            if row.kind == "sweep":
                lines.append(
                    f"  {row.name:22} {row.cases:>16,} cases  {row.broken} violations  {row.accepted:,} accepted  "
                    f"{row.seconds * 1e3:.3f} ms  {_amount(row.cases / row.seconds if row.seconds else 0)}cases/s"
                )
            if row.kind == "keys":
                lines.append(f"  {row.name:30} {row.note}")
            if row.kind == "mutant" and row.ok and verbose:
                lines.append(f"  {row.name:44} {row.note}: {row.case}")
            if not row.ok:
                failures.append(f"FAILED {section.name}/{row.name}: broken {row.broken}, first {row.first}, "
                                f"{row.case or ''} {row.note}")  # fmt: skip
    return lines + failures


_devices = click.option("--devices", default="0", show_default=True, metavar="N,N..", help="The CUDA devices to use, by number.")
_record = click.option(
    "--record",
    type=click.Path(path_type=Path),
    help="Write or extend a record (JSON) here; in a folder, under the device's name and the day.",
)
_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
_require = click.option("--require-device", is_flag=True, help="Fail where there is no device.")


@click.group()
def gpu() -> None:
    """Check the batched implementation exhaustively in small scopes, on a GPU if there is one."""


@gpu.command(epilog="Example: draftproof gpu check --devices 0,1 --record proofs/records")
@_devices
@_record
@_json
@_require
@click.option("--scale", type=click.Choice(["auto", "small", "host", "device", "stretch"]), default="auto", show_default=True)
@click.option("--only", default="*", metavar="GLOB", help="Run only these sections.")
@click.option("--verbose", is_flag=True, help="Also print the smallest case of each mutant.")
def check(devices: str, record: Path | None, as_json: bool, require_device: bool, scale: str, only: str, verbose: bool) -> None:
    """Agreement, exhaustive sweeps, distinct keys and mutants."""
    from proofs.gpu import check as checks

    bench = _bench(devices, scale, require_device)
    sections = checks.run(bench, only, _progress(not as_json))
    if not sections:
        raise click.UsageError(f"gpu check: only={only} names no section")
    ok = all(section.ok for section in sections)
    result = {"scale": bench.scale, "ok": ok, "sections": [section.as_json() for section in sections]}
    _keep(record, "stretch" if scale == "stretch" else "check", result, bench)
    if as_json:
        click.echo(json.dumps({"device": description(bench), **result}))
    else:
        click.echo("\n".join([f"{bench.machine.name}, scale {bench.scale}", *_check_lines(sections, verbose)]))
        click.echo("ok" if ok else "FAILED")
    sys.exit(0 if ok else 1)


@gpu.command(epilog="Example: draftproof gpu bench --record proofs/records")
@_devices
@_record
@_json
@_require
def bench(devices: str, record: Path | None, as_json: bool, require_device: bool) -> None:
    """Figures beside the ceilings measured in the same run. A target that is missed does not fail."""
    from proofs.gpu import bench as figures

    where = _bench(devices, "auto", require_device)
    measured = figures.run(where, _progress(not as_json))
    result = {"figures": [figure.as_json() for figure in measured]}
    _keep(record, "bench", result, where)
    if as_json:
        click.echo(json.dumps({"device": description(where), **result}))
        return
    click.echo(where.machine.name)
    for figure in measured:
        fraction = "" if figure.fraction is None else f"{figure.fraction:6.1%} of {figure.ceiling}"
        target = "" if figure.target is None else f"{'reached' if figure.reached else 'MISSED'} {_amount(figure.target)}"
        numpy = "" if figure.numpy is None else f"{figure.numpy:.3g} x NumPy"
        click.echo(
            f"{figure.name:56} {_amount(figure.rate):>7}{figure.unit:8} {figure.seconds * 1e3:10.3f} ms "
            f"{fraction:16} {target:16} {numpy}"
        )
