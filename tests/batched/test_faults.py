"""Faults of the kernels: generated ones are made where they should be and noticed, and a device's own code is all covered."""

from __future__ import annotations

from importlib import resources

import numpy as np
import pytest

pytest.importorskip("tree_sitter_cuda", reason="the kernels' text is changed along its syntax tree")

import impl.batched as batched
from impl.batched import kernels
from impl.batched.arrays import chosen_kernels
from impl.batched.kernels import Patch
from proofs.gpu import agreement, changes, faults, machines
from proofs.gpu.changes import FILES, Change, Compiled, every_change
from proofs.gpu.faults import Fate, Judged, compared, judge
from proofs.gpu.guards import SOIL, Soiled, guarded
from proofs.gpu.mutants import DEVICE_ONLY, KEYS
from proofs.gpu.scopes import BY_NAME, SCOPES
from proofs.gpu.walks import walks
from tests.batched.backends import needs_host_kernels

EVERY = 100
"""One fault in so many is judged here; `make mutants` judges all of them."""


def change(file: str, removed: str, added: str) -> Change:
    """The one generated change of a line."""
    (found,) = (c for c in changes.changes(file) if (c.removed, c.added) == (removed, added))
    return found


@pytest.mark.parametrize("file", FILES)
def test_the_text_that_is_parsed_stands_where_the_text_stands(file: str) -> None:
    text, parsed = changes.text_of(file), changes.shared(changes.text_of(file))

    assert len(text) == len(parsed)
    kept = [(a, b) for a, b in zip(text, parsed, strict=True) if b not in " \n"]
    macros = [(a, b) for a, b in kept if a != b]
    assert len(macros) < len(kept) / 10
    assert "__shared__" not in parsed
    assert "#" not in parsed


@pytest.mark.parametrize(
    ("file", "removed", "added"),
    [
        (
            "carry.cuh",
            "return end < start ? Status::Overflow : Status::Ok;",
            "return end <= start ? Status::Overflow : Status::Ok;",
        ),
        ("carry.cuh", "const T end = start + count;", "const T end = start - count;"),
        ("carry.cuh", "const T end = prompt_len - 1;", "const T end = prompt_len - 2;"),
        ("carry.cuh", "const T end = prompt_len - 1;", "const T end = prompt_len;"),
        ("carry.cuh", "kept = rows - dropped;", ";"),
        ("carry.cuh", "stamped = {writer, merged.lo, merged.hi};", "stamped = {writer, merged.hi, merged.lo};"),
        ("order.cuh", "if (slot_a != slot_b) return slot_a < slot_b;", "if (false) return slot_a < slot_b;"),
        ("order.cuh", "return canonical ? place : shallowness << (SLOT_BITS + INDEX_BITS) | place;", "return place;"),
        ("text.cuh", "constexpr u64 MIN_WIDTH = 8;", "constexpr u64 MIN_WIDTH = 9;"),
        ("text.cuh", "if (!present) return MIN_WIDTH;", "if (present) return MIN_WIDTH;"),
        ("prefix.cuh", "at += vectors * 4;", "at = vectors * 4;"),
    ],
)
def test_a_kind_of_change_is_made(file: str, removed: str, added: str) -> None:
    assert change(file, removed, added).patch.before != ""


def test_changes_are_the_same_at_every_run_and_none_comes_twice() -> None:
    found = every_change()

    assert len({(c.file, c.patch) for c in found}) == len(found) > 900
    assert {c.file for c in found} == set(FILES)
    assert all(changes.text_of(c.file).count(c.patch.before) == 1 for c in found)
    assert all(c.function for c in found)


def test_nothing_that_the_host_or_a_device_alone_compiles_is_changed() -> None:
    for one in every_change():
        text = changes.text_of(one.file)
        at = text.index(one.patch.before)
        lines = [by for line, by in changes.branches(text)]
        first = text.count("\n", 0, at)
        last = first + one.patch.before.count("\n")
        assert lines[last] is Compiled.BY_BOTH


@needs_host_kernels
@pytest.mark.slow
def test_a_sample_of_the_faults_is_noticed_or_listed() -> None:
    found = faults.campaign(2, every_change()[::EVERY])

    assert found.wrong == ()
    assert found.counts[Fate.NOTICED] >= 10


