"""Registered one-line mutants of the kernels' rules, each with what must catch it, and the search for its smallest case.

A mutant is a patch of the text that the host and the devices compile. It is caught by a sweep, whose first broken index
is its smallest case, or by the comparison of a function with array expressions. A mutant in `DEVICE_ONLY` changes code
that the host does not have. An equivalent mutant changes the text and nothing that its sweeps can see.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import impl.batched as batched
from impl.batched.arrays import DeviceKernels, HostKernels, Kernels, chosen_kernels
from impl.batched.kernels import Patch, source
from proofs.gpu import agreement
from proofs.gpu.machines import Machine
from proofs.gpu.scopes import BY_NAME


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A one-line change. sweeps, functions: each of these scopes and comparisons alone must catch it.

    equivalent: why its sweeps cannot catch it, and so must not.
    """

    name: str
    patch: Patch
    sweeps: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    equivalent: str | None = None


@dataclass(frozen=True, kw_only=True)
class Catch:
    """What one catcher made of one mutant. case: the smallest one, decoded; None where it saw nothing."""

    mutant: str
    by: str
    broken: int
    first: int | None
    case: Any

    @property
    def caught(self) -> bool:
        """Whether this catcher saw the mutant."""
        return self.broken > 0


def _mutant(name: str, file: str, before: str, after: str, *by: str, equivalent: str | None = None) -> Mutant:
    sweeps = tuple(catcher for catcher in by if catcher in BY_NAME)
    functions = tuple(catcher for catcher in by if catcher not in BY_NAME)
    patch = Patch(file=file, before=before, after=after)
    return Mutant(name=name, patch=patch, sweeps=sweeps, functions=functions, equivalent=equivalent)


_WORDS, _CARRY, _ORDER, _PREFIX, _TEXT, _BATCHED = (
    *("words.cuh", "carry.cuh", "order.cuh", "prefix.cuh", "text.cuh", "batched.cu"),
)
_SETS, _WIDE, _ORDERS = "sets.cuh", "wide.cu", "orders.cu"
KEYS = "distinct keys"
"""Caught by the count of distinct keys."""
_OWN = "const bool own = (claim.owner != 0) & (claim.owner == writer);"
_WORLD = "sequences.cu"
_TICKET = "(writer == 1 ? ticket_1 : ticket_2) = next_ticket++;\n"
_RESET = "        claim = {0, 0, 0};\n"
_TOUCH = "const bool touching = (claimed.lo < claimed.hi) & (start <= claimed.hi) & (claimed.lo <= end);"

