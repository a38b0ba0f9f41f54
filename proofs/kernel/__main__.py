"""`python -I -S proofs/kernel STATEMENT CERTIFICATE`: checks one certificate file against one SMT-LIB file. Exit code 0 or 1."""

import json
import sys
from pathlib import Path

# Run as a folder, with nothing installed: the package is what lies two folders up.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from proofs.kernel import Refused, check

if __name__ == "__main__":
    statement, certificate = (Path(argument).read_text(encoding="utf-8") for argument in sys.argv[1:])
    try:
        work = check(statement, json.loads(certificate)["steps"])
    except Refused as why:
        sys.exit(f"rejected: {why}")
    print(f"accepted ({work} units of work)")
