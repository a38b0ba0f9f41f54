"""Symbolic execution of the contracts by CrossHair: alarms count only once they have been replayed concretely.

CrossHair is known to raise false alarms, and it stops at a time limit. So an alarm is replayed on the real code before
it fails a test, and silence means "no counterexample found": it proves nothing, whatever CrossHair itself calls it.
"""

import ast
import enum
import inspect
import re
import textwrap
import traceback
from collections.abc import Callable

import pytest
from crosshair.core_and_libs import analyze_function, run_checkables
from crosshair.options import AnalysisKind, AnalysisOptionSet
from crosshair.statespace import AnalysisMessage, MessageType

from impl.reference import append, carry, gate, key, order, store
from impl.reference.append import AppendPlan
from impl.reference.carry import CarriedDrafter
from tests.reference import contracts

Contract = Callable[..., None]

CONTRACTS = [
    contract for _, contract in inspect.getmembers(contracts, inspect.isfunction) if contract.__module__ == contracts.__name__
]
SECONDS = 1.5
"""How long to look into one contract, so that the whole file stays below 40 seconds on one core."""
PATIENCE = 60
"""How long to look for a planted fault, which ends the search; a slow machine must not turn it into silence."""


class Finding(enum.Enum):
    """What a search for a counterexample came to."""

    NONE = "no counterexample found"
    COUNTEREXAMPLE = "counterexample, replayed"
    FALSE_ALARM = "an alarm that does not replay"
    NOT_UNDERSTOOD = "no contract that CrossHair understands"


def search(contract: Contract, seconds: float) -> tuple[Finding, str]:
    """Let CrossHair look for arguments that break the contract, and replay what it reports."""
    options = AnalysisOptionSet(
        analysis_kind=[AnalysisKind.asserts],
        per_condition_timeout=seconds,
        per_path_timeout=seconds,
        report_all=True,  # silence is reported too, which tells it from a contract that was never understood
    )
    messages = run_checkables(analyze_function(contract, options))
    if not messages:
        return Finding.NOT_UNDERSTOOD, "CrossHair found no contract in it"
    return max((judged(contract, message) for message in messages), key=lambda finding: _GRAVITY.index(finding[0]))


_GRAVITY = (Finding.NONE, Finding.FALSE_ALARM, Finding.NOT_UNDERSTOOD, Finding.COUNTEREXAMPLE)


def judged(contract: Contract, message: AnalysisMessage) -> tuple[Finding, str]:
    """Tell what one message of CrossHair's amounts to."""
    if message.state in {MessageType.CONFIRMED, MessageType.CANNOT_CONFIRM}:
        return Finding.NONE, ""
    if message.state in {MessageType.POST_FAIL, MessageType.POST_ERR, MessageType.EXEC_ERR}:
        found = Finding.COUNTEREXAMPLE if replays(contract, message.message) else Finding.FALSE_ALARM
        return found, message.message
    return Finding.NOT_UNDERSTOOD, f"{message.state.value}: {message.message}"


def replays(contract: Contract, alarm: str) -> bool:
    """Call the contract as the alarm says; return whether its claim fails there, and not merely its domain."""
    call = re.search(rf"when calling ({contract.__name__}\(.*?\))(?: \(which returns .*\))?$", alarm, re.DOTALL)
    assert call, f"{contract.__name__}: the alarm gives no call to replay: {alarm}"
    try:
        eval(call[1], vars(contracts))  # the text is CrossHair's own, made of literals
    except AssertionError as error:
        return all(
            frame.lineno is None or frame.lineno > last_line_of_domain(contract)
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.name == contract.__name__
        )
    except Exception:  # noqa: BLE001 - any error at all breaks a contract that does not expect it
        return True
    return False


def last_line_of_domain(contract: Contract) -> int:
    """The last line of the leading assertions."""
    lines, first_line = inspect.getsourcelines(contract)
    function = ast.parse(textwrap.dedent("".join(lines))).body[0]
    assert isinstance(function, ast.FunctionDef)
    last = 0
    for statement in function.body[1:]:  # the docstring stands before them
        if not isinstance(statement, ast.Assert):
            break
        last = statement.end_lineno or 0
    return first_line - 1 + last


@pytest.mark.slow
@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.__name__)
def test_no_counterexample_to_a_contract_is_found(contract: Contract) -> None:
    finding, detail = search(contract, SECONDS)
    print(f"{contract.__name__}: {finding.value} {detail}")
    assert finding in {Finding.NONE, Finding.FALSE_ALARM}, detail


_merged, _permutation, _key, _plan = store._merged, order._permutation, key.verify_graph_key, append.plan_append


def _late_by_one(last_pair_key: int, prompt_len: int, hidden_lo: int, hidden_hi: int) -> AppendPlan | None:
    plan = _plan(last_pair_key, prompt_len, hidden_lo, hidden_hi)
    return plan and AppendPlan(first_key=plan.first_key + 1, rows=plan.rows)


