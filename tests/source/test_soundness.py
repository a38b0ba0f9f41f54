"""What looks right and is not, or cannot be judged, is never proved."""

# ruff: noqa: E501 - a text of Rust stands in one line
from __future__ import annotations

import gc
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import z3

from proofs import smt
from proofs.source.cuda_dialect import SOIL
from proofs.source.files import verdicts
from proofs.source.verdicts import UNBOUNDED, Row, Verdict

GATE = "pub fn canonical_assignment_at(n: usize, min_width: usize, kill_switch_clear: bool) -> bool"
GOOD = "{ kill_switch_clear && n >= min_width }"
BAD = "{ kill_switch_clear && n > min_width }"
RANGE = "#[derive(Clone, Copy)]\npub struct StoreRange { pub owner: u64, pub lo: usize, pub hi: usize }\n"
SEEN = "pub fn visible_to(self, reader_gen: u64) -> (usize, usize)"
SEEN_GOOD = "{ if reader_gen != 0 && self.owner == reader_gen { (self.lo, self.hi) } else { (0, 0) } }"
MERGE = "pub fn merge_interval(cur: (usize, usize), start: usize, count: usize) -> (usize, usize)"
MERGED = "if cur.1 > cur.0 && start <= cur.1 && end >= cur.0 { (cur.0.min(start), cur.1.max(end)) } else { (start, end) }"
ORDER = "pub fn verify_batch_permutation(slots: &[usize], ks: &[usize], canonical: bool) -> Vec<usize>"
WIDTH = "fn min_width_from_env(raw: Option<std::ffi::OsString>) -> usize"

UNDECIDED = {
    "two of one name, under opposite conditions": f"#[cfg(a)]\n{GATE} {GOOD}\n#[cfg(not(a))]\n{GATE} {BAD}",
    "a conditional function": f'#[cfg(feature = "fast")]\n{GATE} {GOOD}',
    "an attribute macro": f"#[rewrite]\n{GATE} {GOOD}",
    "a conditional statement": f"{GATE} {{ #[cfg(fast)]\n let n = n + 1;\n kill_switch_clear && n >= min_width }}",
    "an unsafe block": f"{GATE} {{ unsafe {{ kill_switch_clear && n >= min_width }} }}",
    "a generic function": f"pub fn canonical_assignment_at<T: Ord>(n: T, min_width: T, kill_switch_clear: bool) -> bool {GOOD}",
    "a macro of its own": f"macro_rules! assert {{ ($x:expr) => {{ return $x }} }}\n{GATE} {{ assert!(n < min_width); kill_switch_clear }}",
    "an unknown macro": f"{GATE} {{ gate!(kill_switch_clear, n, min_width) }}",
    "a macro that declares": f"declare! {{ fn helper() }}\n{GATE} {GOOD}",
    "a glob import": f"use elsewhere::*;\n{GATE} {GOOD}",
    "a function from elsewhere": f"use elsewhere::max;\n{GATE} {{ kill_switch_clear && max(n, min_width) == n }}",
    "a narrower type": GATE.replace("n: usize", "n: u32") + "{ kill_switch_clear && n as usize >= min_width }",
    "a signed type": GATE.replace("usize", "isize") + GOOD,
    "a static that changes": f"static mut LEAST: usize = 0;\n{GATE} {{ kill_switch_clear && n >= min_width + LEAST }}",
    "an atomic": f"static A: AtomicUsize = AtomicUsize::new(0);\n{GATE} {{ A.load(O); {GOOD} }}",
    "a syntax error": f"{GATE} {{ kill_switch_clear && n >= ; }}",
    "recursion without end": f"{GATE} {{ canonical_assignment_at(n, min_width, kill_switch_clear) }}",
    "a method that the file gives numbers": (
        "trait Min { fn min(self, o: usize) -> usize; }\nimpl Min for usize { fn min(self, o: usize) -> usize { o } }\n"
        f"{GATE} {{ kill_switch_clear && n.min(min_width) == min_width }}"
    ),
    "equality of its own": (
        "#[derive(Clone, Copy)]\nstruct W(usize);\nimpl PartialEq for W { fn eq(&self, o: &W) -> bool { true } }\n"
        f"{GATE} {{ kill_switch_clear && (n > min_width || W(n) == W(min_width)) }}"
    ),
    "an unstable sort with ties": (
        f"{ORDER} {{ assert_eq!(slots.len(), ks.len()); let mut o: Vec<usize> = (0..ks.len()).collect(); "
        "if canonical { o.sort_unstable_by_key(|&i| slots[i]) } else "
        "{ o.sort_by_key(|&i| (std::cmp::Reverse(ks[i]), slots[i])) } o }"
    ),
    "the method of another type": RANGE + "struct Other;\nimpl Other { " + SEEN.replace("self", "r: StoreRange") + SEEN_GOOD + " }",
    "a field that is not of the spec": (
        "pub struct StoreRange { pub owner: u64, pub lo: usize, pub hi: usize, pub seal: u64 }\nimpl StoreRange { "
        + SEEN
        + "{ if reader_gen != 0 && self.owner == reader_gen && self.seal == 0 { (self.lo, self.hi) } else { (0, 0) } } }"
    ),
    "parse to a type of its context": f"{WIDTH} {{ let n: usize = raw.and_then(|v| v.into_string().ok()).and_then(|v| v.trim().parse().ok()).unwrap_or(8); n }}",
    "a closure that counts": f"{GATE} {{ let mut k = 0; let mut f = || {{ k += 1; k }}; f(); kill_switch_clear && n >= min_width + k - 1 }}",
}

