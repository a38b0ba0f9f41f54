"""What `draftproof gpu check` does: sections of rows, each row one thing that holds or does not.

A section that fails takes no other with it: what it raised is its row. On a machine without a device the same sections
run at a smaller scale through the host's build of the kernels, without those that need one.
"""

from __future__ import annotations

import fnmatch
import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context
from typing import Any, TypeAlias

import numpy as np

import impl.batched as batched
from impl.batched import Ragged, kernels
from impl.batched.kernels import Patch
from proofs.gpu import agreement, machines
from proofs.gpu.machines import Device, Host, Machine
from proofs.gpu.mutants import DEVICE_ONLY, KEYS, MUTANTS, Mutant, catch, compare_patched
from proofs.gpu.scopes import BY_NAME, SCOPES, Scale, Scope, Size
from proofs.gpu.walks import walks

KEEP_RATIO = (3, 4)  # of the positions that may be pruned, so many are kept
TABLE_BITS = 14


@dataclass(frozen=True, kw_only=True)
class Row:
    """One thing checked. kind: programs, agreement, launch, twin, sweep, keys, mutant or error.

    cases, broken, first, accepted: as a sweep's tally, 0 or None where they do not apply. case: the first broken case.
    """

    kind: str
    name: str
    ok: bool
    cases: int = 0
    broken: int = 0
    first: int | None = None
    accepted: int = 0
    seconds: float = 0.0
    case: Any = None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Section:
    """A section and its rows."""

    name: str
    seconds: float
    rows: tuple[Row, ...]

    @property
    def ok(self) -> bool:
        """Whether there are rows and all of them hold."""
        return bool(self.rows) and all(row.ok for row in self.rows)

    def as_json(self) -> dict[str, Any]:
        """Return the section as the record keeps it."""
        return {"name": self.name, "ok": self.ok, "seconds": self.seconds, "rows": [asdict(row) for row in self.rows]}


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Where a check runs. machine sweeps; numbers are those of its devices, none where it is the host."""

    machine: Machine
    numbers: tuple[int, ...]
    scale: Scale
    host: Host | None = field(default_factory=Host)

    @property
    def on_device(self) -> bool:
        """Whether it has a device."""
        return bool(self.numbers)


def run(bench: Bench, only: str = "*", progress: Callable[[str], None] = lambda _: None) -> tuple[Section, ...]:
    """Run every section whose name matches `only`."""
    sections = []
    for name, section, needs_device in _SECTIONS:
        if not fnmatch.fnmatchcase(name, only) or (needs_device and not bench.on_device):
            continue
        progress(name)
        started = time.perf_counter()
        rows: list[Row] = []
        try:
            rows.extend(_each(section(bench), progress))
        except Exception as error:  # noqa: BLE001 -- whatever went wrong here must not lose the other sections
            rows.append(Row(kind="error", name=name, ok=False, note=f"{type(error).__name__}: {error}"[:2000]))
        sections.append(Section(name=name, seconds=time.perf_counter() - started, rows=tuple(rows)))
    return tuple(sections)


def _each(rows: Iterator[Row], progress: Callable[[str], None]) -> Iterator[Row]:
    for row in rows:
        progress(row.name)
        yield row


def _agreement(bench: Bench) -> Iterator[Row]:
    if bench.host is not None:
        walked = walks()
        yield Row(
            kind="agreement",
            name="common_prefix_len (turns of a team)",
            ok=walked.broken == 0,
            cases=walked.cases,
            broken=walked.broken,
            case=walked.first,
        )
    for function in agreement.functions():
        if bench.host is not None:
            with batched.host_kernels():
                yield _agreed("host kernels", agreement.compare(function, getattr(batched, function)))
        if bench.on_device:
            import cupy

            yield _agreed("device", agreement.compare(function, getattr(batched, function), cupy.asarray))


def _agreed(where: str, found: agreement.Agreement) -> Row:
    return Row(
        kind="agreement",
        name=f"{found.function} ({where})",
        ok=found.differing == 0 and found.rows > 0,
        cases=found.rows,
        broken=found.differing,
        case=found.first,
    )


def _launches(bench: Bench) -> Iterator[Row]:
    """Any stream, and a captured graph that is replayed on new values in the same arrays."""
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True)
    for function in agreement.functions():
        with stream:
            found = agreement.compare(function, getattr(batched, function), cupy.asarray)
        yield Row(
            kind="launch",
            name=f"{function} (a stream of its own)",
            ok=found.differing == 0,
            cases=found.rows,
            broken=found.differing,
            case=found.first,
        )
    columns = agreement.batches("plan_append")[0].arguments
    with stream:
        arrays = [cupy.asarray(column) for column in columns]
        batched.plan_append(*arrays)  # compiled, and its results' memory pooled, before the capture
        stream.synchronize()
        stream.begin_capture()
        captured = batched.plan_append(*arrays)
        graph = stream.end_capture()
        turned = [np.ascontiguousarray(column[::-1]) for column in columns]
        for array, column in zip(arrays, turned, strict=True):
            array.set(column, stream=stream)
        graph.launch(stream)
        stream.synchronize()
        found_arrays = agreement.outcome(captured)
    expected = agreement.outcome(batched.plan_append(*turned))
    broken = sum(int((found_arrays[name] != value).sum()) for name, value in expected.items())
    yield Row(kind="launch", name="plan_append (captured)", ok=broken == 0, cases=len(columns[0]), broken=broken)
    yield from _many_rows(cupy)


def _many_rows(cupy: Any) -> Iterator[Row]:
    """More rows than any launch has blocks, or warps, or teams: each of them takes several."""
    rows = 600_000
    index = np.arange(2 * rows, dtype=np.uint64)
    offsets = index[: rows + 1] * 2
    pairs = Ragged(data=(index.repeat(2).reshape(-1, 2) % 97).astype(np.uint32), offsets=offsets)
    slots, ks = Ragged(data=index % 7, offsets=offsets), Ragged(data=index % 3, offsets=offsets)
    tokens, prompt = (Ragged(data=(index % n % 3).astype(np.uint32), offsets=offsets) for n in (5, 7))
    calls: tuple[tuple[str, tuple[Any, ...]], ...] = (
        ("verify_graph_key", (pairs, np.arange(rows) % 2 == 0)),
        ("verify_batch_order", (slots, ks, np.arange(rows) % 5 == 0)),
        ("common_prefix_len", (tokens, prompt)),
    )
    for function, arguments in calls:
        call = getattr(batched, function)
        expected = agreement.outcome(call(*arguments))
        found = agreement.outcome(call(*(agreement.relocated(argument, cupy.asarray) for argument in arguments)))
        broken = sum(int((found[name] != value).sum()) for name, value in expected.items())
        yield Row(kind="launch", name=f"{function} (many rows)", ok=broken == 0, cases=rows, broken=broken)
    rows, length = 70_000, 4096
    offsets = cupy.arange(rows + 1, dtype=np.uint64) * length
    data = cupy.zeros(rows * length, np.uint32)
    other, places = data.copy(), cupy.arange(rows, dtype=np.uint64) % length
    other[(offsets[:-1] + places).astype(np.int64)] = 1
    lengths = batched.common_prefix_len(Ragged(data=data, offsets=offsets), Ragged(data=other, offsets=offsets))
    broken = int((lengths != places).sum())
    yield Row(kind="launch", name="common_prefix_len (many long rows)", ok=broken == 0, cases=rows, broken=broken)


def _twins(bench: Bench) -> Iterator[Row]:
    """Each sweep on a device against the host's build of it, on ranges that fit no block, also of a mutant."""
    if bench.host is None:
        yield Row(kind="twin", name="all", ok=False, note=machines.host_compiler_here() or "no host")
        return
    for scope in SCOPES:
        if "small" not in scope.sizes:
            continue
        size = scope.sizes["small"]
        mutant = next((m for m in MUTANTS if scope.name in m.sweeps and not m.equivalent), None)
        for patches in ((), (mutant.patch,)) if mutant else ((),):
            begin, end = size.cases // 7, size.cases - size.cases // 11
            # Three blocks: every thread takes many strides.
            there = bench.machine.sweep(scope, size, begin=begin, end=end, patches=patches, blocks=3)
            here = bench.host.sweep(scope, size, begin=begin, end=end, patches=patches)
            same = (there.broken, there.first, there.accepted) == (here.broken, here.first, here.accepted)
            yield Row(
                kind="twin",
                name=f"{scope.name}{' (mutant)' if patches else ''}",
                ok=same,
                cases=there.cases,
                broken=there.broken,
                first=there.first,
                accepted=there.accepted,
                seconds=there.seconds,
                note="" if same else f"host: {here.broken} broken, first {here.first}, {here.accepted} accepted",
            )


