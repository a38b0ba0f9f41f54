"""How rows leave: a table, JSON, SARIF for code hosts, a baseline of what is known to be undecided, tests from counterexamples."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from proofs.exits import Exit, worst
from proofs.source.verdicts import Row, Verdict

_EXITS = {
    Verdict.PROVED: Exit.OK,
    Verdict.REFUTED: Exit.WRONG,
    Verdict.MISSING: Exit.WRONG,
    Verdict.UNDECIDED: Exit.UNDECIDED,
}
_LEVELS = {Verdict.REFUTED: "error", Verdict.MISSING: "error", Verdict.UNDECIDED: "warning"}


def exit_of(rows: Iterable[Row], known: frozenset[tuple[str, str]] = frozenset()) -> Exit:
    """The exit code; undecided functions of the baseline count as all right."""
    return worst(Exit.OK if row.verdict is Verdict.UNDECIDED and identity(row) in known else _EXITS[row.verdict] for row in rows)


def identity(row: Row) -> tuple[str, str]:
    """What a row keeps when lines move."""
    return Path(row.path).name, row.spec


def told(row: Row) -> str:
    """The row in a sentence."""
    if row.counterexample is not None:
        args, mine, theirs = (json.dumps(row.counterexample[k], ensure_ascii=False) for k in ("args", "source", "spec"))
        return f"{row.name} differs from the spec for {args}: it gives {mine}, the spec {theirs} ({row.profile} build)"
    if row.verdict is Verdict.PROVED:
        scope = "every input" if row.scope == "unbounded" else f"every input with sequences of at most {row.scope} elements"
        return f"{row.name} equals the spec on {scope}" + (f" ({row.reason})" if row.reason else "")
    if row.verdict is Verdict.MISSING:
        return f"{row.name} is not in the file"
    return f"{row.name} is undecided: {row.reason}"


def table(rows: Sequence[Row], outside: Sequence[str]) -> str:
    """Fixed columns, what failed last."""
    width = max([len(row.name) for row in rows] or [0])
    lines = []
    for row in sorted(rows, key=lambda r: (_EXITS[r.verdict], r.path, r.line)):
        scope = "" if row.scope is None else str(row.scope)
        where = f"{row.path}:{row.line}"
        lines.append(f"{row.name.ljust(width)}   {row.verdict.value.upper():9}   {scope:9}   {row.profile or '':7}   {where}")
        if row.counterexample is not None:
            for key, value in row.counterexample.items():
                lines.append(f"  {key:8} {json.dumps(value, ensure_ascii=False)}")
        if row.reason is not None:
            label = {Verdict.PROVED: "rests on", Verdict.REFUTED: "compiled"}.get(row.verdict, "why")
            lines.append(f"  {label:8} {row.reason}")
    if outside:
        lines.append(f"outside: {', '.join(outside)}")
    return "\n".join(lines)


def document(rows: Sequence[Row]) -> dict[str, Any]:
    """What `--json` prints."""
    return {"functions": [row.as_json() for row in rows]}


def sarif(rows: Sequence[Row], version: str) -> dict[str, Any]:
    """SARIF 2.1.0: a result for each function that is not proved."""
    rules = [
        {"id": f"draftproof/{verdict.value}", "shortDescription": {"text": f"The function is {verdict.value}."}}
        for verdict in _LEVELS
    ]
    results = [
        {
            "ruleId": f"draftproof/{row.verdict.value}",
            "level": _LEVELS[row.verdict],
            "message": {"text": told(row)},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": Path(row.path).as_posix()},
                        "region": {"startLine": max(row.line, 1)},
                    }
                }
            ],
            "partialFingerprints": {"draftproof/function": f"{Path(row.path).name}:{row.spec}"},
        }
        for row in rows
        if row.verdict is not Verdict.PROVED
    ]
    driver = {"name": "draftproof", "version": version, "rules": rules}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


BASELINE = "draftproof.source-baseline/1"


class Unusable(Exception):
    """A baseline that cannot be read."""


def read_baseline(path: Path) -> frozenset[tuple[str, str]]:
    """The functions known to be undecided. Unusable if the file is no baseline."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["schema"] != BASELINE:
            raise ValueError(found["schema"])
        return frozenset((entry["file"], entry["spec"]) for entry in found["undecided"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Unusable(f"source: baseline={str(path)!r} is no baseline ({error}); write one with --write-baseline") from error


def baseline(rows: Sequence[Row]) -> str:
    """A baseline of the undecided rows."""
    known = sorted(identity(row) for row in rows if row.verdict is Verdict.UNDECIDED)
    return json.dumps({"schema": BASELINE, "undecided": [{"file": f, "spec": s} for f, s in known]}, indent=1) + "\n"


def rust_test(row: Row) -> str:
    """A Rust test of a counterexample, for the module of the function: it fails until the function gives what the spec does."""
    found = row.counterexample or {}
    name = f"{row.spec}_gives_what_the_spec_does"
    call = rust_call(row, found["args"])
    lines = ["#[test]"]
    if found["spec"] == {"panic": True}:
        lines += ["#[should_panic]", f"fn {name}() {{", f"    let _ = {call};", "}"]
    else:
        lines += [f"fn {name}() {{", f"    // The function gave {json.dumps(found['source'])}.", f"    let got = {call};"]
        lines += [f"    {line}" for line in _rust_assertions(row.spec, found["spec"])]
        lines += ["}"]
    return "\n".join(lines) + "\n"


def rust_call(row: Row, args: Mapping[str, Any]) -> str:
    """The call of a counterexample, in Rust."""
    return rust_call_of(row.name, row.spec, args)


def rust_call_of(function: str, spec: str, args: Mapping[str, Any]) -> str:
    """A call of a function under the rule `spec`, in Rust."""
    bare = function.rpartition("::")[2]
    shown = {name: _rust_argument(spec, name, value) for name, value in args.items()}
    own = shown.pop("self", None)
    listed = ", ".join(shown.values())
    return f"{bare}({listed})" if own is None else f"{own}.{bare}({listed})"


def _rust_argument(spec: str, name: str, value: Any) -> str:
    if name == "self" or (spec == "stamped_merge" and name == "cur"):
        if "tokens" in value:
            known = value["last_pair_key"]
            fields = {
                "block_table": "vec![]",
                "rows": str(value["rows"]),
                "last_pair_key": "None" if known is None else f"Some({known})",
                "tokens": f"vec!{value['tokens']}",
                "session_hash": str(value["session_hash"]),
            }
            return f"CarriedDrafter {{ {', '.join(f'{k}: {v}' for k, v in fields.items())} }}"
        return f"StoreRange {{ {', '.join(f'{k}: {v}' for k, v in value.items())} }}"
    if name == "cfg":
        return f"DrafterContext {{ {', '.join(f'{k}: {str(v).lower()}' for k, v in value.items())} }}"
    if name == "raw":
        return "None" if value is None else f"Some({json.dumps(value, ensure_ascii=False)}.into())"
    if name == "pairs":
        return "&[" + ", ".join(f"({s}, {k})" for s, k in value) + "]"
    if name == "cur":
        return f"({value[0]}, {value[1]})"
    if name == "base":
        return f"DevicePtr({value})"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"&{value}"
    return str(value)


def _rust_assertions(spec: str, value: Any) -> list[str]:
    if value is None:
        return ["assert!(got.is_none());"]
    if spec == "plan_append":
        return [
            'let got = got.expect("a plan");',
            f"assert_eq!((got.first_key, got.rows), ({value['first_key']}, {value['rows']}));",
        ]
    if spec == "usable_by":
        return [f"assert_eq!(got, Some(({value[0]}, {value[1]})));"]
    if spec == "stamped_merge":
        return [f"assert_eq!((got.owner, got.lo, got.hi), ({value['owner']}, {value['lo']}, {value['hi']}));"]
    if spec in ("merge_interval", "visible_to"):
        return [f"assert_eq!(got, ({value[0]}, {value[1]}));"]
    if spec == "verify_batch_order":
        return [f"assert_eq!(got, (vec!{value[0]}, vec!{value[1]}));"]
    if isinstance(value, bool):
        return [f"assert_eq!(got, {str(value).lower()});"]
    if isinstance(value, list):
        return [f"assert_eq!(got, vec!{value});"]
    return [f"assert_eq!(got, {value});" if spec != "hidden_row_offset" else f"assert_eq!(got.0, {value});"]
