"""The fourteen rules of the two seed files: for each its arguments, its result and the relation between them.

Argument names and order are the engine's. Relations take the arguments, then the result, then (where arithmetic can overflow)
the build profile. A `Rules` table can have any of them replaced: a mutant, a user's own version, or code read from a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import z3

from spec import append, carry, gate, key, order, store
from spec.machine import Profile
from spec.sorts import (
    ADOPTION,
    CARRIED,
    CONFIG,
    FLAG,
    INTERVAL,
    KEY,
    ORDER,
    PAIRS,
    PLAN,
    RANGE,
    RAW_TEXT,
    TOKENS,
    USIZE,
    WORDS,
    Fallible,
    Option,
    Sort,
)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One function of the engine. `module` is the basename shared by its model, its code and its claims."""

    name: str
    module: str
    params: Mapping[str, Sort]
    result: Sort
    relation: Callable[..., z3.BoolRef]
    overflows: bool = False
    """The relation takes a build profile, because arithmetic in it can overflow."""

    def holds(self, arguments: Mapping[str, Any], result: Any, profile: Profile = Profile.DEBUG) -> z3.BoolRef:
        """The relation between terms for the arguments (by name) and the result."""
        positional = [arguments[name] for name in self.params]
        return self.relation(*positional, result, profile) if self.overflows else self.relation(*positional, result)


def _rule(module: str, relation: Callable[..., z3.BoolRef], result: Sort, **params: Sort) -> Rule:
    return Rule(name=relation.__name__, module=module, params=params, result=result, relation=relation)


def _overflowing(module: str, relation: Callable[..., z3.BoolRef], result: Sort, **params: Sort) -> Rule:
    return replace(_rule(module, relation, Fallible(result), **params), overflows=True)


_MEMBERS: dict[str, Sort] = {"slots": WORDS, "ks": WORDS, "canonical": FLAG}
_SELF_ENTRY: dict[str, Sort] = {"self": CARRIED}
_SELF_RANGE: dict[str, Sort] = {"self": RANGE}

_ALL = (
    _rule("carry", carry.common_prefix_len, USIZE, **_SELF_ENTRY, prompt=TOKENS),
    _rule("carry", carry.session_matches, FLAG, **_SELF_ENTRY, session_hash=USIZE),
    _rule("carry", carry.usable_by, Option(ADOPTION), **_SELF_ENTRY, prompt=TOKENS, session_hash=USIZE),
    _overflowing(
        "append",
        append.plan_append,
        Option(PLAN),
        last_pair_key=USIZE,
        prompt_len=USIZE,
        hidden_lo=USIZE,
        hidden_hi=USIZE,
    ),
    _overflowing("store", store.hidden_row_offset, USIZE, base=USIZE, pos=USIZE, hidden_size=USIZE),
    _rule("store", store.visible_to, INTERVAL, **_SELF_RANGE, reader_gen=USIZE),
    _overflowing("store", store.merge_interval, INTERVAL, cur=INTERVAL, start=USIZE, count=USIZE),
    _overflowing("store", store.stamped_merge, RANGE, cur=RANGE, writer_gen=USIZE, start=USIZE, count=USIZE),
    _rule("carry", carry.carry_armed_with, FLAG, cfg=CONFIG, multi_seq=FLAG),
    _rule("order", order.verify_batch_permutation, Fallible(WORDS), **_MEMBERS),
    _rule("order", order.verify_batch_order, Fallible(ORDER), **_MEMBERS),
    _rule("key", key.verify_graph_key, KEY, pairs=PAIRS, wy_tables_null=FLAG),
    _rule("gate", gate.canonical_assignment_at, FLAG, n=USIZE, min_width=USIZE, kill_switch_clear=FLAG),
    _rule("gate", gate.min_width_from_env, USIZE, raw=RAW_TEXT),
)


@dataclass(frozen=True)
class Rules:
    """A table of the rules by name; `rules.plan_append(...)` is that rule's relation."""

    table: Mapping[str, Rule]

    def __getitem__(self, name: str) -> Rule:
        return self.table[name]

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.table.values())

    def with_relation(self, name: str, relation: Callable[..., z3.BoolRef]) -> Rules:
        """The same table but for the relation of one rule."""
        return Rules({**self.table, name: replace(self.table[name], relation=relation)})


RULES = Rules({rule.name: rule for rule in _ALL})
"""The rules as specified."""