def swept(machine: Machine, scope: Scope, scale: Scale, repeats: int = 1) -> Row:
    """Sweep one scope and say what was found."""
    size = scope.sizes[scale]
    tally = machine.sweep(scope, size, repeats=repeats)
    return Row(
        kind="sweep",
        name=scope.name,
        ok=tally.broken == 0 and tally.accepted > 0,
        cases=tally.cases,
        broken=tally.broken,
        first=tally.first,
        accepted=tally.accepted,
        seconds=tally.seconds,
        case=None if tally.first is None else scope.decode(tally.first, size.defines),
        note=" ".join(machines.defines_of(size)),
    )


def _sweeps(bench: Bench) -> Iterator[Row]:
    for scope in SCOPES:
        if bench.scale in scope.sizes:
            yield swept(bench.machine, scope, bench.scale, repeats=3)


def kept(width: int) -> int:
    """Return how many of a batch's prunable positions the planner keeps: three quarters, half rounded up."""
    numerator, denominator = KEEP_RATIO
    return (2 * width * numerator * 2 + denominator) // (2 * denominator)


def distinct_keys(width: int) -> dict[str, int]:
    """Return the distinct keys of a width: arrangements of depths and their multisets, all and as planned.

    Told by polynomials: (1 + x + x^2)^width for arrangements, compositions by counting for multisets.
    """
    arrangements = [1]
    for _ in range(width):
        padded = [0, 0, *arrangements, 0, 0]
        arrangements = [sum(padded[i : i + 3]) for i in range(len(arrangements) + 2)]
    multisets = [ones + 2 * twos for ones in range(width + 1) for twos in range(width + 1 - ones)]
    return {
        "canonical": len(multisets),
        "other": sum(arrangements),
        "canonical planned": multisets.count(kept(width)),
        "other planned": arrangements[kept(width)],
    }


