"""What the proofs say about the engine's two files that the files do not say, each with what backs it.

A finding is backed by obligations (a theorem proved, a boundary refuted), by runs that end in a harm, or by counting. What is
listed here is checked against the catalogue, so a finding cannot outlive its evidence.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proofs.keyspace import KeySpace, above_the_cap
from proofs.obligation import Kind, Obligation
from proofs.traces.faults import SYSTEM_FAULTS


class Harm(enum.Enum):
    """What a finding means for a user of the engine."""

    NONE = "harmless"
    COVERAGE = "costs coverage"
    SPEED = "costs speed"
    CORRECTNESS = "reads what is not its own"
    IF = "harmful if the caller lets it happen"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One finding: where it is, what it is, what it means, and the obligations and runs that back it."""

    name: str
    where: tuple[str, ...]
    """The functions, or the part of the design, that it is about."""
    tells: str
    harm: Harm
    obligations: tuple[str, ...] = ()
    traces: tuple[str, ...] = ()
    counted: bool = False
    """The key space backs it."""


FINDINGS: tuple[Finding, ...] = (
    Finding(
        name="the-older-stamp-misses-chunks-that-start-later",
        where=("cold turn",),
        tells="A cold turn guarded by the capture generation and length reads foreign hidden rows: a chunk of "
        "another sequence that does not start at 0 overwrites them and leaves that stamp as it was. The range"
        " stamp sees it.",
        harm=Harm.CORRECTNESS,
        traces=("the-older-stamp",),
    ),
    Finding(
        name="an-allocation-takes-everyones-right",
        where=("allocation", "visible_to"),
        tells="Allocating any sequence empties the range, so whoever has written its prompt and not yet built from "
        "it builds nothing.",
        harm=Harm.COVERAGE,
        obligations=("system/an-allocation-leaves-rights-alone", "system/a-right-to-read-is-not-lost-silently"),
    ),
    Finding(
        name="freeing-a-block-needs-an-order-on-the-device",
        where=("abort", "deposit", "refusal"),
        tells="Blocks change hands on the host. That nobody's late write lands in another's block rests on the "
        "device alone; neither file says so.",
        harm=Harm.IF,
        obligations=("system/no-write-reaches-another-owner",),
        traces=("a-block-is-freed-under-a-write",),
    ),
    Finding(
        name="arming-is-not-what-keeps-rows-apart",
        where=("carry_armed_with",),
        tells="Taking the entry, the session check and the range stamp keep rows and blocks apart whatever the "
        "arming. Its only consequence is that the slot stays empty while several sequences are dispatched.",
        harm=Harm.NONE,
        obligations=("system/the-slot-is-used-only-while-armed", "system/no-foreign-rows", "system/every-block-has-one-owner"),
    ),
    Finding(
        name="generations-are-unique-because-of-the-counter",
        where=("allocation",),
        tells="That generations are unique and not 0 follows from drawing them from one counter that does not wrap;"
        " nothing else is assumed.",
        harm=Harm.NONE,
        obligations=("system/generations-are-unique/allocate", "system/generations-are-drawn/allocate"),
        traces=("A2",),
    ),
    Finding(
        name="an-entry-is-always-well-kept",
        where=("usable_by",),
        tells="Strictly increasing keys, and no more rows than keys, hold of every entry that can be deposited: "
        "they need not be assumed.",
        harm=Harm.NONE,
        obligations=("system/keys-increase/deposit", "system/an-entry-has-no-more-rows-than-keys"),
    ),
    Finding(
        name="some-conditions-decide-nothing",
        where=("stamped_merge", "visible_to", "merge_interval", "usable_by", "plan_append"),
        tells="In the system no sequence has generation 0, no owned range is empty, and no entry is without rows or"
        " a last key; and plan_append's check that the readable rows begin early enough can never fail after "
        "the clamp before it.",
        harm=Harm.NONE,
        obligations=(
            "system/checks-for-nothing-decide-nothing",
            "system/a-clamped-append-never-starts-below-the-readable-rows",
        ),
    ),
    Finding(
        name="an-empty-write-drops-the-claim",
        where=("merge_interval", "stamped_merge"),
        tells="A write of no rows apart from the range replaces it by an empty one. The engine ignores empty chunks"
        " before they get here.",
        harm=Harm.IF,
        obligations=("store/an-empty-write-loses-nothing",),
    ),
    Finding(
        name="gaps-cost-agreeing-rows",
        where=("usable_by",),
        tells="As many agreeing rows are dropped as there are keys without a row above the common prefix, up to "
        "last_pair_key, and no more.",
        harm=Harm.COVERAGE,
        obligations=(
            "carry/every-agreeing-row-is-adopted",
            "carry/as-many-agreeing-rows-are-lost-as-keys-have-no-row",
            "carry/gaps-cost-at-most-a-row-each",
        ),
    ),
    Finding(
        name="an-append-is-all-or-nothing",
        where=("plan_append",),
        tells="If the hidden row of the prompt's last key is not readable, nothing is appended, though rows of earlier keys are.",
        harm=Harm.COVERAGE,
        obligations=("append/a-partly-readable-span-is-appended-in-part",),
    ),
    Finding(
        name="no-plan-has-two-reasons",
        where=("plan_append", "CarryOutcome"),
        tells="No plan means that the rows reach the prompt's last key already, or that its hidden row cannot be "
        "read. The caller must tell the two apart, or its log does not.",
        harm=Harm.NONE,
        obligations=("append/no-plan-means-nothing-is-missing", "append/no-plan-means-rows-are-unreadable"),
    ),
    Finding(
        name="nothing-usable-has-several-reasons",
        where=("usable_by", "CarryOutcome"),
        tells="Nothing usable means a foreign or unknown session, too few common tokens, or that gaps ate the rows "
        "that agree; and the result does not say which.",
        harm=Harm.NONE,
        obligations=("system/nothing-usable-means-a-foreign-session", "system/nothing-usable-means-too-little-agrees"),
    ),
    Finding(
        name="the-append-at-the-last-key-wraps",
        where=("plan_append",),
        tells="With last_pair_key 2^64-1 a release build plans from key 0 again. Behind usable_by it cannot happen:"
        " the key that comes with adopted rows is below the prompt's length.",
        harm=Harm.NONE,
        obligations=(
            "append/planned-keys-are-new-in-release",
            "append/panics-exactly-if-there-is-no-next-key",
            "append/after-an-adoption-planning-never-panics",
        ),
    ),
    Finding(
        name="a-merge-that-overflows-claims-nothing-new",
        where=("merge_interval", "stamped_merge"),
        tells="A debug build panics exactly if start + count does not fit 64 bits. A release build then claims no "
        "row that was not claimed before.",
        harm=Harm.NONE,
        obligations=(
            "store/a-merge-overflows-exactly-when-its-end-does",
            "store/an-overflowing-merge-claims-nothing-new",
        ),
    ),
    Finding(
        name="an-address-overflows-exactly-if-it-does-not-fit",
        where=("hidden_row_offset",),
        tells="base + 2 * pos * hidden_size must fit 64 bits; that is the weakest condition under which a debug "
        "build does not panic.",
        harm=Harm.IF,
        obligations=("store/an-address-overflows-exactly-when-it-does-not-fit",),
    ),
    Finding(
        name="adopting-cannot-overflow",
        where=("usable_by", "common_prefix_len"),
        tells="No value on the way leaves 64 bits, for any entry and prompt: both builds do the same.",
        harm=Harm.NONE,
        obligations=("carry/adoption-never-leaves-64-bits",),
    ),
    Finding(
        name="widths-below-the-gate-exceed-the-cap",
        where=("canonical_assignment", "verify_graph_key"),
        tells="Below the gate every arrangement has a key of its own, and at some widths there are more of them "
        "than the cache holds.",
        harm=Harm.SPEED,
        counted=True,
    ),
    Finding(
        name="a-chunks-width-is-not-its-batchs",
        where=("canonical_assignment",),
        tells="The gate asked with the width of a chunk can disagree with the gate asked with that of the full batch.",
        harm=Harm.IF,
        obligations=("gate/a-chunk-is-judged-like-its-batch",),
    ),
    Finding(
        name="above-the-planners-widths-the-gate-decides-nothing",
        where=("canonical_assignment", "verify_batch_order"),
        tells="Where all depths are the same, as above width 8, both arms give one order: the gate matters at the "
        "widths from itself to 8.",
        harm=Harm.NONE,
        obligations=("order/uniform-depths-make-the-arms-equal",),
    ),
    Finding(
        name="slots-beyond-32-bits-share-keys",
        where=("verify_graph_key",),
        tells="Slots that differ above 32 bits have one key; the slot of a member without one is packed to 2^32-1. "
        "Batches with such members are never captured.",
        harm=Harm.IF,
        obligations=("system/slots-are-told-apart-beyond-32-bits",),
    ),
)