MUTANTS: tuple[Mutant, ...] = (
    # The store.
    _mutant(
        "merge ignores the owner", _CARRY, _OWN, "const bool own = claim.owner != 0;",
        "merge", "merge-64-bit", "sequences-2", "stamped_merge",
    ),
    _mutant(
        "merge spans a gap above", _CARRY, _TOUCH, _TOUCH.replace("(start <= claimed.hi) & ", ""),
        "merge", "merge-64-bit", "merge-at-the-edges", "sequences-2", "stamped_merge", "merge_interval",
    ),
    _mutant(
        "merge spans a gap below", _CARRY, _TOUCH, _TOUCH.replace(" & (claimed.lo <= end)", ""),
        "merge", "merge-64-bit", "merge-at-the-edges", "sequences-2", "stamped_merge", "merge_interval",
    ),
    _mutant(
        "merge abuts one too far", _CARRY, _TOUCH, _TOUCH.replace("start <= claimed.hi", "start <= claimed.hi + 1"),
        "merge", "sequences-2", "stamped_merge", "merge_interval",
    ),
    _mutant(
        "merge abuts one too far below", _CARRY, _TOUCH, _TOUCH.replace("claimed.lo <= end", "claimed.lo <= end + 1"),
        "merge", "sequences-2", "stamped_merge", "merge_interval",
    ),
    _mutant(
        "merge loses what it touches", _CARRY, _TOUCH, _TOUCH.replace("start <= claimed.hi", "start < claimed.hi"),
        "merge", "stamped_merge", "merge_interval",
    ),
    _mutant(
        "merge keeps the lower edge", _CARRY, "touching ? lesser(claimed.lo, start)", "touching ? claimed.lo",
        "merge", "sequences-2", "stamped_merge", "merge_interval",
    ),
    _mutant(
        "merge forgets the upper edge", _CARRY, "touching ? greater(claimed.hi, end) : end", "end",
        "merge", "stamped_merge", "merge_interval",
    ),
    _mutant(
        "merge does not see the end wrap", _CARRY, "return end < start ?", "return false ?",
        "merge-at-the-edges", "stamped_merge", "merge_interval",
    ),
    _mutant(
        "stamp keeps the old owner", _CARRY, "stamped = {writer, merged", "stamped = {claim.owner, merged",
        "merge", "sequences-1", "stamped_merge",
    ),
    _mutant(
        "a reader sees any owner's rows", _CARRY, "(reader != 0) & (owner == reader)", "reader != 0",
        "merge", "sequences-1", "visible_to",
    ),
    _mutant(
        "generation 0 reads what it wrote", _CARRY, "(reader != 0) & (owner == reader)", "owner == reader",
        "merge", "sequences-1", "visible_to",
    ),
    _mutant(
        "generation 0 reads everything", _CARRY, "(reader != 0) & (owner == reader)", "reader == 0 || owner == reader",
        "merge", "sequences-1", "visible_to",
    ),
    _mutant(
        "generation 0 merges with itself", _CARRY, _OWN, "const bool own = claim.owner == writer;", "stamped_merge",
    ),
    _mutant(
        "an empty claim is not looked for", _CARRY, _TOUCH, _TOUCH.replace("(claimed.lo < claimed.hi) & ", ""),
        "merge", equivalent="a write that touches both ends of an empty claim covers it",
    ),
    _mutant("elements of one byte", _CARRY, "elements * 2", "elements * 1", "hidden_row_offset"),
    _mutant(
        "the base wraps", _CARRY, " & (offset >= base)", "", "hidden_row_offset"
    ),
    _mutant(
        "the doubling wraps", _CARRY, " & (bytes >= elements)", "", "hidden_row_offset",
    ),
    # The small world around the store.
    _mutant(
        "an allocation renews neither ticket nor claim", _WORLD, _TICKET + _RESET, "",
        "sequences-2",
    ),
    _mutant(
        "an allocation does not reset the claim", _WORLD, _TICKET + _RESET, _TICKET,
        "sequences-3", equivalent="no later writer or reader has the ticket that the old claim names",
    ),
    _mutant(
        "an allocation keeps the ticket", _WORLD, _TICKET + _RESET, _RESET,
        "sequences-3", equivalent="the claim that the ticket could name is gone",
    ),
    _mutant(
        "generation 0 merges with itself, in the world", _CARRY, _OWN, "const bool own = claim.owner == writer;",
        "sequences-3", equivalent="generation 0 reads nothing, however far its claim reaches",
    ),
    # The carried rows.
    _mutant("any session may adopt", _CARRY, "return own & key_known", "return key_known", "carried", "usable_by"),
    _mutant(
        "an unknown request matches", _CARRY, "(session != 0) & (entry == session)", "session == 0 || entry == session",
        "carried", "session_matches", "usable_by",
    ),
    _mutant(
        "unknown matches unknown", _CARRY, "(session != 0) & (entry == session)", "entry == session",
        "carried", "session_matches", "usable_by",
    ),
    _mutant(
        "an unknown entry matches", _CARRY, "(session != 0) & (entry == session)",
        "session != 0 && (entry == 0 || entry == session)", "carried", "session_matches", "usable_by",
    ),
    _mutant("an entry without a key is used", _CARRY, "& key_known", "", "carried", "usable_by"),
    _mutant("one common token is enough", _CARRY, "common >= 2", "common >= 1", "carried", "usable_by"),
    _mutant(
        "key k is compared through k only", _CARRY, "lesser<T>(last_key, common - 2)", "lesser<T>(last_key, common - 1)",
        "carried", "carried-64-bit", "usable_by",
    ),
    _mutant("one key too many is dropped", _CARRY, "last_key - top;", "last_key - top + 1;", "carried", "usable_by"),
    _mutant("rows are not dropped", _CARRY, "kept = rows - dropped", "kept = rows", "carried", "usable_by"),
    _mutant("no row is adopted", _CARRY, "rows > dropped", "rows >= dropped", "carried", "usable_by"),
    _mutant("the last key is not lowered", _CARRY, "kept_key = top", "kept_key = last_key", "carried", "usable_by"),
    # The append.
    _mutant(
        "the last key is appended again", _CARRY, "greater<T>(last_key + 1, lo)", "greater<T>(last_key, lo)",
        "append", "append-as-sets", "append-at-the-edges", "plan_append",
    ),
    _mutant(
        "unreadable rows are read below", _CARRY, "greater<T>(last_key + 1, lo)", "last_key + 1",
        "append", "append-as-sets", "append-at-the-edges", "plan_append",
    ),
    _mutant(
        "an unreadable row is read above", _CARRY, "end <= hi", "end <= hi + 1",
        "append", "append-as-sets", "append-at-the-edges", "plan_append",
    ),
    _mutant(
        "nothing is appended", _CARRY, "first < end", "first <= end", "append", "append-as-sets", "plan_append"
    ),
    _mutant("one row too many", _CARRY, "rows = end - first", "rows = end - first + 1", "append", "plan_append"),
    _mutant(
        "the readable end is wanted beyond", _CARRY, "end <= hi", "end < hi",
        "append", "append-as-sets", "plan_append",
    ),
    _mutant(
        "the last key wraps", _CARRY, "if (has_key & (last_key == largest<T>())) return", "if (false) return",
        "append-at-the-edges", "plan_append",
    ),
    _mutant("the carry runs beside others", _CARRY, "carry && !multi_seq", "carry", "carry_armed_with"),
    # The common prefix: the walk of a team along two rows.
    _mutant("the last word of a vector is not compared", _PREFIX, "a.w != b.w ? 3 : 4", "4", "common_prefix_len"),
    _mutant("the words of a vector are swapped", _PREFIX, "a.y != b.y ? 1 : a.z != b.z ? 2", "a.z != b.z ? 1 : a.y != b.y ? 2",
            "common_prefix_len"),
    _mutant("tokens before alignment are skipped", _PREFIX, "for (u64 i = rank; i < head; i += step)",
            "for (u64 i = rank; i + 1 < head; i += step)", "common_prefix_len"),
    _mutant("a token after the vectors is skipped", _PREFIX, "at += vectors * 4;", "at += vectors * 4 + 1;",
            "common_prefix_len"),
    _mutant("a vector between two steps is skipped", _PREFIX, "base += step * IN_FLIGHT", "base += step * IN_FLIGHT + 1",
            "common_prefix_len"),
    _mutant("tokens that are never aligned are skipped", _PREFIX, "at += step * 4", "at += step * 4 + 1", "common_prefix_len"),
    # The order.
    _mutant("ranks lose the tie-break", _ORDER, "    return a < b;\n}\n\ntemplate <class T>\nHD bool deeper",
            "    return false;\n}\n\ntemplate <class T>\nHD bool deeper", "tied-by-ranks", "verify_batch_order"),
    _mutant("ranks break ties backwards", _ORDER, "    return a < b;\n}\n\ntemplate <class T>\nHD bool deeper",
            "    return a > b;\n}\n\ntemplate <class T>\nHD bool deeper", "tied-by-ranks", "verify_batch_order"),
    _mutant("ranks reverse the slots", _ORDER, "return slot_a < slot_b", "return slot_a > slot_b",
            "permuted-by-ranks", "tied-by-ranks", "verify_batch_order", "verify_batch_permutation"),
    _mutant("ranks put the shallow first", _ORDER, "if (!canonical && k_a != k_b) return k_a > k_b",
            "if (!canonical && k_a != k_b) return k_a < k_b", "permuted-by-ranks", "verify_batch_order"),
    _mutant("ranks of both arms by depth", _ORDER, "if (!canonical && k_a != k_b)", "if (k_a != k_b)",
            "permuted-by-ranks", "verify_batch_order"),
    _mutant("ranks of both arms by slot", _ORDER, "if (!canonical && k_a != k_b)", "if (false)",
            "permuted-by-ranks", "verify_batch_order"),
    _mutant("ranks do not deal", _ORDER, "    return place;\n}", "    place.depth = member;\n    return place;\n}",
            "permuted-by-ranks", "verify_batch_order"),
    _mutant("ranks deal the shallow first", _ORDER, "if (k_a != k_b) return k_a > k_b;\n    return",
            "if (k_a != k_b) return k_a < k_b;\n    return", "permuted-by-ranks", "verify_batch_order"),
    _mutant("the network lacks a comparator", _ORDER, "COUNT - COUNT / 2>(words)", "COUNT - COUNT / 2 - (FIRST == 0)>(words)",
            "network", "permuted", "tied", "wide"),
    _mutant("the network sorts downwards", _ORDER, "first = lesser(a, b), second = greater(a, b)",
            "first = greater(a, b), second = lesser(a, b)", "network", "permuted", "tied", "wide"),
    _mutant("words put the shallow first", _ORDER, "(1u << K_BITS) - 1 - k", "k", "permuted", "tied", "wide"),
    _mutant("words of both arms by slot", _ORDER, "return canonical ? place : shallowness", "return true ? place : shallowness",
            "permuted", "tied"),
    _mutant("words without a slot", _ORDER, "slot << INDEX_BITS | index", "index", "permuted", "tied"),
    _mutant("keys without slots", _ORDER, "key[2 * p] = pairs[2 * p]", "key[2 * p] = 0", "permuted", "verify_graph_key"),
    _mutant("keys without depths", _ORDER, "key[2 * p + 1] = pairs[2 * p + 1]", "key[2 * p + 1] = 2",
            "permuted", "verify_graph_key"),
    _mutant("keys without the table word", _ORDER, "wy_tables_null ? 1u : 0u", "0u", "permuted", "verify_graph_key"),
    _mutant("keys with the table word reversed", _ORDER, "wy_tables_null ? 1u : 0u", "wy_tables_null ? 0u : 1u",
            "permuted", "verify_graph_key"),
    # The gate and its text.
    _mutant("the gate opens above the width", _ORDER, "n >= min_width", "n > min_width", "canonical_assignment_at"),
    _mutant("the gate ignores the switch", _ORDER, "kill_switch_clear && n", "n", "canonical_assignment_at"),
    _mutant("a plus sign is refused", _TEXT, "text[at] == '+'", "false", "min_width_from_env"),
    _mutant("a minus sign is skipped", _TEXT, "text[at] == '+'", "(text[at] == '+' || text[at] == '-')",
            "min_width_from_env"),
    _mutant("no digits are a zero", _TEXT, "if (at == digits || ", "if (", "min_width_from_env"),
    _mutant("what follows is ignored", _TEXT, "after_white_space(text, length, at) != length", "false",
            "min_width_from_env"),
    _mutant("numbers wrap", _TEXT, "if (number > (largest<u64>() - digit) / 10) return MIN_WIDTH;", "",
            "min_width_from_env"),
    _mutant("the ideographic space is kept", _TEXT, "three == 0xe38080", "false", "min_width_from_env"),
    _mutant("a separator counts as white space", _TEXT, "first <= '\\r'", "first <= 0x1c", "min_width_from_env"),
    _mutant("the default is another", _TEXT, "MIN_WIDTH = 8", "MIN_WIDTH = 7", "min_width_from_env"),
    # The kernels around the rules.
    _mutant("rows are as long as the entry's", _BATCHED, "const bool fits = ks_at[row + 1] - ks_at[row] == width",
            "const bool fits = ks_at[row + 1] - ks_at[row] >= width", "verify_batch_order"),
    _mutant("keys overlap", _BATCHED, "key + 2 * begin + row", "key + 2 * begin", "verify_graph_key"),
)  # fmt: skip