ENTRY = (
    "pub struct CarriedDrafter { pub block_table: Vec<u32>, pub rows: usize, pub last_pair_key: Option<usize>, "
    "pub tokens: Vec<u32>, pub session_hash: u64 }\n"
)

REFUTED = {
    "a bit operation on each element": (
        ENTRY + "impl CarriedDrafter { pub fn common_prefix_len(&self, prompt: &[u32]) -> usize { let mut i = 0; "
        "while i < self.tokens.len() && i < prompt.len() && (self.tokens[i] | prompt[i]) == prompt[i] { i += 1; } i } }"
    ),
    "an endless loop": f"{GATE} {{ while n == n {{}} kill_switch_clear && n >= min_width }}",
    "a loop that appends for ever": (
        "pub fn verify_graph_key(pairs: &[(u32, u32)], wy_tables_null: bool) -> Vec<u32> { let mut words = Vec::new(); let mut i = 0; "
        "while i < pairs.len() { words.push(pairs[i].0); words.push(pairs[i].1); i += 0; } words.push(u32::MAX - wy_tables_null as u32); words }"
    ),
    "the wrong one of two modules": f"mod tests {{ {GATE} {GOOD} }}\n{GATE} {BAD}",
    "code in a comment": f"/* {GATE} {GOOD} */\n{GATE} {BAD}",
    "code in a string": f'const TEXT: &str = "{GATE} {GOOD}";\n{GATE} {BAD}',
    "code for tests": f"{GATE} {BAD}\n#[cfg(test)]\nmod tests {{ {GATE} {GOOD} }}",
    "a helper shadowed in the function": f"fn wide(a: usize, b: usize) -> bool {{ a >= b }}\n{GATE} {{ fn wide(a: usize, b: usize) -> bool {{ a > b }} kill_switch_clear && wide(n, min_width) }}",
    "a constant shadowed": f"const LEAST: usize = 0;\n{GATE} {{ const LEAST: usize = 1; kill_switch_clear && n >= min_width.max(LEAST) }}",
    "a panic before an early return": f"{GATE} {{ let room = n - min_width; if !kill_switch_clear {{ return false; }} room < usize::MAX || true }}",
    "a side that need not run": f"{GATE} {{ (n - min_width < usize::MAX || true) && kill_switch_clear && n >= min_width }}",
    "an assertion for debug builds": f"{GATE} {{ debug_assert!(n != 3); kill_switch_clear && n >= min_width }}",
    "wrapping where a debug build panics": f"{MERGE} {{ let end = start.wrapping_add(count); {MERGED} }}",
    "saturating where a release build wraps": f"{MERGE} {{ let end = start.saturating_add(count); {MERGED} }}",
    "a cast that cuts": f"{MERGE} {{ let end = start + count as u32 as usize; {MERGED} }}",
    "a sum that never panics": f"{MERGE} {{ let end = (start as u128 + count as u128) as usize; {MERGED} }}",
    "trimmed on one side": f"{WIDTH} {{ raw.and_then(|v| v.into_string().ok()).and_then(|v| v.trim_end().parse::<usize>().ok()).unwrap_or(8) }}",
    "a number of 32 bits": f"{WIDTH} {{ raw.and_then(|v| v.into_string().ok()).and_then(|v| v.trim().parse::<u32>().ok()).map_or(8, |n| n as usize) }}",
    "a sort by slot alone": f"{ORDER} {{ assert_eq!(slots.len(), ks.len()); let mut o: Vec<usize> = (0..ks.len()).collect(); o.sort_by_key(|&i| slots[i]); o }}",
    "a mutable argument that is lent": f"fn raise(n: &mut usize) {{ *n += 1 }}\n{GATE} {{ let mut m = min_width / 2; raise(&mut m); kill_switch_clear && n >= m }}",
}


