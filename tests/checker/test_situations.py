"""Engine situations: they hold on model and reference, and each notices when either of the two moves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from proofs import replay
from proofs.faults import Patch, rules_of
from proofs.situations import SITUATIONS, EngineSituation
from spec.rules import RULES
from spec.sorts import Concrete

BY_NAME = {situation.id.removeprefix("situations/"): situation for situation in SITUATIONS}


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.id)
def test_the_situation_comes_to_what_it_must(situation: EngineSituation) -> None:
    shown = situation.show(replay.run, RULES)

    assert shown.differences == ()
    assert [fact.tells for fact in shown.facts if not fact.holds] == []


def no_stamp(fn: str, args: Mapping[str, Any]) -> Concrete:
    """Every write merges, whoever owns the range."""
    if fn != "stamped_merge":
        return replay.run(fn, args)
    cur = args["cur"]
    lo, hi = replay.run("merge_interval", {"cur": [cur["lo"], cur["hi"]], "start": args["start"], "count": args["count"]})
    return {"owner": args["writer_gen"], "lo": lo, "hi": hi}


def one_key_too_many(fn: str, args: Mapping[str, Any]) -> Concrete:
    """Adopts the key that depends on the first token that differs."""
    result = replay.run(fn, args)
    return [result[0] + 1, result[1] + 1] if fn == "usable_by" and result is not None else result


def no_deal(fn: str, args: Mapping[str, Any]) -> Concrete:
    """The canonical arm leaves every member its own depth."""
    result = replay.run(fn, args)
    return [result[0], [args["ks"][member] for member in result[0]]] if fn == "verify_batch_order" else result


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("interleaved-prefill", no_stamp),
        ("retokenised-warm-turn", one_key_too_many),
        ("planned-graph-keys", no_deal),
        ("all-graph-keys", no_deal),
    ],
)
def test_wrong_code_is_noticed(name: str, code: Any) -> None:
    shown = BY_NAME[name].show(code, RULES)

    assert [fact for fact in shown.facts if not fact.holds]
    assert bool(shown.differences) == (shown.calls > 0)


@pytest.mark.parametrize(
    ("name", "patch"),
    [
        (
            "interleaved-prefill",
            Patch(module="store", old="return z3.And(gen != 0, stamp.owner == gen)", new="return gen != 0"),
        ),
        (
            "retokenised-warm-turn",
            Patch(module="carry", old="entry.rows + common > known.value + 2", new="entry.rows > known.value + 2"),
        ),
        ("interleaved-prefill", Patch(module="store", old="return z3.And(starts, ends)", new="return starts")),
        ("planned-graph-keys", Patch(module="key", old="2 * p + 1", new="2 * p")),
    ],
)
def test_wrong_rules_are_noticed(name: str, patch: Patch) -> None:
    shown = BY_NAME[name].show(replay.run, rules_of(patch.module, patch.apply()))

    assert shown.differences
    assert not shown.holds