@needs_host_kernels
@pytest.mark.parametrize("function", agreement.functions())
def test_kernels_without_a_fault_keep_within_their_arguments_and_write_every_result(function: str) -> None:
    with chosen_kernels(Soiled(kernels.source("batched.cu"))):
        found = agreement.compare(function, getattr(batched, function), guarded)

    assert (found.differing, found.first) == (0, None)
    assert found.rows > 0


@needs_host_kernels
def test_a_team_walks_along_equal_rows_in_as_few_turns_as_its_loads_allow() -> None:
    found = walks()

    assert (found.broken, found.first) == (0, None)
    assert found.cases > 20_000


@needs_host_kernels
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("base += step * IN_FLIGHT", "base += step"),
        ("if (skew == reinterpret_cast<u64>(b + begin) % 16) {", "if (false) {"),
        ("at += vectors * 4;", "at += vectors * 3;"),
    ],
)
def test_a_walk_that_reads_more_than_it_must_is_noticed_though_it_finds_the_length(before: str, after: str) -> None:
    patch = Patch(file="prefix.cuh", before=before, after=after)

    assert walks([patch]).broken > 0
    with chosen_kernels(Soiled(kernels.source("batched.cu", patches=[patch]))):
        assert agreement.compare("common_prefix_len", batched.common_prefix_len).differing == 0


@needs_host_kernels
def test_a_result_that_is_left_unwritten_is_noticed_though_its_memory_held_the_right_one() -> None:
    unwritten = change("batched.cu", "EACH(i, n) is_armed[i] = armed(carry[i], multi_seq[i]);", "EACH(i, n) ;")
    carry, several, live = np.array([True, True]), np.array([False, True]), np.array([True, False])

    Soiled(kernels.source("batched.cu", patches=[unwritten.patch])).launch("carry_armed_with", 2, 2, carry, several, live)

    assert live.view(np.uint8).tolist() == [SOIL, SOIL]
    assert (carry.tolist(), several.tolist()) == ([True, True], [False, True])
    assert (judge(unwritten).fate, judge(unwritten).by) == (Fate.NOTICED, "carry_armed_with")


@needs_host_kernels
def test_a_read_beyond_an_argument_is_noticed() -> None:
    found = judge(change("text.cuh", "if (at < length && text[at] == '+') ++at;", "if (text[at] == '+') ++at;"))

    assert (found.fate, found.by) == (Fate.NOTICED, "crash")


@needs_host_kernels
def test_a_kernel_that_does_not_end_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "CPU_SECONDS", 1)
    begins = "EACH(i, n) is_armed[i]"
    forever = Patch(file="batched.cu", before=begins, after="for (volatile u64 one = 1; one;) {}\n    " + begins)

    found = judge(Change(file="batched.cu", function="carry_armed_with", patch=forever))

    assert (found.fate, found.by) == (Fate.NOTICED, "does not end")


@needs_host_kernels
def test_what_no_compiler_takes_is_no_fault() -> None:
    broken = Patch(file="carry.cuh", before="carry && !multi_seq", after="carry && !")

    assert judge(Change(file="carry.cuh", function="armed", patch=broken)).fate is Fate.REFUSED


ONE, OTHER = every_change()[:2]


def key(one: Change) -> tuple[str, str, str, str]:
    return one.file, one.function, one.removed, one.added


def test_a_survivor_must_be_listed_and_the_list_must_be_used_up() -> None:
    survives = [Judged(change=ONE, fate=Fate.SURVIVES)]

    assert any("not listed" in wrong for wrong in compared(survives, {}, whole=False).wrong)
    assert compared(survives, {key(ONE): "equal"}, whole=False).wrong == ()
    unused = compared(survives, {key(ONE): "equal", key(OTHER): "equal"}).wrong
    assert any("does not survive" in wrong and OTHER.function in wrong for wrong in unused)


def test_less_than_nineteen_in_twenty_is_wrong_however_well_the_rest_is_listed() -> None:
    judged = [Judged(change=ONE, fate=Fate.NOTICED, by="x")] * 18 + [Judged(change=ONE, fate=Fate.SURVIVES)]

    assert any("18 of 19" in wrong for wrong in compared(judged, {key(ONE): "equal"}).wrong)
    assert not any("95" in wrong for wrong in compared(judged[:1] * 19 + judged[18:], {key(ONE): "equal"}).wrong)


@pytest.mark.parametrize("reason", ["", "  "])
def test_an_entry_without_a_reason_is_refused(reason: str) -> None:
    entry = f"[[equivalent]]\nfile = 'a'\nfunction = 'f'\nremoved = 'x'\nadded = 'y'\nreason = '{reason}'\n"

    with pytest.raises(ValueError, match="has no reason"):
        faults.read_list(entry)