def _row(text: str, folder: Path, suffix: str = ".rs") -> Row | None:
    path = folder / f"text{suffix}"
    path.write_text(text, encoding="utf-8")
    rows = verdicts(path)
    return rows[0] if rows else None


@pytest.mark.parametrize("name", UNDECIDED)
def test_what_cannot_be_judged_is_undecided_or_not_there(name: str, tmp_path: Path) -> None:
    row = _row(UNDECIDED[name], tmp_path)
    assert row is None or (row.verdict is Verdict.UNDECIDED and row.reason), row


@pytest.mark.parametrize("name", REFUTED)
def test_what_differs_is_refuted_with_both_results(name: str, tmp_path: Path) -> None:
    row = _row(REFUTED[name], tmp_path)
    assert row is not None and row.verdict is Verdict.REFUTED, row
    assert row.counterexample is not None and row.counterexample["source"] != row.counterexample["spec"]


KERNEL = "enum class Status : unsigned char { Ok = 0, None = 1, Overflow = 2 };\ntypedef unsigned long long u64;\n"
OFFSET = "__device__ Status hidden_row_offset(u64 base, u64 pos, u64 size, u64 &out)"


@pytest.mark.parametrize(
    ("text", "source"),
    [
        (f"{OFFSET} {{ return Status::Ok; }}", SOIL),
        (f"{OFFSET} {{ out = base; return Status::None; }}", None),
    ],
)
def test_a_result_that_is_not_written_or_not_told_is_refuted(text: str, source: object, tmp_path: Path) -> None:
    row = _row(KERNEL + text, tmp_path, ".cu")
    assert row is not None and row.verdict is Verdict.REFUTED and row.counterexample is not None, row
    assert row.counterexample["source"] == source