def _last_writer_wins(threshold: carry.MarconiThreshold, v: int) -> bool:
    threshold._settled = v
    return True


def _one_more_agrees(mine: list[int], theirs: list[int]) -> int:
    return min(len(mine), len(theirs))


# One fault for each contract that must be found: where it is planted, and what stands there instead. It also shows
# that arguments enter the contract, since CrossHair is silent on a domain that nothing meets.
FAULTS: list[tuple[Contract, object, str, object]] = [
    (
        contracts.merge_claims_only_written_rows,
        store,
        "_merged",
        lambda lo, hi, start, end: (min(lo, start), max(hi, end)) if lo < hi else (start, end),
    ),
    (contracts.merge_claims_what_was_just_written, store, "_merged", lambda lo, hi, start, end: (lo, hi)),
    (contracts.merge_overflows_exactly_beyond_64_bits, store, "U64_MAX", 2**64),
    (
        contracts.a_stamped_merge_never_extends_a_foreign_interval,
        store,
        "_same_generation",
        lambda owner, other: owner == other,
    ),
    (contracts.a_reader_sees_its_own_rows_or_none, store, "_same_generation", lambda owner, other: owner == other),
    (contracts.a_row_lies_after_the_base, store, "U64_MAX", 2**64),
    (contracts.a_plan_appends_new_keys_up_to_the_last_from_readable_rows, append, "plan_append", _late_by_one),
    (contracts.a_plan_is_refused_only_without_need_or_rows, append, "plan_append", lambda *_: None),
    (contracts.surviving_rows_agree, carry, "_agreement", _one_more_agrees),
    (contracts.the_common_prefix_is_the_longest, carry, "_agreement", _one_more_agrees),
    (
        contracts.the_threshold_is_settled_once,
        carry.MarconiThreshold,
        "set_marconi_min_tokens",
        _last_writer_wins,
    ),
    (
        contracts.the_canonical_arm_never_deepens_along_slots_that_never_fall,
        order,
        "_permutation",
        lambda slots, ks, canonical: sorted(range(len(slots)), key=lambda member: (slots[member], -member)),
    ),
    (
        contracts.the_other_arm_keeps_every_depth_and_starts_with_the_deepest,
        order,
        "_permutation",
        lambda slots, ks, canonical: sorted(range(len(slots)), key=lambda member: slots[member]),
    ),
    (
        contracts.the_total_of_rows_does_not_change,
        order,
        "_permutation",
        lambda slots, ks, canonical: _permutation(slots, ks, canonical)[:2],
    ),
    (
        contracts.a_key_can_be_read_back,
        key,
        "verify_graph_key",
        lambda pairs, wy_tables_null: _key(pairs, False),
    ),
    (
        contracts.the_gate_opens_from_the_width_on,
        gate,
        "canonical_assignment_at",
        lambda n, min_width, kill_switch_clear: kill_switch_clear and n > min_width,
    ),
    (contracts.white_space_around_a_width_does_not_matter, gate, "WHITE_SPACE", " \t\n\v\f\r\x85"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("contract", "place", "name", "fault"), [pytest.param(*fault, id=fault[0].__name__) for fault in FAULTS])
def test_a_planted_fault_is_found_and_replays(
    contract: Contract, place: object, name: str, fault: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, name, fault)
    finding, detail = search(contract, PATIENCE)
    assert finding is Finding.COUNTEREXAMPLE, f"{finding.value} {detail}"


def test_every_contract_has_its_fault() -> None:
    assert {fault[0] for fault in FAULTS} == set(CONTRACTS)


def test_an_alarm_that_does_not_replay_is_no_counterexample() -> None:
    contract = contracts.the_common_prefix_is_the_longest
    assert not replays(contract, "AssertionError: when calling the_common_prefix_is_the_longest([], [])")
    outside_the_domain = "AssertionError: when calling the_common_prefix_is_the_longest([-1], [])"
    assert not replays(contract, outside_the_domain)


def test_an_alarm_that_replays_is_a_counterexample(monkeypatch: pytest.MonkeyPatch) -> None:
    contract = contracts.the_common_prefix_is_the_longest
    alarm = "AssertionError: when calling the_common_prefix_is_the_longest([1], [2]) (which returns None)"
    assert not replays(contract, alarm)
    monkeypatch.setattr(CarriedDrafter, "common_prefix_len", lambda self, prompt: 1)
    assert replays(contract, alarm)


def _without_a_claim(n: int) -> None:
    """CrossHair reads contracts out of leading assertions; here there is none."""
    print(n)


def test_a_function_that_states_no_contract_is_not_taken_for_silence() -> None:
    assert search(_without_a_claim, SECONDS)[0] is Finding.NOT_UNDERSTOOD
