"""A reader's own rules from a Python file: what of the claims would hold, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from proofs import cli
from proofs.exits import Exit
from proofs.explain.explanation import Explanation, explain, obligation_of
from proofs.explain.own import Unsupported, own_rules
from proofs.judge import Verdict
from proofs.replay import run

RIGHT = """
from dataclasses import dataclass


@dataclass(frozen=True)
class AppendPlan:
    first_key: int
    rows: int


def plan_append(last_pair_key, prompt_len, hidden_lo, hidden_hi):
    if prompt_len < 2:
        return None
    if last_pair_key + 1 >= 2**64:
        raise OverflowError("no next key")
    first = max(last_pair_key + 1, hidden_lo)
    end = prompt_len - 1
    if first < end and hidden_hi >= end:
        return AppendPlan(first, end - first)
    return None
"""
GATE = "def canonical_assignment_at(n, min_width, kill_switch_clear):\n"
WALKS = """from dataclasses import dataclass


@dataclass
class CarriedDrafter:
    tokens: list[int]
    session_hash: int
    rows: int
    last_pair_key: int | None

    def common_prefix_len(self, prompt):
        limit = min(len(self.tokens), len(prompt))
        for i in range(limit):
            if self.tokens[i] != prompt[i]:
                return i
        return limit
"""
READS_ONE_TOO_FAR = RIGHT.replace("hidden_hi >= end", "hidden_hi + 1 >= end")

Told = Callable[[str, str], Explanation]


@pytest.fixture
def of(tmp_path: Path) -> Told:
    def told(text: str, obligation: str) -> Explanation:
        path = tmp_path / "mine.py"
        path.write_text(text, encoding="utf-8")
        own = own_rules(path)
        return explain(obligation_of(obligation), run, rules=own.rules, asked=own.runner(run), fault="mine")

    return told


@pytest.mark.parametrize(
    "obligation",
    [
        "append/plan_append-answers-every-input",
        "append/plan_append-has-one-answer",
        "append/planned-keys-read-readable-rows",
        "append/panics-exactly-if-there-is-no-next-key",
        "system/rows-read-their-own-hidden/adopt-append",
    ],
)
def test_a_right_rule_written_another_way_keeps_its_claims(of: Told, obligation: str) -> None:
    assert of(RIGHT, obligation).verdict is Verdict.PROVED


def test_a_boundary_fails_with_a_right_rule_too(of: Told) -> None:
    explanation = of(RIGHT, "append/no-key-is-skipped")

    assert (explanation.verdict, explanation.reason) == (Verdict.REFUTED, "")


@pytest.mark.parametrize(
    "obligation",
    [
        "append/plan_append-answers-every-input",
        "append/planned-keys-read-readable-rows",
        "system/rows-read-their-own-hidden/adopt-append",
    ],
)
def test_a_rule_that_reads_one_row_too_far_is_refuted_by_the_claims_about_it(of: Told, obligation: str) -> None:
    explanation = of(READS_ONE_TOO_FAR, obligation)
    parted = explanation.calls[(explanation.parts_at or 0) - 1]

    assert explanation.verdict is Verdict.REFUTED
    # The prompt's last key is 1, and its hidden row is the first that is not there.
    assert parted.arguments == {"last_pair_key": 0, "prompt_len": 3, "hidden_lo": 0, "hidden_hi": 1}
    assert (parted.gives, parted.right) == ({"first_key": 1, "rows": 1}, None)


def test_the_files_function_answers_in_replays_and_the_code_for_all_others(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(READS_ONE_TOO_FAR, encoding="utf-8")
    answer = own_rules(path).runner(run)
    arguments = {"last_pair_key": 0, "prompt_len": 3, "hidden_lo": 0, "hidden_hi": 1}

    assert answer("plan_append", arguments) == {"first_key": 1, "rows": 1} != run("plan_append", arguments)
    assert answer("merge_interval", {"cur": [3, 9], "start": 9, "count": 2}) == [3, 11]


def test_a_claim_that_does_not_concern_the_difference_still_holds(of: Told) -> None:
    assert of(READS_ONE_TOO_FAR, "append/planned-keys-are-new").verdict is Verdict.PROVED


def test_the_claims_that_depend_on_a_rule_reach_into_the_system(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "def canonical_assignment_at(n, min_width, kill_switch_clear):\n    return kill_switch_clear and n >= min_width\n"
    )
    names = {obligation.id for obligation in own_rules(path).dependents()}

    assert "gate/canonical_assignment_at-has-one-answer" in names
    assert all(name.startswith("gate/") for name in names)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("def visible(x):\n    return x\n", "no function under a rule's name"),
        ("def hidden_row_offset(base, pos, hidden_size):\n    import os\n    return os.carry\n", "line 2: import"),
        ("def carry_armed_with(cfg):\n    return cfg\n", "1 parameters where the spec has 2"),
        (
            f"{GATE}    if n == 3:\n        raise OverflowError\n    return n >= min_width and kill_switch_clear\n",
            "raises at line 3",
        ),
        (WALKS, "common_prefix_len, line 11: it walks through a sequence"),
    ],
)
def test_what_is_no_plain_arithmetic_is_refused_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(Unsupported, match=told):
        own_rules(path)


@pytest.mark.slow
@pytest.mark.parametrize(("comparison", "code"), [(">=", Exit.OK), (">", Exit.WRONG)])
def test_the_command_judges_every_claim_about_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], comparison: str, code: Exit
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(f"{GATE}    return kill_switch_clear and n {comparison} min_width\n", encoding="utf-8")

    assert cli.run(cli.draftproof, ["explain", "--rule", str(path)]) is code
    assert "claims as they must be" in capsys.readouterr().out