def _keys(bench: Bench) -> Iterator[Row]:
    size = BY_NAME["permuted"].sizes["device" if bench.on_device else "small"]
    width = size.defines["WIDTH"]
    started = time.perf_counter()
    counts = _counted_keys(bench, size)
    seconds = time.perf_counter() - started
    for name, expected in distinct_keys(width).items():
        yield Row(
            kind="keys",
            name=f"{name}, {width} members",
            ok=counts[name] == expected,
            cases=size.cases,
            accepted=counts[name],
            seconds=seconds,
            note=f"{counts[name]} distinct keys; {expected} expected",
        )


def _counted_keys(bench: Bench, size: Size, patches: tuple[Patch, ...] = ()) -> dict[str, int]:
    """The distinct keys of both arms that a sweep comes to, under the names of distinct_keys."""
    text = machines.text_of(BY_NAME["permuted"].program, patches)
    found: Mapping[str, set[int]] = _keys_on_device(text, size) if bench.on_device else _keys_on_host(text, size)
    width = size.defines["WIDTH"]
    counts = {}
    for arm, keys in found.items():
        depths = [key >> 4 * width for key in keys]
        total = [sum(depth >> 2 * p & 3 for p in range(width)) for depth in depths]
        counts[arm], counts[f"{arm} planned"] = len(keys), total.count(kept(width))
    return counts


