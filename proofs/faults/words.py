"""Faults in the rules as told in bit-vectors: those of `proofs.faults.store`, `append` and `machine`, made in the other text.

Each has the name, the words and the rule of the fault that it repeats, and is refuted by the claim of the same name. So both
tellings notice the same mistakes.
"""

from __future__ import annotations

from proofs.faults import append, machine, store
from proofs.faults.patch import Fault, Faults, Patch

FAULTS = Faults("words")

_INTEGERS = {fault.name: fault for module in (store, machine, append) for fault in module.FAULTS}


def _again(name: str, *, old: str, new: str, refuted_by: str = "") -> None:
    """Registers the fault `name` in bit-vectors; `refuted_by` is a claim's name where it is not that of the fault's own."""
    told = _INTEGERS[name]
    claim = refuted_by or told.refuted_by.split("/", 1)[1]
    patch = Patch(module="words", old=old, new=new)
    fault = Fault(name=f"words/{name.split('/', 1)[1]}", tells=told.tells, rule=told.rule, patch=patch, refuted_by=f"words/{claim}")
    FAULTS.faults.append(fault)


_REPLACES = "replaces = z3.Or(z3.UGE(cur.lo, cur.hi), z3.UGT(start, cur.hi), z3.UGT(cur.lo, end))"
_SHOWN = "shown = z3.Not(z3.Or(reader_gen == 0, (stamp.owner ^ reader_gen) != 0))"
_OWN = "own = z3.And(cur.owner == writer_gen, writer_gen != 0)"
_CARRIES = "return z3.ULT(left + right, left)"
_SEEN = "return _is(result, z3.If(shown, stamp.lo, word(0)), z3.If(shown, stamp.hi, word(0)))"
_PLANNED = "planned = z3.And(z3.Not(no_keys), z3.ULT(first, end), z3.ULE(end, hidden_hi))"
_NO_NEXT = "overflow=z3.And(z3.Not(no_keys), following == 0)"

_again("store/zero-is-a-generation", old=_SHOWN, new="shown = stamp.owner == reader_gen")
_again("store/shown-by-ring-labels", old=_SEEN, new=_SEEN.replace("stamp.lo", "stamp.lo + 1").replace("stamp.hi", "stamp.hi + 1"))
_again("store/the-first-row-is-hidden", old=_SEEN, new=_SEEN.replace("stamp.lo", "stamp.lo + 1"))
_again("store/unstamped-is-everyones", old=_OWN, new="own = z3.Or(cur.owner == writer_gen, cur.owner == 0)")
_again("store/the-owner-is-ignored", old=_OWN, new="own = z3.BoolVal(True)")
_again("store/the-writer-does-not-stamp", old="result.value.owner == writer_gen", new="result.value.owner == cur.owner")
_again("store/a-gap-is-spanned", old=_REPLACES, new="replaces = z3.UGE(cur.lo, cur.hi)")
_again("store/a-gap-of-one-row-is-spanned", old="z3.UGT(start, cur.hi), ", new="z3.UGT(start, cur.hi + 1), ")
_again("store/abutting-chunks-replace", old="z3.UGT(start, cur.hi), ", new="z3.UGE(start, cur.hi), ")
_again("store/chunks-never-grow-downwards", old="z3.UGT(cur.lo, end))", new="z3.UGE(cur.lo, end))")
_again(
    "store/the-old-end-stays",
    old="last = z3.If(z3.Or(replaces, z3.UGT(end, cur.hi)), end, cur.hi)",
    new="last = z3.If(replaces, end, cur.hi)",
    refuted_by="touching-chunks-are-kept-whole",
)
_again(
    "store/a-takeover-keeps-nothing",
    old="    end = start + count\n    replaces",
    new="    end = start\n    replaces",
    refuted_by="a-write-is-always-claimed",
)
_again("store/the-last-address-panics", old=_CARRIES, new="return z3.ULE(left + right + 1, left)")
_again(
    "machine/sums-saturate",
    old="    end = start + count\n    replaces",
    new="    end = z3.If(carries(start, count), word(2**64 - 1), start + count)\n    replaces",
)
_again(
    "store/the-base-is-forgotten",
    old="value=result.value == base + (size << 1)",
    new="value=result.value == size << 1",
    refuted_by="an-address-overflows-exactly-when-it-does-not-fit",
)
_again("store/the-base-may-overflow", old=", carries(base, size + size))", new=")")
_again("machine/debug-builds-wrap", old=_NO_NEXT, new="overflow=z3.BoolVal(False)")
_again("append/a-prompt-without-keys-panics", old=_NO_NEXT, new="overflow=following == 0")
_again("append/the-panic-comes-one-key-early", old=_NO_NEXT, new=_NO_NEXT.replace("following == 0", "following + 1 == 0"))
_again("append/the-last-key-is-appended-again", old="following, end = last_pair_key + 1,", new="following, end = last_pair_key,")
_again("append/the-stores-start-is-ignored", old="z3.If(z3.ULT(following, hidden_lo), hidden_lo, following)", new="following")
_again(
    "append/the-row-after-the-last-is-read", old=_PLANNED, new=_PLANNED.replace("ULE(end, hidden_hi)", "ULE(end, hidden_hi + 1)")
)
_again("append/a-single-key-is-not-appended", old=_PLANNED, new=_PLANNED.replace("ULT(first, end)", "ULT(first + 1, end)"))

# The gate has no fault of its own among these.
FAULTS.add(
    "one-too-narrow-is-wide-enough",
    "A batch that is one below the minimum width is canonical too.",
    rule="canonical_assignment_at",
    old="z3.Not(z3.ULT(n, min_width))",
    new="z3.Not(z3.ULT(n + 1, min_width))",
    refuted_by="words/canonical-exactly-if-clear-and-wide-enough",
)
