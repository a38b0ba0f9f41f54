"""Files to subjects: which function of a file is to equal which rule, and the rows for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from proofs.source import cuda, ir, python, rust
from proofs.source.bridge import Mismatch, PythonShapes, RustShapes
from proofs.source.compare import BOUND, Language, Subject, compared, evaluate
from proofs.source.cuda_dialect import Cuda, CudaShapes
from proofs.source.paths import NotUnderstood
from proofs.source.python_dialect import Python
from proofs.source.rust_dialect import Rust
from proofs.source.verdicts import Row, Verdict
from spec.machine import Profile
from spec.rules import RULES, Rule
from spec.sorts import CARRIED, RANGE

RUST = Language("rust", rust.parse, Rust, RustShapes)

PYTHON = Language("python", python.parse, Python, PythonShapes)

CUDA = Language("cuda", cuda.parse, Cuda, CudaShapes)

LANGUAGES: dict[str, Language] = {".rs": RUST, ".py": PYTHON, ".cu": CUDA, ".cuh": CUDA}

OWNERS = {id(CARRIED): "CarriedDrafter", id(RANGE): "StoreRange"}
"""The engine's types whose methods have rules."""


class Unreadable(Exception):
    """A file that cannot be taken at all."""


def load(path: str | Path) -> tuple[Language, ir.Source]:
    """The declarations of a file. Unreadable if its kind is unknown or it cannot be opened."""
    file = Path(path)
    language = LANGUAGES.get(file.suffix)
    if language is None:
        known = ", ".join(LANGUAGES)
        raise Unreadable(f"source: path={str(path)!r} has a suffix that no front end reads; pass one of {known}")
    try:
        text = file.read_bytes()
    except OSError as error:
        raise Unreadable(f"source: path={str(path)!r} cannot be read: {error.strerror}; pass a readable file") from error
    return language, language.parse(str(path), text)


def subjects(language: Language, source: ir.Source, names: Mapping[str, str]) -> tuple[list[Subject], list[Row]]:
    """What is to be compared in a file, and rows for functions of which there are several. `names`: mine to the spec's."""
    found: list[Subject] = []
    doubtful: list[Row] = []
    wanted: dict[str, Rule] = {name: RULES[spec] for name, spec in names.items()}
    mapped = {rule.name for rule in wanted.values()}
    methods = language.name != "cuda"
    wanted |= {_own_name(rule) if methods else rule.name: rule for rule in RULES if rule.name not in mapped}
    for name, rule in wanted.items():
        candidates = _candidates(source, name, exactly=name in names)
        if len(candidates) > 1:
            doubtful.append(
                Row(
                    name=name,
                    line=candidates[0].line,
                    spec=rule.name,
                    verdict=Verdict.UNDECIDED,
                    reason=f"there are {len(candidates)} functions of this name",
                    path=source.path,
                )
            )
        elif candidates:
            found.append(Subject(language=language, source=source, function=candidates[0], rule=rule))
    return sorted(found, key=lambda s: s.function.line), doubtful


def _own_name(rule: Rule) -> str:
    owner = OWNERS.get(id(rule.params.get("self")))
    return rule.name if owner is None else f"{owner}::{rule.name}"


def _candidates(source: ir.Source, name: str, *, exactly: bool) -> list[ir.Function]:
    owner, _, own = name.rpartition("::")
    owner = owner.rpartition("::")[2]
    same = [f for f in source.functions if f.name == own and (f.owner or "") == owner]
    same = [f for f in same if f.kernel] or same
    if not same and exactly and not owner:
        same = [f for f in source.functions if f.name == own]
    same = [f for f in same if not (f.objection or "").startswith("inside `mod ")] or same
    inherent = [f for f in same if f.trait is None]
    return inherent or same


def verdicts(
    path: str | Path,
    names: Mapping[str, str] | None = None,
    profiles: tuple[Profile, ...] = (Profile.DEBUG, Profile.RELEASE),
    bound: int = BOUND,
    only: frozenset[str] | None = None,
) -> list[Row]:
    """The rows of one file."""
    return judged(*load(path), names or {}, profiles, bound, only)


def judged(
    language: Language,
    source: ir.Source,
    names: Mapping[str, str],
    profiles: tuple[Profile, ...],
    bound: int,
    only: frozenset[str] | None,
) -> list[Row]:
    """The rows of a file that has been read."""
    found, rows = subjects(language, source, names)
    builds = tuple(p for p in profiles if p in language.profiles) or language.profiles
    rows += [compared(subject, builds, bound) for subject in found if only is None or subject.rule.name in only]
    return sorted(rows, key=lambda row: row.line)


def outside(path: str | Path, names: Mapping[str, str] | None = None) -> list[str]:
    """The functions of a file that have no spec."""
    language, source = load(path)
    return unspecified(source, subjects(language, source, names or {})[0])


def unspecified(source: ir.Source, found: list[Subject]) -> list[str]:
    """The functions of a source that are not among those found."""
    taken = {id(s.function) for s in found}
    others = [f.name if f.owner is None else f"{f.owner}::{f.name}" for f in source.functions if id(f) not in taken]
    # Functions of other files that were read along have a path.
    return [name for name in dict.fromkeys(others) if "." not in name]


def run_vector(path: str | Path, fn: str, args: Mapping[str, Any], profile: Profile = Profile.DEBUG) -> Any:
    """The result of a rule's function in a file on concrete arguments, both in vector form.

    LookupError if the file has no such function; NotImplementedError if the function is outside the subset.
    """
    file = Path(path)
    for subject in _subjects_of(str(file), file.stat().st_mtime_ns):
        if subject.rule.name == fn:
            try:
                return evaluate(subject, completed(subject.rule, args), profile)
            except (NotUnderstood, Mismatch) as unknown:
                raise NotImplementedError(f"{file}: {fn}: {unknown}") from unknown
    raise LookupError(f"{file} has no {fn}")


@lru_cache(maxsize=16)
def _subjects_of(path: str, changed: int) -> tuple[Subject, ...]:
    language, source = load(path)
    return tuple(subjects(language, source, {})[0])


def completed(rule: Rule, args: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments with the fields that a vector leaves out, because the method does not read them, at zero."""
    whole = dict(args)
    if rule.params.get("self") is CARRIED:
        unread: dict[str, Any] = {"rows": 0, "last_pair_key": None, "tokens": [], "session_hash": 0}
        whole["self"] = {**unread, **args["self"]}
    return whole
