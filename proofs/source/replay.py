"""Counterexamples in compiled code: the file itself, with the call put behind it, through rustc or g++ where it is present.

Only with `--replay`, since it runs the code. Each build has its own flags for overflow; a panic is told by the exit status.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from proofs.source import replay_cuda
from proofs.source.output import rust_call
from proofs.source.verdicts import ENDLESS, Row

_SECONDS = 60
_LATE = f"no result in {_SECONDS} s"
SHOW = {
    "plan_append": 'println!("{}", match got { None => "null".to_string(), '
    'Some(p) => format!("{{\\"first_key\\":{},\\"rows\\":{}}}", p.first_key, p.rows) });',
    "usable_by": 'println!("{}", match got { None => "null".to_string(), Some((r, k)) => format!("[{},{}]", r, k) });',
    "stamped_merge": 'println!("{{\\"owner\\":{},\\"lo\\":{},\\"hi\\":{}}}", got.owner, got.lo, got.hi);',
    "merge_interval": 'println!("[{},{}]", got.0, got.1);',
    "visible_to": 'println!("[{},{}]", got.0, got.1);',
    "verify_batch_order": 'println!("[{:?},{:?}]", got.0, got.1);',
    "hidden_row_offset": 'println!("{}", got.0);',
}

SHOW_PLAIN = 'println!("{:?}", got);'
"""How Rust prints the result `got` of a rule in vector form."""


def replayed(row: Row) -> Row:
    """The row, with what compiled code said of its counterexample in the reason."""
    if row.counterexample is None:
        return row
    compiler = {".rs": "rustc", ".cu": "g++", ".cuh": "g++"}.get(Path(row.path).suffix)
    if compiler is None:
        return replace(row, reason="not replayed by a compiler: the language has none")
    if shutil.which(compiler) is None:
        return replace(row, reason=f"not replayed by a compiler: {compiler} is not here")
    said = _run(row) if compiler == "rustc" else replay_cuda.ran(row, _process)
    if said == _LATE and row.counterexample["source"] == ENDLESS:
        return replace(row, reason=f"replayed by {compiler}: {said}")
    if isinstance(said, str):
        return replace(row, reason=f"not replayed by a compiler: {said}")
    confirmed = said["result"] == row.counterexample["source"]
    return replace(
        row, reason=f"replayed by {compiler}" if confirmed else f"{compiler}'s program gives {json.dumps(said['result'])}"
    )


def _run(row: Row) -> dict[str, Any] | str:
    text = Path(row.path).read_text(encoding="utf-8")
    call = rust_call(row, (row.counterexample or {})["args"])
    show = SHOW.get(row.spec, SHOW_PLAIN)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "replay.rs"
        program.write_text(f"{text}\nfn main() {{ let got = {call}; {show} }}\n", encoding="utf-8")
        checks = "on" if row.profile == "debug" else "off"
        flags = ["--edition", "2021", "-A", "warnings", "-C", f"overflow-checks={checks}", "-C", f"debug-assertions={checks}"]
        made = _process(["rustc", *flags, "-o", str(program.with_suffix("")), str(program)])
        if made is None or made.returncode != 0:
            return "it does not compile by itself"
        ran = _process([str(program.with_suffix(""))])
        if ran is None:
            return _LATE
        if ran.returncode == 101:
            return {"result": {"panic": True}}
        try:
            return {"result": json.loads(ran.stdout)}
        except ValueError:
            return f"its output was {ran.stdout[:60]!r}"


def _process(command: list[str]) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
