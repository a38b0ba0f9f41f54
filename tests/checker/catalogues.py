"""Small catalogues for the tests of the checker, and code that does not do what the rules say.

Workers find them by name, so they are functions of a module.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import z3

from proofs import replay
from proofs.checker import Catalogue, Sources, everything
from proofs.faults import Fault, Patch, rules_of
from proofs.obligation import Goal, Kind, Lemma, Obligation, World
from proofs.situations import SITUATIONS
from spec.sorts import RANGE, Concrete

UNTELLABLE = ("toy/that-hangs", "toy/that-dies", "toy/that-raises")
"""Claims that do something else than being told."""

PID_FILE = "DRAFTPROOF_TEST_PID_FILE"
"""Names the file in which a worker that hangs leaves its process id."""


def _seen(world: World, show: str, *, contradiction: bool = False) -> Goal:
    """What generation 0 is shown of any range: `show` is the claim about it."""
    stamp = world.some(RANGE, "stamp")
    seen, sees = world.answer("seen", "visible_to", stamp, z3.IntVal(0))
    claims = {"nothing": z3.And(seen.lo == 0, seen.hi == 0), "everything": seen.hi == stamp.hi}
    given = {"seen is what generation 0 sees": sees}
    if contradiction:
        given["the range is claimed and unclaimed"] = z3.And(stamp.owner == 0, stamp.owner == 1)
    return Goal(given=given, show=claims[show], witnesses={"there is a range": stamp.hi > 0})


def _theorem(name: str, build: Any, **options: Any) -> Obligation:
    return Obligation(id=f"toy/{name}", claim=f"Toy: {name}.", kind=Kind.THEOREM, build=build, **options)


def _boundary(name: str, build: Any) -> Obligation:
    return Obligation(id=f"toy/{name}", claim=f"Toy: {name}.", kind=Kind.BOUNDARY, build=build)


SEES_NOTHING = _theorem("generation-zero-sees-nothing", lambda world: _seen(world, "nothing"), assumes=("A2",))
SEES_EVERYTHING = _theorem("generation-zero-sees-everything", lambda world: _seen(world, "everything"))
CONTRADICTION = _theorem("from-a-contradiction", lambda world: _seen(world, "everything", contradiction=True))
BOUNDARY = _boundary("generation-zero-sees-all", lambda world: _seen(world, "everything"))
BOUNDARY_THAT_HOLDS = _boundary("generation-zero-sees-none", lambda world: _seen(world, "nothing"))

ZERO_AS_WILDCARD = Fault(
    name="zero-as-wildcard",
    tells="Generation 0 owns every unclaimed range.",
    rule="visible_to",
    patch=Patch(module="store", old="return z3.And(gen != 0, stamp.owner == gen)", new="return stamp.owner == gen"),
    refuted_by=SEES_NOTHING.id,
)
HARMLESS = Fault(
    name="harmless",
    tells="The two conditions are asked in the other order.",
    rule="visible_to",
    patch=Patch(
        module="store",
        old="return z3.And(gen != 0, stamp.owner == gen)",
        new="return z3.And(stamp.owner == gen, gen != 0)",
    ),
    refuted_by=SEES_NOTHING.id,
)


def good() -> Catalogue:
    return Catalogue(obligations=(SEES_NOTHING, BOUNDARY), faults=(ZERO_AS_WILDCARD,), situations=(SITUATIONS[0],))


def _source(prove: Callable[[str], Sequence[Mapping[str, Any]]]) -> Catalogue:
    return replace(good(), sources=Sources(files=("impl/store.py",), prove=prove, digest=lambda: "as it stands"))


def _told(verdict: str) -> Catalogue:
    return _source(lambda file: [{"name": f"{file}::visible_to", "verdict": verdict, "reason": "for a reason"}])


def with_source_proved() -> Catalogue:
    return _told("proved")


def with_source_outside() -> Catalogue:
    return _told("outside")


def with_source_refuted() -> Catalogue:
    return _told("refuted")


def with_source_undecided() -> Catalogue:
    return _told("undecided")


def _fail(file: str) -> Sequence[Mapping[str, Any]]:
    raise RuntimeError(f"{file} cannot be read")


def with_source_that_raises() -> Catalogue:
    return _source(_fail)


def of_the_key() -> Catalogue:
    """The project's own claims about the key."""
    return everything().only("key/*")


def refuted() -> Catalogue:
    return Catalogue(obligations=(SEES_NOTHING, SEES_EVERYTHING))


def vacuous() -> Catalogue:
    return Catalogue(obligations=(SEES_NOTHING, CONTRADICTION))


def unrefuted() -> Catalogue:
    return Catalogue(obligations=(SEES_NOTHING, BOUNDARY_THAT_HOLDS))


def surviving() -> Catalogue:
    return Catalogue(obligations=(SEES_NOTHING,), faults=(HARMLESS,))


def patched() -> Catalogue:
    """The rules as the fault has them."""
    faulty = rules_of("store", ZERO_AS_WILDCARD.patch.apply())
    return Catalogue(obligations=(SEES_NOTHING, BOUNDARY), situations=(SITUATIONS[0],), rules=faulty)


def _hang(world: World) -> Goal:
    if (path := os.environ.get(PID_FILE)) is not None:
        Path(path).write_text(str(os.getpid()))
    time.sleep(600)
    return _seen(world, "nothing")


def hanging() -> Catalogue:
    return Catalogue(obligations=(_theorem("that-hangs", _hang), SEES_NOTHING))


def _die(world: World) -> Goal:
    os.kill(os.getpid(), signal.SIGKILL)
    return _seen(world, "nothing")


def dying() -> Catalogue:
    return Catalogue(obligations=(_theorem("that-dies", _die), SEES_NOTHING))


def _raise(world: World) -> Goal:
    raise RuntimeError("the claim cannot be told")


def raising() -> Catalogue:
    return Catalogue(obligations=(_theorem("that-raises", _raise), SEES_NOTHING))


def refuted_and_dying() -> Catalogue:
    return Catalogue(obligations=(SEES_EVERYTHING, *dying().obligations))


def resting_on_what_is_refuted() -> Catalogue:
    def build(world: World) -> Goal:
        world.use(Lemma(id=SEES_EVERYTHING.id, states=lambda: z3.BoolVal(True)))
        return _seen(world, "nothing")

    return Catalogue(obligations=(_theorem("that-rests", build), SEES_EVERYTHING))


def broken() -> Catalogue:
    raise RuntimeError("the claims do not load")


def lying(fn: str, args: Mapping[str, Any]) -> Concrete:
    """The reference, but visible_to shows everything to everyone."""
    return [args["self"]["lo"], args["self"]["hi"]] if fn == "visible_to" else replay.run(fn, args)