@pytest.mark.parametrize(
    "text",
    [
        "def canonical_assignment_at(n, w, clear):\n    return clear and n > w\n",
        "def canonical_assignment_at(n, w, clear):\n    return n >= w\ndef canonical_assignment_at(n, w, clear):\n    return clear and n > w\n",
        "import os\nif os.name:\n    def canonical_assignment_at(n, w, clear):\n        return clear and n >= w\n",
        "def wrap(f):\n    return None\n@wrap\ndef canonical_assignment_at(n, w, clear):\n    return clear and n >= w\n",
        "min = max\ndef canonical_assignment_at(n, w, clear):\n    return clear and min(n, w) == w\n",
        "def canonical_assignment_at(n, w, clear):\n    yield clear and n >= w\n",
        "def canonical_assignment_at(n, w, clear, *more):\n    return clear and n >= w\n",
        "def canonical_assignment_at(n, w, clear):\n    global k\n    k = 1\n    return clear and n >= w\nk = 0\n",
        "def canonical_assignment_at(n, w, clear):\n    f = lambda: w\n    w = n\n    return clear and n >= f()\n",
        "def canonical_assignment_at(n, w, clear):\n    return clear * (n >= w)\n",
        "def canonical_assignment_at(n, w, clear):\n    return n and clear\n",
        "from elsewhere import *\ndef canonical_assignment_at(n, w, clear):\n    return clear and n >= w\n",
    ],
)
def test_python_that_differs_or_cannot_be_judged_is_not_proved(text: str, tmp_path: Path) -> None:
    row = _row(text, tmp_path, ".py")
    assert row is None or row.verdict in (Verdict.REFUTED, Verdict.UNDECIDED), row


Asked = tuple[Row | None, list[str]]

BITS = "a bit operation on each element"
"""Its questions are hard: which of them the budget answers changes with the numbering of terms."""