def _keys_on_device(text: str, size: Size) -> dict[str, set[int]]:
    import cupy

    module = kernels.device_module(text, defines=machines.defines_of(size))
    function = module.get_function("permuted_keys")
    tables = {arm: cupy.full(1 << TABLE_BITS, machines.NOTHING, np.uint64) for arm in ("canonical", "other")}
    result = cupy.asarray(np.array([machines.NOTHING, 0, 0], np.uint64))
    arguments = (np.uint64(0), np.uint64(size.cases), result, *tables.values(), np.uint64(TABLE_BITS))
    grid = cupy.cuda.Device().attributes["MultiProcessorCount"] * Device.BLOCKS_PER_PROCESSOR
    function((grid,), (Device.THREADS,), arguments)
    _, broken, accepted = result.get().tolist()
    if broken or accepted != size.cases:
        raise AssertionError(f"permuted_keys: {broken} groups broken, {accepted} of {size.cases} cases seen")
    return {arm: set(table.get().tolist()) - {machines.NOTHING} for arm, table in tables.items()}


def _keys_on_host(text: str, size: Size) -> dict[str, set[int]]:
    import ctypes

    library = kernels.host_library(text, defines=machines.defines_of(size))
    arrays = {arm: np.zeros(size.cases, np.uint64) for arm in ("canonical", "other")}
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays.values()]
    library.permuted_keys(ctypes.c_uint64(0), ctypes.c_uint64(size.cases), *pointers)
    return {arm: set(array.tolist()) for arm, array in arrays.items()}


def _mutants(bench: Bench) -> Iterator[Row]:
    for mutant in MUTANTS:
        if mutant.equivalent:
            yield _equivalent(bench, mutant)
            continue
        started = time.perf_counter()
        for found in catch(mutant, bench.machine, on_device=bench.on_device):
            yield Row(
                kind="mutant",
                name=mutant.name,
                ok=found.caught,
                broken=found.broken,
                first=found.first,
                case=found.case,
                seconds=time.perf_counter() - started,
                note=f"by {found.by}",
            )


def _equivalent(bench: Bench, mutant: Mutant) -> Row:
    """What a sweep cannot see it must not see."""
    scope = BY_NAME[mutant.sweeps[0]]
    tally = bench.machine.sweep(scope, scope.sizes["small"], patches=(mutant.patch,))
    return Row(
        kind="mutant",
        name=mutant.name,
        ok=tally.broken == 0 and tally.accepted > 0,
        cases=tally.cases,
        broken=tally.broken,
        first=tally.first,
        accepted=tally.accepted,
        note=f"equivalent in {scope.name}: {mutant.equivalent}",
    )


def _device_only(bench: Bench) -> Iterator[Row]:
    """Mutants of code that no host has: a comparison, a count, or a sweep against its host twin must differ."""
    for mutant in DEVICE_ONLY:
        for function in mutant.functions:
            if function == KEYS:
                yield _miscounted(bench, mutant)
                continue
            found = compare_patched(function, (mutant.patch,), on_device=True)
            yield Row(
                kind="mutant",
                name=mutant.name,
                ok=found.differing > 0,
                broken=found.differing,
                case=found.first,
                note=f"by {function}",
            )
        for name in mutant.sweeps:
            yield _differs_from_host(bench, mutant, BY_NAME[name])


def _miscounted(bench: Bench, mutant: Mutant) -> Row:
    size = BY_NAME["permuted"].sizes["device"]
    counts = _counted_keys(bench, size, (mutant.patch,))
    wrong = {name: count for name, count in counts.items() if count != distinct_keys(size.defines["WIDTH"])[name]}
    return Row(kind="mutant", name=mutant.name, ok=bool(wrong), cases=size.cases, broken=len(wrong), case=wrong, note=f"by {KEYS}")


