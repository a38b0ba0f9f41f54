"""A counterexample as a test that stays: a pytest function of this project, and a Rust test for the engine.

Both ask for what is right, so they fail where the mutant's fault is in the code. A pytest function of a system claim takes the
run on the twin machine, with the reference's rules. The Rust text calls the engine's functions under the engine's names, with a
`DevicePtr` taken to be built from its address.
"""

from __future__ import annotations

import pprint
import re
import textwrap
from collections.abc import Sequence

from proofs.explain.explanation import MUTANTS, Explanation, Told
from proofs.judge import Verdict
from proofs.traces.faults import SystemFault
from spec.rules import RULES
from spec.sorts import PANIC, Concrete, Fallible, Option, Sort, Struct
from spec.sorts import Sequence as SequenceSort


class NoTest(ValueError):
    """No test can be written; the message says why."""


def name_of(explanation: Explanation) -> str:
    """The name of the test, without its prefix."""
    return re.sub(r"\W+", "_", explanation.mutant or explanation.obligation).strip("_")


def pytest_text(explanation: Explanation) -> str:
    """A module with one test. NoTest where no code can pass it, or nothing was refuted."""
    _refuted(explanation)
    head = f'"""{_doc(explanation)}"""\n\nfrom __future__ import annotations\n\n'
    if explanation.trace is not None:
        return head + _system_test(explanation)
    calls = _told(explanation)
    if not calls:
        raise NoTest("only a build that wraps could show it, and the reference does not wrap; the Rust test does")
    lines = ["from proofs.replay import run", "", "", f"def test_{name_of(explanation)}() -> None:"]
    for call in calls:
        arguments = textwrap.indent(pprint.pformat(dict(call.arguments), width=100, sort_dicts=False), " " * 4).strip()
        lines += [f"    arguments = {_indented(arguments)}", "", f'    assert run("{call.rule}", arguments) == {call.right!r}']
    return head + "\n".join(lines) + "\n"


def _indented(text: str) -> str:
    return text.replace("\n", "\n" + " " * 12)


def _refuted(explanation: Explanation) -> None:
    if explanation.verdict is not Verdict.REFUTED:
        raise NoTest(f"{explanation.obligation} is {explanation.verdict.value}, so there is no counterexample to keep")


def _doc(explanation: Explanation) -> str:
    text = f"{explanation.harm or explanation.claim} ({explanation.obligation})"
    return "\n".join(textwrap.wrap(text, width=120)).replace("\\", "\\\\").replace('"', "'")


def _told(explanation: Explanation) -> Sequence[Told]:
    """The call in which the mutant parts from what is right; without a mutant all calls, which are right. None that wrap."""
    parted = [call for call in explanation.calls if call.parts and call.changed]
    return [call for call in parted[:1] or explanation.calls if call.by == "reference"]


def _system_test(explanation: Explanation) -> str:
    fault, trace = MUTANTS[explanation.mutant], explanation.trace
    assert isinstance(fault, SystemFault) and trace is not None
    if fault.in_the_world:
        raise NoTest(f"{fault.name} is about the world and not about the code: no code can pass the test")
    twin = "graphs" if fault.of_graphs else "machine"
    steps = [(step.action, dict(step.choices)) for step in trace.steps]
    return f"""import contextlib
from typing import Any

from proofs.replay import run
from proofs.traces import {twin}
from proofs.traces.trace import Impossible

GIVEN: dict[str, Any] = {pprint.pformat(dict(trace.given), width=110, sort_dicts=False)}

STEPS: list[tuple[str, dict[str, Any]]] = {pprint.pformat(steps, width=110, sort_dicts=False)}


def test_{name_of(explanation)}() -> None:
    engine = {twin}.Machine(given=GIVEN, run=run)
    # A right engine may refuse a step of this run.
    with contextlib.suppress(Impossible):
        for action, choices in STEPS:
            engine.step(action, choices)

    assert ({trace.harm!r}, {trace.place!r}) not in engine.harms()
"""