def _asked(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """The row of a text that differs, and each answer of the solver on the way with all that its context had spent by then."""
    answers: list[str] = []

    def asked(solver: z3.Solver, *assumptions: z3.BoolRef) -> z3.CheckSatResult:
        answer = check(solver, *assumptions)
        answers.append(f"{answer} {smt.resources(solver)}")
        return answer

    check = z3.Solver.check
    with monkeypatch.context() as patch:
        patch.setattr(z3.Solver, "check", asked)
        return _row(REFUTED[name], folder), answers


def _deeper(levels: int, run: Callable[[], Asked]) -> Asked:
    return run() if levels == 0 else _deeper(levels - 1, run)


def test_a_verdict_is_a_function_of_the_text_whatever_ran_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cold = _row(REFUTED[BITS], tmp_path)  # the results of drawn calls are asked once in a process
    first = _asked(BITS, tmp_path, monkeypatch)
    assert first[0] == cold
    assert first[0] is not None and first[0].verdict is Verdict.REFUTED and first[1]
    thresholds = gc.get_threshold()
    held = [z3.Int(f"held {i}") + i for i in range(500)]
    try:
        gc.set_threshold(40, 2, 2)
        _row(REFUTED["wrapping where a debug build panics"], tmp_path)
        assert _deeper(500, lambda: _asked(BITS, tmp_path, monkeypatch)) == first
    finally:
        gc.set_threshold(*thresholds)
    assert gc.isenabled() and all(term.num_args() == 2 for term in held[1:])
    assert z3.simplify(z3.Sum(held)).decl().kind() == z3.Z3_OP_ADD  # the terms of others can still be used


@pytest.mark.slow
def test_the_seed_of_hashes_does_not_decide_what_is_answered(tmp_path: Path) -> None:
    program = f"import sys; from {__name__} import digest; print(digest({str(tmp_path)!r}))"
    seen = {
        subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(seen) == 1 and seen != {""}


def digest(folder: str) -> str:
    """Of all that the solver answers about the texts that differ."""
    whole = hashlib.sha256()
    with pytest.MonkeyPatch.context() as patch:
        for name in sorted(REFUTED.keys() - {BITS}):
            whole.update("".join(_asked(name, Path(folder), patch)[1]).encode())
    return whole.hexdigest()


@pytest.mark.parametrize(
    ("fails", "error"), [("ks[len(ks)]", "IndexError"), ("1 // 0", "ZeroDivisionError"), ("(ks, ks)[2]", "LookupError")]
)
def test_an_error_that_the_code_catches_is_no_panic(fails: str, error: str, tmp_path: Path) -> None:
    text = (
        "def verify_batch_permutation(slots, ks, canonical):\n    if len(slots) != len(ks):\n        try:\n"
        f"            {fails}\n        except {error}:\n            return []\n"
        "    return sorted(range(len(ks)), key=lambda i: (0 if canonical else -ks[i], slots[i], i))\n"
    )
    row = _row(text, tmp_path, ".py")
    assert row is not None and row.counterexample is not None and row.counterexample["source"] == [], row


def test_a_negative_index_of_a_tuple_counts_from_its_end(tmp_path: Path) -> None:
    merge = "def merge_interval(cur, start, count):\n    end = start + count\n    if end >= 2**64:\n        raise OverflowError\n"
    rest = (
        "    if cur[-2] < cur[-1] and start <= cur[-1] and cur[-2] <= end:\n        return min(cur[0], start), max(cur[1], end)\n"
    )
    row = _row(f"{merge}{rest}    return start, end\n", tmp_path, ".py")
    assert row is not None and (row.verdict, row.scope) == (Verdict.PROVED, UNBOUNDED), row
    row = _row(f"{merge}{rest.replace('cur[-2] <', 'cur[-3] <')}    return start, end\n", tmp_path, ".py")
    assert row is not None and row.counterexample is not None and row.counterexample["source"] == {"panic": True}, row


READ = """
WHITE = "\\t\\n\\v\\f\\r \\u0085\\u00a0\\u1680\\u2000\\u2001\\u2002\\u2003\\u2004\\u2005\\u2006\\u2007\\u2008\\u2009\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"

def min_width_from_env(raw):
    if raw is None or isinstance(raw, bytes):
        return 8
    digits = raw.strip(WHITE).removeprefix("+")
    if not (digits.isascii() and digits.isdigit()):
        return 8
    significant = digits.lstrip("0")
    if len(significant) > 20:
        return 8
    number = int(significant or "0")
    return number if number < 2**64 else 8
"""


def test_a_text_of_any_length_is_read_as_the_rule_reads_it(tmp_path: Path) -> None:
    row = _row(READ, tmp_path, ".py")
    assert row is not None and (row.verdict, row.scope) == (Verdict.PROVED, UNBOUNDED), row


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("> 20", "> 19"),
        ('int(significant or "0")', "int(significant)"),
        ('lstrip("0")', 'lstrip("1")'),
        ('lstrip("0")', 'lstrip("01")'),
        ("digits.isascii() and ", ""),
        ("isascii() and digits.isdigit()", "isascii()"),
        ('removeprefix("+")', 'removeprefix("-")'),
        ("2**64 else", "2**63 else"),
        ("strip(WHITE)", "lstrip(WHITE)"),
    ],
)
def test_a_fault_in_reading_a_text_is_not_proved(old: str, new: str, tmp_path: Path) -> None:
    assert old in READ
    row = _row(READ.replace(old, new), tmp_path, ".py")
    assert row is not None and row.verdict is Verdict.REFUTED, row


def test_python_reads_no_number_from_thousands_of_zeros_so_that_is_proved_of_short_texts_only(tmp_path: Path) -> None:
    old = READ[READ.index("    significant") : READ.index("    number")]
    row = _row(READ.replace(old, "").replace('significant or "0"', "digits"), tmp_path, ".py")
    assert row is not None and row.verdict is Verdict.PROVED and row.scope != UNBOUNDED, row


FACTS = {
    ".rs": [
        "match (n, least) { (a, _) | (_, a) if a == 7 => n == 7, _ => n != 7 }",
        "n.cmp(&least).then_with(|| if n - least > 0 { std::cmp::Ordering::Less } else { std::cmp::Ordering::Greater }).is_ne() == (n != least)",
        r'"\u{3000}x\n".trim() != "x"',
    ],
    ".cu": ["~(unsigned char)0 == 255", "-(unsigned char)1 == 255", "((unsigned char)n >> 1) - 200 > 0"],
    ".py": [
        "[(lambda: x) for x in [1, 2]][0]() == 1",
        'f"{n}" == ""',
    ],
}
"""Facts that do not hold: each front end has once taken them for true."""