def test_every_listed_change_is_one_that_is_generated() -> None:
    assert faults.listed_here().keys() <= {key(one) for one in every_change()}


# ---- what only a device runs

_PACKAGES = ("impl.batched.kernels", "proofs.gpu.kernels")
_MEASURING = ("ceilings.cu",)
"""Decides nothing: it says what a device can do at most."""


def device_pieces() -> dict[str, list[str]]:
    """The code that only a device runs, by file, cut where a blank line or shared code stands between."""
    pieces: dict[str, list[str]] = {}
    for package in _PACKAGES:
        for entry in resources.files(package).iterdir():
            if not entry.name.endswith((".cu", ".cuh")) or entry.name in _MEASURING:
                continue
            piece = ""
            for line, by in [*changes.branches(entry.read_text(encoding="utf-8")), ("", Compiled.BY_BOTH)]:
                if by is Compiled.BY_DEVICE and line.strip() and not line.startswith(("#if", "#else", "#endif")):
                    piece += line
                elif piece:
                    pieces.setdefault(entry.name, []).append(piece)
                    piece = ""
    return pieces


def code_of(piece: str) -> str:
    return "".join(line for line in piece.splitlines(keepends=True) if not line.lstrip().startswith("//"))


def test_every_piece_of_code_that_only_a_device_runs_has_a_fault_that_the_device_must_notice() -> None:
    patches = [mutant.patch for mutant in DEVICE_ONLY]

    bare = [
        (file, piece)
        for file, pieces in device_pieces().items()
        for piece in pieces
        if code_of(piece) and not any(patch.file == file and patch.before in piece for patch in patches)
    ]

    assert bare == []


def test_the_faults_for_a_device_are_in_code_that_only_a_device_runs() -> None:
    pieces = device_pieces()

    astray = [m.name for m in DEVICE_ONLY if not any(m.patch.before in piece for piece in pieces[m.patch.file])]

    assert astray == []


def test_there_is_little_code_that_only_a_device_runs() -> None:
    lines = {file: sum(len(code_of(piece).splitlines()) for piece in pieces) for file, pieces in device_pieces().items()}

    assert set(lines) == {"words.cuh", "prefix.cuh", "batched.cu", "sets.cuh", "sweep.cuh", "orders.cu", "wide.cu"}
    assert sum(lines.values()) < 130


# ---- what NVRTC takes, which needs no device


def compiled(text: str, defines: tuple[str, ...] = ()) -> None:
    nvrtc = pytest.importorskip("cupy_backends.cuda.libs.nvrtc", reason="NVRTC comes with CuPy")
    program = nvrtc.createProgram(text, "program.cu", (), ())
    try:
        options = ("--std=c++17", "--gpu-architecture=sm_90", *(f"-D{define}" for define in defines))
        nvrtc.compileProgram(program, options)
    except nvrtc.NVRTCError:
        pytest.fail(nvrtc.getProgramLog(program))
    finally:
        nvrtc.destroyProgram(program)


PROGRAMS = sorted({(scope.program, machines.defines_of(scope.sizes["device"])) for scope in SCOPES if "device" in scope.sizes})


@pytest.mark.slow
def test_the_kernels_compile_for_a_device() -> None:
    compiled(kernels.source("batched.cu"))
    compiled(machines.text_of("ceilings.cu"))


@pytest.mark.slow
@pytest.mark.parametrize(("program", "defines"), PROGRAMS)
def test_a_sweep_compiles_for_a_device(program: str, defines: tuple[str, ...]) -> None:
    compiled(machines.text_of(program), defines)


def faulty_programs() -> dict[str, tuple[Patch, ...]]:
    """For each program the faults that a device looks for in it."""
    found: dict[str, tuple[Patch, ...]] = {}
    for mutant in DEVICE_ONLY:
        program = "orders.cu" if KEYS in mutant.functions else "batched.cu"
        if mutant.sweeps:
            program = BY_NAME[mutant.sweeps[0]].program
        found[program] = (*found.get(program, ()), mutant.patch)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("program", faulty_programs())
def test_the_faults_for_a_device_compile(program: str) -> None:
    # All at once: none of them changes what another does.
    patches = faulty_programs()[program]

    compiled(kernels.source(program, packages=machines.PACKAGES, patches=patches), ("WIDTH=5",) if program == "orders.cu" else ())
