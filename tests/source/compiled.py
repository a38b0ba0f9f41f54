"""What the language itself says of a text: rustc, g++ and Python refuse it, or run calls of its functions.

The second witness of the campaign beside the project's own evaluator: whether a fault is a program at all, and whether it
changes any result. Nothing here reads the texts by the front ends under test, but for the signatures of the text without fault.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from proofs.source import replay_cuda
from proofs.source.compare import Subject
from proofs.source.output import rust_call_of
from proofs.source.replay import SHOW, SHOW_PLAIN
from proofs.source.verdicts import ENDLESS
from spec.machine import Profile
from spec.sorts import PANIC, Fallible, Option, Struct

_SECONDS = 20
_MEMORY = 2**31

Call = tuple[str, Mapping[str, Any]]


class Refused(Exception):
    """The language refuses the text: it is no program."""


def compiler(suffix: str) -> str | None:
    """The program that judges texts of a kind, if it is here."""
    known = {".rs": "rustc", ".cu": "g++", ".py": sys.executable}[suffix]
    return shutil.which(known)


def results(text: bytes, suffix: str, calls: Sequence[tuple[Subject, Mapping[str, Any]]], profile: Profile) -> list[Any]:
    """The result of each call; `subject` is that of the text without fault. Refused if the text is no program."""
    with tempfile.TemporaryDirectory() as folder:
        run = {".rs": _rust, ".cu": _cuda, ".py": _python}[suffix]
        return run(text, Path(folder), calls, profile)


def can_be_told(args: Mapping[str, Any]) -> bool:
    """Arguments that a literal of each language tells alike: no text with control characters, or that is not UTF-8."""
    raw = args.get("raw")
    return raw is None or (isinstance(raw, str) and raw.isprintable() and not re.search(r'["\\]', raw))


def _limits() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


def _ran(command: list[str], count: int, text: str = "") -> list[str]:
    """A line for each call; a call that ends neither in the time nor within the memory is the last."""
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, preexec_fn=_limits
    )
    try:
        out, _ = process.communicate(text, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        out, _ = process.communicate()
    lines = out.split("\n")[:-1]
    return [*lines, *[json.dumps(ENDLESS)] * (len(lines) < count)]


def _compiled(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    if done.returncode != 0:
        raise Refused(next((line for line in done.stderr.split("\n") if "error" in line), done.stderr)[:200])


def _rust(text: bytes, folder: Path, calls: Sequence[tuple[Subject, Mapping[str, Any]]], profile: Profile) -> list[Any]:
    source, program = folder / "text.rs", folder / "program.rs"
    source.write_bytes(text)
    flags = ["--edition", "2021", "-A", "warnings"]
    _compiled(["rustc", *flags, "--crate-type", "lib", "--emit", "metadata", "-o", str(folder / "text.rmeta"), str(source)])
    if not calls:
        return []
    parts = []
    for subject, args in calls:
        call = rust_call_of(subject.function.name, subject.rule.name, args)
        show = SHOW.get(subject.rule.name, SHOW_PLAIN)
        parts.append(f'if std::panic::catch_unwind(|| {{ let got = {call}; {show} }}).is_err() {{ println!("panic"); }}')
    main = "fn main() {\nstd::panic::set_hook(Box::new(|_| {}));\n" + "\n".join(parts) + "\n}\n"
    program.write_bytes(text + b"\n" + main.encode())
    checks = "on" if profile is Profile.DEBUG else "off"
    flags += ["-C", f"overflow-checks={checks}", "-C", f"debug-assertions={checks}", "-C", "opt-level=0"]
    _compiled(["rustc", *flags, "-o", str(folder / "program"), str(program)])
    return [dict(PANIC) if line == "panic" else json.loads(line) for line in _ran([str(folder / "program")], len(calls))]


def _cuda(text: bytes, folder: Path, calls: Sequence[tuple[Subject, Mapping[str, Any]]], profile: Profile) -> list[Any]:
    program = folder / "program.cpp"
    parts = [replay_cuda.statements(s.function, s.rule, args) for s, args in calls]
    body = "".join(f'{{\n{part}    std::printf("\\n");\n    std::fflush(stdout);\n}}\n' for part in parts)
    program.write_bytes(replay_cuda.THREAD.encode() + text + f"\nint main() {{\n{body}}}\n".encode())
    _compiled(["g++", "-std=c++17", "-O0", "-Werror=return-type", "-o", str(folder / "program"), str(program)])
    lines = _ran([str(folder / "program")], len(calls))
    return [
        dict(ENDLESS) if line == json.dumps(ENDLESS) else replay_cuda.result(s.function, s.rule, line)
        for (s, _), line in zip(calls, lines, strict=False)
    ]


_MODULE = """
import dataclasses, json, sys, types
module = types.ModuleType("text")
sys.modules["text"] = module
given = json.loads(sys.stdin.read())
exec(compile(given["text"], "text.py", "exec"), module.__dict__)
def made(name, value):
    kind = getattr(module, name)
    return kind(**{f.name: value.get(f.name) for f in dataclasses.fields(kind)})
def argument(name, value):
    match name:
        case "self":
            return made("CarriedDrafter" if "tokens" in value else "StoreRange", value)
        case "cfg":
            return made("DrafterContext", value)
        case "cur":
            return made("StoreRange", value) if isinstance(value, dict) else tuple(value)
        case "pairs":
            return [tuple(pair) for pair in value]
    return value
def plain(value):
    if dataclasses.is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return [plain(v) for v in value] if isinstance(value, (list, tuple)) else value
for name, args in given["calls"]:
    try:
        taken = [argument(n, v) for n, v in args.items()]
        function = getattr(taken.pop(0), name) if "self" in args else getattr(module, name)
        result = plain(function(*taken))
    except Exception:
        result = {"panic": True}
    print(json.dumps(result, default=repr), flush=True)
"""


def _python(text: bytes, folder: Path, calls: Sequence[tuple[Subject, Mapping[str, Any]]], profile: Profile) -> list[Any]:
    try:
        compile(text, "text.py", "exec")
    except SyntaxError as error:
        raise Refused(str(error)) from error
    given = {"text": text.decode(), "calls": [(s.function.name, dict(args)) for s, args in calls]}
    lines = _ran([sys.executable, "-c", _MODULE], len(calls), json.dumps(given))
    return [_as_told(s, json.loads(line)) for (s, _), line in zip(calls, lines, strict=False)]


def _as_told(subject: Subject, value: Any) -> Any:
    """A struct that Python gives as a tuple, or the other way round, is the same."""
    sort = subject.rule.result
    while isinstance(sort, Fallible | Option):
        sort = sort.value if isinstance(sort, Fallible) else sort.some
    if isinstance(sort, Struct) and isinstance(value, dict) and sort.is_tuple and value.keys() == {n for n, _ in sort.parts}:
        return list(value.values())
    return value
