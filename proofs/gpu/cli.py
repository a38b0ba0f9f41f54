"""The commands `draftproof gpu check` and `draftproof gpu bench`, and their exit codes.

0: everything held. 1: something did not, or a device was required and there is none. 2: bad usage. Nothing here loads
a solver, so that the commands also run where there is none (`python -m proofs.gpu`).
"""

from __future__ import annotations

import datetime
import fnmatch
import importlib.util
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


def _keep(record: Path | None, part: str, result: dict[str, Any], bench: Any, subject: str) -> None:
    """Put a result in the record that was asked for, or in the one beside it that is of this subject."""
    if record is None:
        return
    now, device = datetime.datetime.now(datetime.UTC), description(bench)
    if record.suffix != ".json":
        path = record / records.file_name(device["name"], device.get("devices", 1), now.date(), subject)
    else:
        path = record if subject == records.RULES else record.with_name(f"{record.stem}-{subject}.json")
    records.write(path, records.extended(path, part, result, device, now.strftime("%Y-%m-%dT%H:%M:%SZ"), subject))
    click.echo(f"{part} of the {subject} is in {path}", err=True)


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
            if row.kind == "engine" and row.ok and verbose:
                lines.append(f"  {row.name:76} {row.cases:>6,} steps  {row.note}")
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
    """Agreement, exhaustive sweeps, distinct keys, mutants, and the engine on real memory."""
    from proofs.gpu import check as checks
    from proofs.gpu import engine

    bench, progress = _bench(devices, scale, require_device), _progress(not as_json)
    ran = {records.RULES: checks.run(bench, only, progress)}
    # A stretch is longer sweeps.
    ran[records.ENGINE] = () if scale == "stretch" else engine.check(bench, only, progress)
    sections = [section for part in ran.values() for section in part]
    if not sections:
        raise click.UsageError(f"gpu check: only={only} names no section")
    for subject, part in ran.items():
        if part:
            _keep(record, "stretch" if scale == "stretch" else "check", _checked(bench, part), bench, subject)
    result = _checked(bench, sections)
    if as_json:
        click.echo(json.dumps({"device": description(bench), **result}))
    else:
        click.echo("\n".join([f"{bench.machine.name}, scale {bench.scale}", *_check_lines(sections, verbose)]))
        click.echo("ok" if result["ok"] else "FAILED")
    sys.exit(0 if result["ok"] else 1)


def _checked(bench: Any, sections: Sequence[Any]) -> dict[str, Any]:
    ok = all(section.ok for section in sections)
    return {"scale": bench.scale, "ok": ok, "sections": [section.as_json() for section in sections]}


@gpu.command(epilog="Example: draftproof gpu bench --record proofs/records")
@_devices
@_record
@_json
@_require
@click.option("--only", default="*", metavar="GLOB", help="Measure only these: rules, engine-graphs and so on.")
def bench(devices: str, record: Path | None, as_json: bool, require_device: bool, only: str) -> None:
    """Figures beside the ceilings measured in the same run, or beside predictions. One that is missed does not fail."""
    from proofs.gpu import bench as figures
    from proofs.gpu import engine

    where, progress = _bench(devices, "auto", require_device), _progress(not as_json)
    measured = {
        records.RULES: figures.run(where, progress) if fnmatch.fnmatchcase(records.RULES, only) else [],
        records.ENGINE: engine.measure(where, only, progress),
    }
    everything = [figure for part in measured.values() for figure in part]
    if not everything:
        raise click.UsageError(f"gpu bench: only={only} names nothing; pass rules or {', '.join(engine.PARTS)}")
    for subject, part in measured.items():
        if part:
            _keep(record, "bench", {"figures": [figure.as_json() for figure in part]}, where, subject)
    if as_json:
        result = {"figures": [figure.as_json() for figure in everything]}
        click.echo(json.dumps({"device": description(where), **result}))
        return
    click.echo("\n".join([where.machine.name, *map(_figure_line, everything)]))


def _figure_line(figure: Any) -> str:
    predicted = getattr(figure, "predicted", None)
    if predicted is not None:
        reached = "as predicted" if figure.reached else "NOT as predicted"
        shown, said = (
            f"{value:.1%}" if figure.unit == "" else f"{_amount(value)}{figure.unit}" for value in (figure.rate, predicted)
        )
        return f"{figure.name:66} {shown:>10}   {reached} ({said})   {figure.note}"
    fraction = "" if figure.fraction is None else f"{figure.fraction:6.1%} of {figure.ceiling}"
    target = "" if figure.target is None else f"{'reached' if figure.reached else 'MISSED'} {_amount(figure.target)}"
    numpy = "" if figure.numpy is None else f"{figure.numpy:.3g} x NumPy"
    return (
        f"{figure.name:56} {_amount(figure.rate):>7}{figure.unit:8} {figure.seconds * 1e3:10.3f} ms "
        f"{fraction:16} {target:16} {numpy} {getattr(figure, 'note', '')}"
    ).rstrip()


@gpu.command(epilog="Example: draftproof gpu plots --out docs")
@click.option("--record", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="The engine's newest by default.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("docs"), show_default=True)
@click.option("--check", "only_check", is_flag=True, help="Write nothing; fail where a plot is not that of the record.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def plots(record: Path | None, out: Path, only_check: bool, as_json: bool) -> None:
    """Draw the plots of the engine from its record alone."""
    from proofs.gpu import engine_plots

    if importlib.util.find_spec("matplotlib") is None:
        raise click.UsageError("gpu plots: Matplotlib is not installed; draftproof[plots] installs it")
    found = records.load_records() if record is None else (records.load(record),)
    of = engine_plots.newest(found)
    if of is None:
        raise click.UsageError("gpu plots: there is no record of the engine; make one with draftproof gpu bench --record FOLDER")
    try:
        texts = {out / plot.file: engine_plots.drawn(plot, of) for plot in engine_plots.PLOTS}
    except ValueError as missing:
        raise click.UsageError(f"gpu plots: {missing}") from missing
    differing = [path for path, text in texts.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for path in () if only_check else differing:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts[path], encoding="utf-8")
    states = {path: ("differs" if only_check else "written") if path in differing else "as the record has it" for path in texts}
    if as_json:
        click.echo(json.dumps({"record": of.name, "plots": {str(path): state for path, state in states.items()}}))
    for path, state in () if as_json else states.items():
        click.echo(f"{path}   {state}   {of.name}")
    sys.exit(1 if only_check and differing else 0)