# ---- Rust


def rust_text(explanation: Explanation) -> str:
    """A `#[test]` in the engine's language. NoTest where what parts is no function of the engine."""
    _refuted(explanation)
    parted = [call for call in explanation.calls if call.parts and call.changed]
    calls = parted[:1] or (explanation.calls if explanation.trace is None else ())
    if not calls:
        raise NoTest(f"{explanation.mutant} is a fault of the system and not of a function, so no call of one shows it")
    lines = [f"// {line}" for line in _doc(explanation).splitlines()]
    for number, call in enumerate(calls):
        lines += _rust_test(call, name_of(explanation).lower() + (f"_{number + 1}" if len(calls) > 1 else ""))
    return "\n".join(lines) + "\n"


def _rust_test(call: Told, name: str) -> list[str]:
    rule = RULES[call.rule]
    arguments = [_rust(sort, call.arguments[p], call.rule, p) for p, sort in rule.params.items()]
    if next(iter(rule.params)) == "self":
        called = f"{arguments[0]}.{call.rule}({', '.join(arguments[1:])})"
    else:
        called = f"{call.rule}({', '.join(arguments)})"
    lines = []
    if rule.overflows and (call.profile == "release" or call.right == PANIC):
        # What a sum that does not fit comes to depends on the build.
        lines.append("#[cfg(not(debug_assertions))]" if call.profile == "release" else "#[cfg(debug_assertions)]")
    lines.append("#[test]")
    if call.right == PANIC:
        return [*lines, "#[should_panic]", f"fn {name}() {{", f"    let _ = {called};", "}"]
    right = _rust(rule.result, call.right, call.rule, "result")
    return [*lines, f"fn {name}() {{", f"    assert_eq!({called}, {right});", "}"]


def _rust(sort: Sort, value: Concrete, rule: str, name: str) -> str:
    if isinstance(sort, Fallible):
        return _rust(sort.value, value, rule, name)
    if isinstance(sort, Option):
        return "None" if value is None else f"Some({_rust(sort.some, value, rule, name)})"
    if isinstance(sort, SequenceSort):
        elements = ", ".join(_rust(sort.element, element, rule, name) for element in value)
        inner = f"[{elements}]"
        return f"vec!{inner}" if name in ("result", "tokens") else f"&{inner}"
    if isinstance(sort, Struct):
        if sort.is_tuple:
            return f"({', '.join(_rust(part, v, rule, name) for (_, part), v in zip(sort.parts, value, strict=True))})"
        fields = [f"{part}: {_rust(of, value[part], rule, part)}" for part, of in sort.parts]
        struct = _STRUCTS[frozenset(value)]
        # No function reads the blocks of an entry.
        blocks = ["block_table: vec![]"] if struct == "CarriedDrafter" else []
        return f"{struct} {{ {', '.join([*blocks, *fields])} }}"
    if name == "raw":
        return _rust_raw(value)
    if rule == "hidden_row_offset" and name in ("base", "result"):
        return f"DevicePtr({value})"
    return str(value).lower() if isinstance(value, bool) else str(value)


_STRUCTS = {
    frozenset({"owner", "lo", "hi"}): "StoreRange",
    frozenset({"first_key", "rows"}): "AppendPlan",
    frozenset({"prefill", "carry"}): "DrafterContext",
    frozenset({"rows", "last_pair_key", "tokens", "session_hash"}): "CarriedDrafter",
}


def _rust_raw(value: Concrete) -> str:
    if value is None:
        return "None"
    if isinstance(value, str):
        text = "".join(c if c.isascii() and c.isprintable() and c not in '"\\' else f"\\u{{{ord(c):x}}}" for c in value)
        return f'Some(std::ffi::OsString::from("{text}"))'
    listed = ", ".join(f"0x{byte:02x}" for byte in bytes.fromhex(value["hex"]))
    return f"Some(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(vec![{listed}]))"
