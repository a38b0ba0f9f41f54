"""The verifier as one file of the standard library: the kernel and the modules of `proofs.evidence` that it needs, in a row."""

from __future__ import annotations

import ast
from types import ModuleType

from proofs.evidence import archive, strict, verifying
from proofs.kernel import reader, rules, terms

MODULES: tuple[ModuleType, ...] = (terms, reader, rules, strict, archive, verifying)

HEAD = '''"""Verifies a Draftproof bundle: `python -I -S verify.py BUNDLE`. Any Python from 3.11 on; nothing else is needed.

Printed from the modules named below, whose imports of each other are left out and which are otherwise unchanged.
"""

from __future__ import annotations
'''
TAIL = '\n\nif __name__ == "__main__":\n    sys.exit(main(sys.argv[1:]))\n'


def text() -> str:
    """The file."""
    return HEAD + "".join(f"\n\n# {module.__name__}\n\n{_body(module)}\n" for module in MODULES) + TAIL


def _body(module: ModuleType) -> str:
    assert module.__file__ is not None
    with open(module.__file__, encoding="utf-8") as file:
        source = file.read()
    lines = source.splitlines()
    for statement in ast.parse(source).body:
        ours = isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith(("proofs.", "__future__"))
        if ours:
            assert statement.end_lineno is not None
            lines[statement.lineno - 1 : statement.end_lineno] = [""] * (statement.end_lineno - statement.lineno + 1)
    return "\n".join(lines).strip()