HOLDS = {
    ".rs": [
        "match (n, least) { (a, _) | (_, a) if a == 7 => n == 7 || least == 7, _ => n != 7 && least != 7 }",
        "n.cmp(&least).then_with(|| if n - least > 0 { std::cmp::Ordering::Less } else { std::cmp::Ordering::Equal }) == n.cmp(&least)",
        r'"\u{3000}x\n".trim() == "x"',
    ],
    ".cu": ["~(unsigned char)0 == -1", "-(unsigned char)1 == -1", "((unsigned char)n >> 1) - 200 < 0"],
    ".py": ["[(lambda: x) for x in [1, 2]][0]() == 2", 'f"{n}" != ""'],
}

GATES = {
    ".rs": "fn canonical_assignment_at(n: usize, least: usize, clear: bool) -> bool {{ let f = {fact}; clear && n >= least && f }}",
    ".cu": (
        "__device__ bool canonical_assignment_at(unsigned long long n, unsigned long long least, bool clear) {{\n"
        "    const bool f = {fact};\n    return clear && n >= least && f;\n}}\n"
    ),
    ".py": "def canonical_assignment_at(n, least, clear):\n    f = {fact}\n    return clear and n >= least and f\n",
}


@pytest.mark.parametrize(("suffix", "fact"), [(suffix, fact) for suffix, facts in FACTS.items() for fact in facts])
def test_a_fact_that_does_not_hold_is_never_proved(suffix: str, fact: str, tmp_path: Path) -> None:
    row = _row(GATES[suffix].format(fact=fact), tmp_path, suffix)
    assert row is not None and row.verdict is not Verdict.PROVED, row


@pytest.mark.parametrize(("suffix", "fact"), [(suffix, fact) for suffix, facts in HOLDS.items() for fact in facts])
def test_a_fact_that_holds_is_never_refuted(suffix: str, fact: str, tmp_path: Path) -> None:
    row = _row(GATES[suffix].format(fact=fact), tmp_path, suffix)
    assert row is not None and row.verdict is not Verdict.REFUTED, row


def test_a_variable_of_cuda_that_outlives_the_call_is_not_understood(tmp_path: Path) -> None:
    gate = GATES[".cu"].replace("const bool f", "static int calls = 0;\n    calls++;\n    const bool f")
    row = _row(gate.format(fact="calls == 1"), tmp_path, ".cu")
    assert row is not None and row.verdict is Verdict.UNDECIDED, row


SHARED = [
    ("b = a\n    b[0] = 7", "a[0] == 1", "a[0] == 7"),
    ("b = a\n    a += [3]", "len(b) == 2", "len(b) == 3"),
    ("b = a if n else a\n    b.append(3)", "len(a) == 2", "len(a) == 3"),
    ("b = [a]\n    a.append(3)", "len(b[0]) == 2", "len(b[0]) == 3"),
    ("extend(a)", "len(a) == 2", "len(a) == 3"),
    ("b = same(a)\n    b.append(3)", "len(a) == 2", "len(a) == 3"),
    ("collect(1)", "collect(2) == 1", "collect(2) == 2"),
    ("t = 0\n    for x in a:\n        t += 1\n        if len(a) < 4:\n            a.append(x)", "t == 2", "t == 4"),
    ("b = (x for x in a)\n    c = list(b)", "len(list(b)) == 2", "len(list(b)) == 0"),
    ("b = zip(a, a)\n    c = list(b)", "len(list(b)) == 2", "len(list(b)) == 0"),
    ("b = enumerate(a)\n    a.append(3)", "len(list(b)) == 2", "len(list(b)) == 3"),
    ("b = lambda: len(a)\n    a.append(3)", "b() == 2", "b() == 3"),
    ("b = pairs(a)\n    c = list(b)", "len(list(b)) == 2", "len(list(b)) == 0"),
]
HELPERS = """
def extend(x):
    x.append(3)

def same(x):
    return x

def collect(x, into=[]):
    into.append(x)
    return len(into)

def pairs(x):
    return zip(x, x)

"""