@dataclass(frozen=True, kw_only=True)
class Panics:
    """When a debug build panics: exactly then, so the opposite is the weakest condition under which it does not."""

    functions: tuple[str, ...]
    exactly_if: str
    obligations: tuple[str, ...]
    """They prove it."""
    in_release: str = "the same result"
    """What a build that wraps gives in its place."""


ARITHMETIC: tuple[Panics, ...] = (
    Panics(
        functions=("merge_interval", "stamped_merge"),
        exactly_if="start + count >= 2^64",
        obligations=("store/a-merge-overflows-exactly-when-its-end-does",),
        in_release="a range that claims no row that was not claimed before",
    ),
    Panics(
        functions=("hidden_row_offset",),
        exactly_if="base + 2 * pos * hidden_size >= 2^64",
        obligations=("store/an-address-overflows-exactly-when-it-does-not-fit",),
        in_release="an address modulo 2^64: somebody else's memory",
    ),
    Panics(
        functions=("plan_append",),
        exactly_if="prompt_len >= 2 and last_pair_key = 2^64-1",
        obligations=("append/panics-exactly-if-there-is-no-next-key",),
        in_release="a plan from key 0, or from the first readable row",
    ),
    Panics(
        functions=("verify_batch_permutation", "verify_batch_order"),
        exactly_if="slots and ks differ in length (an assertion, in every build)",
        obligations=("order/unequal-lengths-are-refused",),
        in_release="a panic too",
    ),
    Panics(
        functions=("common_prefix_len", "session_matches", "usable_by"),
        exactly_if="never",
        obligations=("carry/adoption-never-leaves-64-bits",),
    ),
    Panics(
        functions=("visible_to", "carry_armed_with", "verify_graph_key", "canonical_assignment_at", "min_width_from_env"),
        exactly_if="never: no arithmetic that could leave a word",
        obligations=(
            "store/visible_to-answers-every-input",
            "carry/carry_armed_with-answers-every-input",
            "key/verify_graph_key-answers-every-input",
            "gate/canonical_assignment_at-answers-every-input",
            "gate/min_width_from_env-answers-every-readable-text",
        ),
    ),
)
"""The fourteen functions in machine arithmetic."""


