"""Counterexamples of CUDA in compiled code: one row, taken by one thread, through g++ where it is present.

The file is included as it stands, with the words of CUDA that one thread needs defined away; where it does not compile so, it is
tried with HOST defined, under which a file may have a text of its own. Arrays have one element.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from proofs.source import ir
from proofs.source.cuda_dialect import INPUTS, SOIL, STATUS
from proofs.source.files import completed, load, subjects
from proofs.source.verdicts import Row
from spec import sorts
from spec.rules import RULES, Rule
from spec.sorts import PANIC, Fallible, Sort

Run = Callable[[list[str]], "subprocess.CompletedProcess[str] | None"]

THREAD = """#include <cstdint>
#include <cstdio>
#ifndef HOST
#define __device__
#define __host__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
struct OneThread { unsigned x, y, z; };
static const OneThread blockIdx = {0, 0, 0}, threadIdx = {0, 0, 0}, blockDim = {1, 1, 1}, gridDim = {1, 1, 1};
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
template <class T> static inline T min(T a, T b) { return b < a ? b : a; }
template <class T> static inline T max(T a, T b) { return a < b ? b : a; }
#endif
"""


def ran(row: Row, run: Run) -> dict[str, Any] | str:
    """What compiled code gives for a row's counterexample, or why there is none."""
    language, source = load(row.path)
    function = next(s.function for s in subjects(language, source, {row.name: row.spec})[0] if s.rule.name == row.spec)
    rule = RULES[row.spec]
    if rule.name not in INPUTS:
        return "a kernel over ragged rows is not called"
    body = statements(function, rule, (row.counterexample or {})["args"])
    text = f"{THREAD}#include {_quoted(str(Path(row.path).resolve()))}\nint main() {{\n{body}}}\n"
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "replay.cpp"
        program.write_text(text, encoding="utf-8")
        for more in ([], ["-DHOST"]):
            made = run(["g++", "-std=c++17", "-O1", "-w", *more, "-x", "c++", "-o", str(program.with_suffix("")), str(program)])
            if made is not None and made.returncode == 0:
                break
        else:
            return "it does not compile for one thread"
        done = run([str(program.with_suffix(""))])
    if done is None or done.returncode != 0:
        return "no result"
    return {"result": result(function, rule, done.stdout)}


def _quoted(path: str) -> str:
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _has_status(function: ir.Function) -> bool:
    first = next((p for p, t in function.parameters if t is not None and t.name == "out"), None)
    returned = function.returns is not None and function.returns.name == STATUS
    return returned or (function.kernel and isinstance(first, ir.Bind) and first.name == "status")


def statements(function: ir.Function, rule: Rule, args: Mapping[str, Any]) -> str:
    """What makes the call and prints, as numbers, the status (and what Ok and None are), then the results."""
    given = [_input(rule, completed(rule, args), path) for path in INPUTS[rule.name]]
    lines: list[str] = []
    passed: list[str] = ["1"] if function.kernel else []
    outs: list[str] = []
    for position, (_, type_) in enumerate(function.parameters[1:] if function.kernel else function.parameters):
        assert type_ is not None
        name = f"value{position}"
        inner = _spelled(type_.arguments[0] if type_.name in ("in", "out", "&mut") else type_)
        if type_.name in ("out", "&mut"):
            lines.append(f"{inner} {name}[1] = {{static_cast<{inner}>({SOIL}ull)}};")
            outs.append(f"{name}[0]")
        else:
            lines.append(f"{inner} {name}[1] = {{static_cast<{inner}>({given.pop(0)})}};")
        passed.append(name if type_.name in ("in", "out") else f"{name}[0]")
    call = f"{function.name}({', '.join(passed)})"
    if function.kernel:
        lines.append(f"{call};")
        outs += ["Status::Ok", "Status::None"] if _has_status(function) else []
    elif _has_status(function):
        lines.append(f"const auto status = {call};")
        outs = ["status", *outs, "Status::Ok", "Status::None"]
    elif function.returns is not None and function.returns.name != "void":
        parts = _parts(rule)
        names = [f"part{i}" for i in range(len(parts))]
        lines.append(f"const auto [{', '.join(names)}] = {call};" if names else f"const auto part0 = {call};")
        outs = [*(names or ["part0"]), *outs]
    lines += [f'std::printf("%llu ", static_cast<unsigned long long>({out}));' for out in outs]
    return "".join(f"    {line}\n" for line in lines)


def _spelled(type_: ir.Type) -> str:
    return f"{type_.name}<{', '.join(map(_spelled, type_.arguments))}>" if type_.arguments else type_.name


def _input(rule: Rule, args: Mapping[str, Any], path: str) -> str:
    """One number of a call, by its place in the arguments."""
    if path == "#common":
        pairs = enumerate(zip(args["self"]["tokens"], args["prompt"], strict=False))
        shorter = min(len(args["self"]["tokens"]), len(args["prompt"]))
        return f"{next((i for i, (mine, theirs) in pairs if mine != theirs), shorter)}ull"
    name, *fields = path.split(".")
    sort, value = rule.params[name], args[name]
    for field in fields:
        match sort:
            case sorts.Struct():
                names = [part for part, _ in sort.parts]
                value = value[names.index(field)] if sort.is_tuple else value[field]
                sort = dict(sort.parts)[field]
            case sorts.Option():
                value = (value is not None) if field == "present" else (value or 0)
    return f"{int(value)}ull"


def _value_sort(rule: Rule) -> Sort:
    sort: Sort = rule.result.value if isinstance(rule.result, Fallible) else rule.result
    return sort.some if isinstance(sort, sorts.Option) else sort


def _parts(rule: Rule) -> tuple[tuple[str, Sort], ...]:
    sort = _value_sort(rule)
    return tuple(sort.parts) if isinstance(sort, sorts.Struct) else ()


def result(function: ir.Function, rule: Rule, printed: str) -> Any:
    """The numbers that the call printed, in vector form."""
    numbers = [int(word) for word in printed.split()]
    if _has_status(function):
        said, *numbers, ok, none = numbers
        if said != ok:
            return None if said == none else dict(PANIC)
    return _assembled(_value_sort(rule), iter(numbers))


def _assembled(sort: Sort, numbers: Iterator[int]) -> Any:
    if isinstance(sort, sorts.Struct):
        values = {name: _assembled(part, numbers) for name, part in sort.parts}
        return list(values.values()) if sort.is_tuple else values
    number = next(numbers)
    return bool(number) if isinstance(sort, sorts.Flag) else number
