"""The command `draftproof`: finds its subcommands, and turns whatever happens into an exit code.

A subcommand's module is imported when the command is used and not before, so `draftproof gpu` never loads a solver. A
command exists as soon as its module does. Commands return an `Exit` (or raise SystemExit); bad usage and bad input are
click exceptions; anything else is an internal error, whose traceback goes to a file.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import click

from proofs.exits import Exit

TRACEBACK = Path("build") / "traceback.txt"


@dataclass(frozen=True, kw_only=True)
class Lazy:
    """A subcommand: the module and attribute that hold it (or make it, if it is a function), and a line of help."""

    module: str
    attribute: str
    tells: str

    @property
    def exists(self) -> bool:
        """The module is part of this distribution."""
        path = Path(__file__).parent.joinpath(*self.module.split(".")[1:])
        return path.with_suffix(".py").is_file()

    def load(self) -> click.Command:
        """Imports the command."""
        found = getattr(importlib.import_module(self.module), self.attribute)
        command = found if isinstance(found, click.Command) else found()
        assert isinstance(command, click.Command)
        return command


COMMANDS: Mapping[str, Lazy] = {
    "prove": Lazy(module="proofs.cli", attribute="_prove", tells="Check every claim with Z3 and cvc5."),
    "report": Lazy(module="proofs.report_cli", attribute="report", tells="Show the last report, keys, findings, assumptions."),
    "inventory": Lazy(module="proofs.cli", attribute="_inventory", tells="Compare what is proved with the reviewed list."),
    "explain": Lazy(module="proofs.explain.cli", attribute="explain", tells="Explain a verdict."),
    "replay": Lazy(module="proofs.explain.cli", attribute="replay", tells="Replay a counterexample on the code."),
    "trace": Lazy(module="proofs.tracelog.cli", attribute="trace", tells="Check an engine's debug log against the model."),
    "conform": Lazy(module="proofs.conform.cli", attribute="conform", tells="Compare an implementation with vectors."),
    "vectors": Lazy(module="proofs.conform.cli", attribute="vectors", tells="Write vectors for every function."),
    "source": Lazy(module="proofs.source.cli", attribute="source", tells="Prove that source files equal the spec."),
    "mutants": Lazy(module="proofs.mutation.cli", attribute="mutants", tells="Mutate the reference and run its tests."),
    "gpu": Lazy(module="proofs.gpu.cli", attribute="gpu", tells="Run the checks on a GPU and keep the record."),
    "campaign": Lazy(module="proofs.campaign.cli", attribute="campaign", tells="Search on many workers, and go on after a kill."),
    "evidence": Lazy(module="proofs.evidence.cli", attribute="evidence", tells="Collect and verify the evidence."),
}


def _prove() -> click.Command:
    from proofs.checker import everything
    from proofs.commands import prove_command
    from proofs.inventory import PATH
    from proofs.replay import run

    return prove_command(everything, run, PATH, records=_records)


def _inventory() -> click.Command:
    from proofs.checker import everything
    from proofs.commands import inventory_command
    from proofs.inventory import PATH

    return inventory_command(everything, PATH)


def _records() -> Sequence[Mapping[str, Any]]:
    """The records of device runs; a single absent one where there is none."""
    from proofs.gpu.records import Freshness, changed, freshness, load_records

    try:
        found = load_records()
    except ValueError as broken:
        raise click.UsageError(str(broken)) from broken
    entries = []
    for record in found:
        stale = "".join(f"; {name} has changed since" for name in changed(record)[:1])
        entries.append({"name": record.name, "status": freshness(record).value, "reason": record.summary + stale})
    return entries or [{"name": "gpu", "status": Freshness.ABSENT.value, "reason": "no device run is recorded"}]


class Commands(click.Group):
    """The subcommands of a table, each loaded when it is used."""

    def __init__(self, table: Mapping[str, Lazy], **options: Any) -> None:
        super().__init__(**options)
        self.table = {name: lazy for name, lazy in table.items() if lazy.exists}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.table, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        lazy = self.table.get(cmd_name)
        return super().get_command(ctx, cmd_name) if lazy is None else lazy.load()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, lazy.tells) for name, lazy in self.table.items()])


@click.group(cls=Commands, table=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="draftproof", prog_name="draftproof")
@click.option("--traceback", "show_traceback", is_flag=True, help="Show the traceback of an internal error.")
def draftproof(show_traceback: bool) -> None:
    """Proves the cache bookkeeping of a speculative decoder.

    \b
    Exit codes: 0 all as it must be, 1 something is not, 2 bad usage or input,
    3 undecided, 4 internal error, 130 interrupted.

    \b
    Example:
      draftproof prove --only 'store/*'
    """


def run(command: click.Command, arguments: Sequence[str]) -> Exit:
    """Runs a command and gives its exit code, whatever happens."""
    try:
        result = command.main(args=list(arguments), prog_name="draftproof", standalone_mode=False)
    except click.exceptions.Exit as early:
        return Exit(early.exit_code)
    except click.ClickException as wrong:
        wrong.show()
        return Exit.USAGE if isinstance(wrong, click.FileError) else Exit(wrong.exit_code)
    except (KeyboardInterrupt, click.Abort):
        print("draftproof: interrupted", file=sys.stderr)
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # The reader has gone; what is buffered for it would raise again when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return Exit.INTERNAL
    except Exception as error:  # noqa: BLE001 - the last place where an error can be told
        _tell(error, shown="--traceback" in arguments)
        return Exit.INTERNAL
    return result if isinstance(result, Exit) else Exit.OK


def end_politely() -> None:
    """Makes this process treat a request to end as it does Ctrl-C: nothing half-written, no process left behind."""

    def interrupt(signum: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)


def _tell(error: Exception, *, shown: bool) -> None:
    text = "".join(traceback.format_exception(error))
    told = f"draftproof: internal error: {type(error).__name__}: {error}"
    if shown:
        print(text, file=sys.stderr)
    else:
        try:
            TRACEBACK.parent.mkdir(parents=True, exist_ok=True)
            TRACEBACK.write_text(text, encoding="utf-8")
            told += f"; traceback in {TRACEBACK}"
        except OSError:
            told += "; `draftproof --traceback ...` shows the traceback"
    print(told, file=sys.stderr)


def main() -> None:
    """The console script."""
    end_politely()
    sys.exit(run(draftproof, sys.argv[1:]))


if __name__ == "__main__":
    main()