def unbacked(obligations: Mapping[str, Obligation]) -> list[str]:
    """What is wrong with the evidence: findings without any, and evidence that does not exist."""
    wrong = [
        f"{', '.join(panics.functions)}: there is no obligation {name}"
        for panics in ARITHMETIC
        for name in panics.obligations
        if name not in obligations
    ]
    for finding in FINDINGS:
        if not (finding.obligations or finding.traces or finding.counted):
            wrong.append(f"{finding.name}: nothing backs it")
        wrong += [f"{finding.name}: there is no obligation {name}" for name in finding.obligations if name not in obligations]
        wrong += [f"{finding.name}: there is no run {name}" for name in finding.traces if name not in SYSTEM_FAULTS]
    return wrong


def told(finding: Finding, obligations: Mapping[str, Obligation], spaces: Sequence[KeySpace]) -> list[str]:
    """The finding's evidence, a line each."""
    verdict = {Kind.THEOREM: "proved", Kind.BOUNDARY: "refuted"}
    lines = [f"{verdict[obligations[name].kind]}: {name}" for name in finding.obligations]
    lines += [f"run: {name}, to a violation of {SYSTEM_FAULTS[name].harm}" for name in finding.traces]
    if finding.counted:
        lines += [
            f"counted: width {s.width} has {s.in_use} keys for a cap of {s.cap}; {float(s.miss_rate(s.in_use)):.0%} of steps miss"
            for s in above_the_cap(spaces)
        ]
    return lines