# Patches of code that only a device runs: all of it stands here, piece by piece, but for what measures ceilings. Each keeps
# every thread on the same path and inside its arrays: a mutant must not hang a device, nor take the check with it.
DEVICE_ONLY: tuple[Mutant, ...] = (
    _mutant("half of the lanes work", _WORDS, "#define LANE (threadIdx.x % 32)", "#define LANE (threadIdx.x % 16)",
            "verify_batch_order", "verify_graph_key"),
    _mutant("strides skip cases", _WORDS, "i < (n); i += THREADS)", "i < (n); i += 2 * THREADS)", "merge", "append"),
    _mutant("the high half of a square", _WORDS, "__umul64hi(a, b)", "__umul64hi(a, a)", "hidden_row_offset"),
    _mutant("the last word of a load is lost", _PREFIX, "return __ldcs(address);",
            "uint4 loaded = __ldcs(address); loaded.w = 0; return loaded;", "common_prefix_len"),
    _mutant("a block forgets the difference", _PREFIX, "if (found != NOWHERE) atomicMin(shared, found);", "",
            "common_prefix_len"),
    _mutant("a block votes in unison", _PREFIX, "__syncthreads_or(found != NOWHERE)", "__syncthreads_and(found != NOWHERE)",
            "common_prefix_len"),
    _mutant("a warp votes in unison", _PREFIX, "__any_sync(members, least != NOWHERE)", "__all_sync(members, least != NOWHERE)",
            "common_prefix_len"),
    _mutant("a warp takes the last difference", _PREFIX, "least = lesser(least, static_cast<u64>(__shfl_xor_sync",
            "least = greater(least, static_cast<u64>(__shfl_xor_sync", "common_prefix_len"),
    _mutant("long rows end before their last token", _BATCHED, "prompt + prompt_at[i], 0, shorter);\n        if (threadIdx",
            "prompt + prompt_at[i], 0, shorter - (shorter > 0));\n        if (threadIdx", "common_prefix_len"),
    _mutant("rows of 65 tokens end at 64", _BATCHED, "answer == 64 && shorter > 64", "answer == 64 && shorter > 65",
            "common_prefix_len"),
    _mutant("four tokens after the probe are skipped", _BATCHED, "prompt + b, 64, end)", "prompt + b, lesser(68ull, end), end)",
            "common_prefix_len"),
    _mutant("only the first of a warp's pairs goes on", _BATCHED, "open &= ~(0xffu << leader);", "open = 0;",
            "common_prefix_len"),
    _mutant("the first member is not counted", _SETS, "return __popc(set);", "return __popc(set & ~1u);", "carried"),
    _mutant("the greatest member is one too small", _SETS, "31 - __clz(set)", "30 - __clz(set)", "carried"),
    _mutant("the lesser of two pairs is the greater", _WIDE, "return {__vminu2(a.halves, b.halves)};",
            "return {__vmaxu2(b.halves, a.halves)};", "wide"),
    _mutant("the greater of two pairs is the lesser", _WIDE, "return {__vmaxu2(a.halves, b.halves)};",
            "return {__vminu2(b.halves, a.halves)};", "wide"),
    _mutant("a warp reports half of its finds", "sweep.cuh", "for (u32 apart = 16; apart > 0; apart /= 2) {",
            "for (u32 apart = 8; apart > 0; apart /= 2) {", "merge", "append"),
    _mutant("the largest index is reported", "sweep.cuh", "atomicMin(result, tally.first)", "atomicMax(result, tally.first)",
            "merge", "append"),
    _mutant("a word that meets another in the table is lost", _ORDERS, "at = (at + 1) & ((1u << bits) - 1);", "return;", KEYS),
    _mutant("the canonical keys are taken for the others", _ORDERS, "insert(other, static_cast<u32>(bits), one_word(other_key));",
            "insert(other, static_cast<u32>(bits), one_word(canonical_key));", KEYS),
)  # fmt: skip