def _differs_from_host(bench: Bench, mutant: Mutant, scope: Scope) -> Row:
    if bench.host is None:
        return Row(kind="mutant", name=mutant.name, ok=False, note=machines.host_compiler_here() or "no host")
    size = scope.sizes["small"]
    # A mutant of the rule gives the reduction something to find.
    rule = next(m for m in MUTANTS if scope.name in m.sweeps and not m.equivalent)
    there = bench.machine.sweep(scope, size, patches=(mutant.patch, rule.patch), blocks=3)
    here = bench.host.sweep(scope, size, patches=(rule.patch,))
    differs = (there.broken, there.first, there.accepted) != (here.broken, here.first, here.accepted)
    return Row(
        kind="mutant",
        name=mutant.name,
        ok=differs,
        cases=there.cases,
        broken=there.broken,
        first=there.first,
        accepted=there.accepted,
        note=f"{scope.name}; host: {here.broken} broken, first {here.first}, {here.accepted} accepted",
    )


# A program to compile: on a device or for the host, its text, and its defines.
Program: TypeAlias = tuple[bool, str, tuple[str, ...]]


def _programs(bench: Bench) -> set[Program]:
    wanted: set[Program] = set()
    for scope in SCOPES:
        for scale in {bench.scale, "small"} & scope.sizes.keys():
            defines = machines.defines_of(scope.sizes[scale])
            wanted.add((True, machines.text_of(scope.program), defines))
            if scale == "small":
                wanted.add((False, machines.text_of(scope.program), defines))
                mutant = next((m for m in MUTANTS if scope.name in m.sweeps and not m.equivalent), None)
                if mutant is not None:
                    wanted.add((False, machines.text_of(scope.program, (mutant.patch,)), defines))
    for mutant in MUTANTS:
        if mutant.sweeps:
            scope = BY_NAME[mutant.sweeps[0]]
            text = machines.text_of(scope.program, (mutant.patch,))
            wanted.add((True, text, machines.defines_of(scope.sizes["small"])))
        else:
            wanted.add((True, kernels.source("batched.cu", patches=(mutant.patch,)), ()))
    for mutant in DEVICE_ONLY:
        if mutant.functions and KEYS not in mutant.functions:
            wanted.add((True, kernels.source("batched.cu", patches=(mutant.patch,)), ()))
    return wanted if bench.host is not None else {program for program in wanted if program[0]}


def _compiled(bench: Bench) -> Iterator[Row]:
    """Fill the caches of both compilers, several programs at a time: one by one they take longer than all sweeps."""
    started = time.perf_counter()
    programs = sorted(_programs(bench), key=lambda program: -len(program[1]))
    # Not forked: a child must not inherit the parent's CUDA context. What fails here fails again where it is used.
    with ProcessPoolExecutor(min(12, os.cpu_count() or 1), mp_context=get_context("spawn")) as pool:
        failed = [error for error in pool.map(_compile, programs) if error]
    note = "; ".join(sorted(set(failed)))[:2000]
    yield Row(
        kind="programs",
        name="programs",
        ok=not failed,
        cases=len(programs),
        broken=len(failed),
        seconds=time.perf_counter() - started,
        note=note,
    )


def _compile(program: Program) -> str:
    on_device, text, defines = program
    try:
        if on_device:
            kernels.device_module(text, defines=defines).compile()
        else:
            kernels.host_library(text, defines=defines)
    except Exception as error:  # noqa: BLE001 -- the caller reports it; a process pool cannot carry every error
        return f"{type(error).__name__}: {error}"[:500]
    return ""


_SECTIONS: tuple[tuple[str, Callable[[Bench], Iterator[Row]], bool], ...] = (
    ("programs", _compiled, True),
    ("agreement", _agreement, False),
    ("launches", _launches, True),
    ("twins", _twins, True),
    ("sweeps", _sweeps, False),
    ("keys", _keys, False),
    ("mutants", _mutants, False),
    ("device-only", _device_only, True),
)