@pytest.mark.parametrize(("statements", "wrong", "right"), SHARED)
def test_two_names_of_one_list_are_not_taken_for_two_lists(statements: str, wrong: str, right: str, tmp_path: Path) -> None:
    gate = f"{HELPERS}def canonical_assignment_at(n, least, clear):\n    a = [1, 2]\n    {statements}\n"
    for fact, never in ((wrong, Verdict.PROVED), (right, Verdict.REFUTED)):
        row = _row(f"{gate}    f = {fact}\n    return clear and n >= least and f\n", tmp_path, ".py")
        assert row is not None and row.verdict is not never, row


def test_the_name_of_an_exception_ends_with_its_handler(tmp_path: Path) -> None:
    text = "    e = 1\n    try:\n        raise ValueError\n    except ValueError as e:\n        pass\n"
    row = _row(
        f"def canonical_assignment_at(n, least, clear):\n{text}    return clear and n >= least and e == 1\n", tmp_path, ".py"
    )
    assert row is not None and row.verdict is Verdict.UNDECIDED, row


REBOUND = [
    "K = 8\nif True:\n    K = 9\n",
    "K = 8\nfor K in (1, 2):\n    pass\n",
    "K = 8\n(K := 9)\n",
    "K = 8\ndel K\n",
    "K = 8\nexec('K = 9')\n",
    "K = 8\nmatch 1:\n    case K:\n        pass\n",
]


@pytest.mark.parametrize("head", REBOUND)
def test_a_constant_of_a_module_that_is_bound_anew_is_not_understood(head: str, tmp_path: Path) -> None:
    row = _row(f"{head}def canonical_assignment_at(n, least, clear):\n    return clear and n >= least + K - 8\n", tmp_path, ".py")
    assert row is not None and row.verdict is Verdict.UNDECIDED, row


@pytest.mark.parametrize(
    "tail",
    ["canonical_assignment_at = None", "del canonical_assignment_at", "from os import sep as canonical_assignment_at"],
)
def test_a_function_that_its_module_replaces_is_not_proved(tail: str, tmp_path: Path) -> None:
    row = _row(f"def canonical_assignment_at(n, least, clear):\n    return clear and n >= least\n{tail}\n", tmp_path, ".py")
    assert row is None or row.verdict is Verdict.UNDECIDED, row


@pytest.mark.parametrize(("head", "call"), [("a, *, b=1", "h(least, 1)"), ("a, /, b=1", "h(a=least)")])
def test_a_call_with_arguments_that_python_refuses_is_not_proved(head: str, call: str, tmp_path: Path) -> None:
    gate = f"def h({head}):\n    return a\ndef canonical_assignment_at(n, least, clear):\n    return clear and n >= {call}\n"
    row = _row(gate, tmp_path, ".py")
    assert row is not None and row.verdict is not Verdict.PROVED, row


def test_the_message_of_an_error_may_be_another_error(tmp_path: Path) -> None:
    text = "    try:\n        raise ValueError(1 // 0)\n    except ValueError:\n        pass\n    return clear and n >= least\n"
    row = _row(f"def canonical_assignment_at(n, least, clear):\n{text}", tmp_path, ".py")
    assert row is not None and row.verdict is not Verdict.PROVED, row


def test_the_key_of_a_sort_is_asked_of_a_single_element_too(tmp_path: Path) -> None:
    text = "    if slots and len(slots) != len(ks):\n        raise ValueError\n"
    key = "(0 if canonical else -ks[i], slots[i])"
    sort = f"{text}    return sorted(range(len(ks)), key=lambda i: {key})\n"
    row = _row(f"def verify_batch_permutation(slots, ks, canonical):\n{sort}", tmp_path, ".py")
    assert row is not None and row.verdict is not Verdict.REFUTED, row