def catch(mutant: Mutant, machine: Machine, *, on_device: bool, every: bool = False) -> list[Catch]:
    """Look for a mutant where it must be caught: by its first sweep or else first comparison, or by `every` one."""
    catchers = [*mutant.sweeps, *mutant.functions]
    return [_catch(mutant, by, machine, on_device) for by in (catchers if every else catchers[:1])]


def _catch(mutant: Mutant, by: str, machine: Machine, on_device: bool) -> Catch:
    patches = (mutant.patch,)
    if by in BY_NAME:
        scope = BY_NAME[by]
        size = scope.sizes["small"]
        tally = machine.sweep(scope, size, patches=patches)
        case = None if tally.first is None else scope.decode(tally.first, size.defines)
        return Catch(mutant=mutant.name, by=by, broken=tally.broken, first=tally.first, case=case)
    found = compare_patched(by, patches, on_device=on_device)
    return Catch(mutant=mutant.name, by=by, broken=found.differing, first=None, case=found.first)


def compare_patched(function: str, patches: Iterable[Patch], *, on_device: bool) -> agreement.Agreement:
    """Compare a function through kernels with these patches."""
    text = source("batched.cu", patches=patches)
    these: Kernels = DeviceKernels(text) if on_device else HostKernels(text)
    with chosen_kernels(these):
        if on_device:
            import cupy

            return agreement.compare(function, getattr(batched, function), cupy.asarray)
        return agreement.compare(function, getattr(batched, function))
