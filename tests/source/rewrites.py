"""Ways to write one function that all mean the same: for each the rule, the language and the text, declarations included."""

# ruff: noqa: E501 - a text of Rust stands in one line
from __future__ import annotations

from dataclasses import dataclass

_RANGE = "#[derive(Clone, Copy)]\npub struct StoreRange { pub owner: u64, pub lo: usize, pub hi: usize }\n"
_ENTRY = (
    "pub struct CarriedDrafter { pub block_table: Vec<u32>, pub rows: usize, pub last_pair_key: Option<usize>, "
    "pub tokens: Vec<u32>, pub session_hash: u64 }\n"
)
_PLAN = "pub struct AppendPlan { pub first_key: usize, pub rows: usize }\n"
_POINTER = "pub struct DevicePtr(pub u64);\n"
_CONFIG = "pub struct DrafterContext { pub prefill: bool, pub carry: bool }\n"


@dataclass(frozen=True)
class Rewrite:
    """A text of one function."""

    rule: str
    suffix: str
    text: str


def _entry(rule: str, method: str) -> Rewrite:
    return Rewrite(rule, ".rs", f"{_ENTRY}impl CarriedDrafter {{ {method} }}\n")


def _seen(method: str) -> Rewrite:
    return Rewrite("visible_to", ".rs", f"{_RANGE}impl StoreRange {{ {method} }}\n")


def _rust(rule: str, text: str, declarations: str = "") -> Rewrite:
    return Rewrite(rule, ".rs", declarations + text)


_PREFIX = "pub fn common_prefix_len(&self, prompt: &[u32]) -> usize"
_MATCHES = "pub fn session_matches(&self, session_hash: u64) -> bool"
_VISIBLE = "pub fn visible_to(self, reader_gen: u64) -> (usize, usize)"
_MERGE = "pub fn merge_interval(cur: (usize, usize), start: usize, count: usize) -> (usize, usize)"
_STAMP = "pub fn stamped_merge(cur: StoreRange, writer_gen: u64, start: usize, count: usize) -> StoreRange"
_APPEND = "pub fn plan_append(last: usize, len: usize, lo: usize, hi: usize) -> Option<AppendPlan>"
_ORDER = "pub fn verify_batch_permutation(slots: &[usize], ks: &[usize], canonical: bool) -> Vec<usize>"
_KEY = "pub fn verify_graph_key(pairs: &[(u32, u32)], wy_tables_null: bool) -> Vec<u32>"
_WIDTH = "fn min_width_from_env(raw: Option<std::ffi::OsString>) -> usize"
_GATE = "fn canonical_assignment_at(n: usize, min_width: usize, kill_switch_clear: bool) -> bool"
_ARMED = "pub fn carry_armed_with(cfg: DrafterContext, multi_seq: bool) -> bool"
_OFFSET = "pub fn hidden_row_offset(base: DevicePtr, pos: usize, hidden_size: usize) -> DevicePtr"

SCALARS: tuple[Rewrite, ...] = (
    _entry("session_matches", f"{_MATCHES} {{ session_hash > 0 && session_hash == self.session_hash }}"),
    _entry("session_matches", f"{_MATCHES} {{ !(session_hash == 0 || self.session_hash != session_hash) }}"),
    _entry("session_matches", f"{_MATCHES} {{ if session_hash < 1 {{ false }} else {{ self.session_hash.eq(&session_hash) }} }}"),
    _entry("session_matches", f"{_MATCHES} {{ match session_hash {{ 0 => false, h => h == self.session_hash }} }}"),
    _entry("session_matches", f"{_MATCHES} {{ self.session_hash != 0 && self.session_hash == session_hash }}"),
    _entry("session_matches", f"{_MATCHES} {{ self.session_hash ^ session_hash == 0 && session_hash != 0 }}"),
    _seen(f"{_VISIBLE} {{ if reader_gen == 0 || reader_gen != self.owner {{ (0, 0) }} else {{ (self.lo, self.hi) }} }}"),
    _seen(
        f"{_VISIBLE} {{ let StoreRange {{ owner, lo, hi }} = self; if owner == reader_gen && owner != 0 {{ (lo, hi) }} else {{ (0, 0) }} }}"
    ),
    _seen(f"{_VISIBLE} {{ let own = reader_gen != 0 && reader_gen == self.owner; [(0, 0), (self.lo, self.hi)][own as usize] }}"),
    _seen(f"{_VISIBLE} {{ (reader_gen > 0 && reader_gen == self.owner).then_some((self.lo, self.hi)).unwrap_or((0, 0)) }}"),
    _rust(
        "merge_interval",
        f"{_MERGE} {{ let to = start + count; if cur.1 > cur.0 && !(cur.1 < start || to < cur.0) {{ (cur.0.min(start), cur.1.max(to)) }} else {{ (start, to) }} }}",
    ),
    _rust(
        "merge_interval",
        f"{_MERGE} {{ let end = count + start; let (lo, hi) = cur; if lo >= hi {{ return (start, end); }} let near = lo <= end && hi >= start; if near {{ (std::cmp::min(lo, start), std::cmp::max(hi, end)) }} else {{ (start, end) }} }}",
    ),
    _rust(
        "merge_interval",
        f"{_MERGE} {{ let end = start.checked_add(count); let end = match end {{ Some(e) => e, None => start + count }}; let mut out = (start, end); if cur.0 < cur.1 && start <= cur.1 && end >= cur.0 {{ out.0 = out.0.min(cur.0); out.1 = out.1.max(cur.1); }} out }}",
    ),
    _rust(
        "merge_interval",
        "type Span = (usize, usize);\npub fn merge_interval(cur: Span, start: usize, count: usize) -> Span { let w = (start, start + count); let hull = |a: Span, b: Span| (a.0.min(b.0), a.1.max(b.1)); if cur.1 <= cur.0 || w.0 > cur.1 || w.1 < cur.0 { w } else { hull(cur, w) } }",
    ),
    _rust(
        "stamped_merge",
        f"{_STAMP} {{ let own = cur.owner == writer_gen && cur.owner != 0; let to = start + count; if own && cur.hi > cur.lo && start <= cur.hi && to >= cur.lo {{ StoreRange {{ owner: writer_gen, lo: cur.lo.min(start), hi: cur.hi.max(to) }} }} else {{ StoreRange {{ owner: writer_gen, lo: start, hi: to }} }} }}",
        _RANGE,
    ),
    _rust(
        "stamped_merge",
        f"{_STAMP} {{ let mut cur = cur; if cur.owner != writer_gen || writer_gen == 0 {{ cur.lo = 0; cur.hi = 0; }} cur.owner = writer_gen; let end = start + count; let grows = cur.lo < cur.hi && start <= cur.hi && cur.lo <= end; if !grows {{ cur.lo = start; cur.hi = end; }} else {{ if start < cur.lo {{ cur.lo = start }} if end > cur.hi {{ cur.hi = end }} }} cur }}",
        _RANGE,
    ),
    _rust(
        "stamped_merge",
        f"{_STAMP} {{ let written = StoreRange {{ lo: start, hi: start + count, owner: writer_gen }}; match cur.owner {{ 0 => written, o if o != writer_gen => written, _ if cur.lo >= cur.hi || written.lo > cur.hi || written.hi < cur.lo => written, _ => StoreRange {{ lo: cur.lo.min(start), hi: cur.hi.max(written.hi), ..written }} }} }}",
        _RANGE,
    ),
    _rust(
        "plan_append",
        f"{_APPEND} {{ if len <= 1 {{ return None; }} let first_key = (1 + last).max(lo); let last_key = len - 2; if first_key <= last_key && hi > last_key {{ Some(AppendPlan {{ first_key, rows: last_key + 1 - first_key }}) }} else {{ None }} }}",
        _PLAN,
    ),
    _rust(
        "plan_append",
        f"{_APPEND} {{ let needed = len.checked_sub(2)?; let first_key = lo.max(last + 1); let rows = (needed + 1).checked_sub(first_key)?; (rows > 0 && hi > needed).then_some(AppendPlan {{ first_key, rows }}) }}",
        _PLAN,
    ),
    _rust(
        "plan_append",
        f"{_APPEND} {{ let Some(needed) = len.checked_sub(2) else {{ return None }}; let next = last + 1; let first_key = if next < lo {{ lo }} else {{ next }}; match first_key.cmp(&needed) {{ std::cmp::Ordering::Greater => None, _ if hi <= needed => None, _ => Some(AppendPlan {{ first_key, rows: needed - first_key + 1 }}) }} }}",
        _PLAN,
    ),
    _rust(
        "plan_append",
        f"{_APPEND} {{ match len {{ 0..=1 => None, _ => {{ let first_key = std::cmp::max(last + 1, lo); let end = len - 1; if end > hi || first_key >= end {{ None }} else {{ Some(AppendPlan {{ first_key, rows: end - first_key }}) }} }} }} }}",
        _PLAN,
    ),
    _rust(
        "plan_append",
        f"{_APPEND} {{ len.checked_sub(1).filter(|e| *e >= 1).and_then(|end| {{ let first_key = (last + 1).max(lo); if first_key < end && hi >= end {{ Some(AppendPlan {{ first_key, rows: end - first_key }}) }} else {{ None }} }}) }}",
        _PLAN,
    ),
    _rust("hidden_row_offset", f"{_OFFSET} {{ DevicePtr(base.0 + (pos * hidden_size * 2) as u64) }}", _POINTER),
    _rust(
        "hidden_row_offset",
        f"{_OFFSET} {{ let at = base.0; let row = hidden_size * pos; DevicePtr(at + 2 * row as u64) }}",
        _POINTER,
    ),
    _rust(
        "hidden_row_offset",
        f"fn times(a: usize, b: usize) -> usize {{ a * b }}\n{_OFFSET} {{ let n = times(times(pos, hidden_size), 2) as u64; DevicePtr(n + base.0) }}",
        _POINTER,
    ),
    _rust("carry_armed_with", f"{_ARMED} {{ if multi_seq {{ false }} else {{ cfg.carry }} }}", _CONFIG),
    _rust("carry_armed_with", f"{_ARMED} {{ let DrafterContext {{ carry, .. }} = cfg; carry && !multi_seq }}", _CONFIG),
    _rust("carry_armed_with", f"{_ARMED} {{ matches!((cfg.carry, multi_seq), (true, false)) }}", _CONFIG),
    _rust("carry_armed_with", f"{_ARMED} {{ cfg.carry > multi_seq }}", _CONFIG),
    _rust("canonical_assignment_at", f"{_GATE} {{ !(n < min_width) && kill_switch_clear }}"),
    _rust("canonical_assignment_at", f"{_GATE} {{ n.checked_sub(min_width).is_some() & kill_switch_clear }}"),
    _rust("canonical_assignment_at", f"{_GATE} {{ if kill_switch_clear {{ min_width <= n }} else {{ false }} }}"),
    _rust("canonical_assignment_at", f"{_GATE} {{ kill_switch_clear && (min_width..=n).contains(&n) }}"),
    _rust("canonical_assignment_at", f"{_GATE} {{ kill_switch_clear && n.max(min_width) == n }}"),
)
"""Functions of words and flags alone."""

SEQUENCES: tuple[Rewrite, ...] = (
    _entry("common_prefix_len", f"{_PREFIX} {{ self.tokens.iter().zip(prompt).take_while(|(a, b)| **a == **b).count() }}"),
    _entry(
        "common_prefix_len",
        f"{_PREFIX} {{ let n = self.tokens.len().min(prompt.len()); (0..n).find(|&i| self.tokens[i] != prompt[i]).unwrap_or(n) }}",
    ),
    _entry(
        "common_prefix_len",
        f"{_PREFIX} {{ let mut i = 0; while i < self.tokens.len() && i < prompt.len() && self.tokens[i] == prompt[i] {{ i += 1; }} i }}",
    ),
    _entry(
        "common_prefix_len",
        f"{_PREFIX} {{ let mut i = 0; loop {{ match (self.tokens.get(i), prompt.get(i)) {{ (Some(a), Some(b)) if a == b => i += 1, _ => return i }} }} }}",
    ),
    _entry(
        "common_prefix_len",
        f"{_PREFIX} {{ let mut n = 0; for (i, t) in prompt.iter().enumerate() {{ if i >= self.tokens.len() || self.tokens[i] != *t {{ break; }} n = i + 1; }} n }}",
    ),
    _entry(
        "common_prefix_len",
        f"{_PREFIX} {{ let t = &self.tokens; (0..t.len().min(prompt.len())).take_while(|&i| t[i] == prompt[i]).count() }}",
    ),
    _entry(
        "common_prefix_len",
        f"{_PREFIX} {{ let mut going = true; let mut n = 0; while going && n < prompt.len() && n < self.tokens.len() {{ if self.tokens[n] == prompt[n] {{ n += 1; }} else {{ going = false; }} }} n }}",
    ),
    _rust(
        "verify_batch_permutation",
        f"{_ORDER} {{ assert_eq!(slots.len(), ks.len()); let mut o: Vec<usize> = (0..slots.len()).collect(); o.sort_unstable_by_key(|&i| (if canonical {{ 0 }} else {{ usize::MAX - ks[i] }}, slots[i], i)); o }}",
    ),
    _rust(
        "verify_batch_permutation",
        f"use std::cmp::Reverse;\n{_ORDER} {{ assert!(ks.len() == slots.len()); let mut o: Vec<usize> = (0..ks.len()).collect(); o.sort_by_key(|&i| slots[i]); if !canonical {{ o.sort_by_key(|&i| (Reverse(ks[i]), slots[i], i)); }} o }}",
    ),
    _rust(
        "verify_batch_permutation",
        f"{_ORDER} {{ if slots.len() != ks.len() {{ panic!() }} let mut o = (0..slots.len()).collect::<Vec<_>>(); match canonical {{ true => o.sort_by(|x, y| (slots[*x], *x).cmp(&(slots[*y], *y))), false => o.sort_by(|x, y| ks[*y].cmp(&ks[*x]).then_with(|| slots[*x].cmp(&slots[*y]))) }} o }}",
    ),
    _rust(
        "verify_batch_permutation",
        f'{_ORDER} {{ assert_eq!(slots.len(), ks.len(), "lengths"); let mut v: Vec<(usize, usize)> = slots.iter().copied().zip(0..).collect(); v.sort(); if canonical {{ return v.into_iter().map(|(_, i)| i).collect(); }} v.sort_by(|a, b| ks[b.1].cmp(&ks[a.1])); v.into_iter().map(|p| p.1).collect() }}',
    ),
    _rust(
        "verify_graph_key",
        f"{_KEY} {{ let mut k = vec![]; for p in pairs.iter() {{ k.extend([p.0, p.1]); }} k.push(if wy_tables_null {{ u32::MAX - 1 }} else {{ u32::MAX }}); k }}",
    ),
    _rust(
        "verify_graph_key",
        f"{_KEY} {{ let mut k = Vec::new(); for i in 0..pairs.len() {{ let (slot, depth) = pairs[i]; k.push(slot); k.push(depth); }} k.push(u32::MAX - wy_tables_null as u32); k }}",
    ),
    _rust(
        "verify_graph_key",
        f"{_KEY} {{ let mut k: Vec<u32> = pairs.iter().flat_map(|p| vec![p.0, p.1]).collect(); k.push(!u32::from(wy_tables_null)); k }}",
    ),
    _rust(
        "verify_graph_key",
        f"{_KEY} {{ let mut k = Vec::with_capacity(pairs.len() * 2 + 1); pairs.iter().for_each(|&(s, d)| {{ k.push(s); k.push(d); }}); k.push(u32::MAX - u32::from(wy_tables_null)); k }}",
    ),
    _rust(
        "min_width_from_env",
        f"{_WIDTH} {{ match raw.map(|v| v.into_string()) {{ Some(Ok(t)) => t.trim().parse::<usize>().ok().unwrap_or(8), _ => 8 }} }}",
    ),
    _rust(
        "min_width_from_env",
        f"{_WIDTH} {{ let Some(v) = raw else {{ return 8 }}; let Some(t) = v.to_str() else {{ return 8 }}; let t = t.trim_start().trim_end(); if let Ok(n) = t.parse::<usize>() {{ n }} else {{ 8 }} }}",
    ),
    _rust(
        "min_width_from_env",
        f"const W: usize = 8;\n{_WIDTH} {{ raw.and_then(|v| v.into_string().ok()).map_or(W, |t| t.trim().parse::<u64>().map_or(W, |n| n as usize)) }}",
    ),
)
"""Functions of sequences and text."""

_PY_CLASS = "from dataclasses import dataclass\n@dataclass\nclass {name}:\n{fields}\n"
_PY_RANGE = _PY_CLASS.format(name="StoreRange", fields="    owner: int\n    lo: int\n    hi: int")
_PY_PLAN = _PY_CLASS.format(name="AppendPlan", fields="    first_key: int\n    rows: int")


def _python(rule: str, text: str) -> Rewrite:
    return Rewrite(rule, ".py", text)


PYTHON: tuple[Rewrite, ...] = (
    _python("canonical_assignment_at", "def canonical_assignment_at(n, w, clear):\n    return False if not clear else n >= w\n"),
    _python(
        "canonical_assignment_at",
        "def canonical_assignment_at(n, w, clear):\n    if clear:\n        return not w > n\n    return False\n",
    ),
    _python(
        "visible_to",
        _PY_RANGE
        + "    def visible_to(self, g):\n        if g == 0 or self.owner != g:\n            return (0, 0)\n        return (self.lo, self.hi)\n",
    ),
    _python(
        "visible_to",
        _PY_RANGE
        + "    def visible_to(self, g):\n        own = 0 != g == self.owner\n        return (self.lo if own else 0), (self.hi if own else 0)\n",
    ),
    _python(
        "merge_interval",
        "def merge_interval(cur, start, count):\n    lo, hi = cur\n    end = start + count\n    if end > 2**64 - 1:\n        raise OverflowError\n    if lo < hi and start <= hi and lo <= end:\n        return min(lo, start), max(hi, end)\n    return start, end\n",
    ),
    _python(
        "merge_interval",
        "def merge_interval(cur, start, count):\n    end = start + count\n    if end.bit_length() > 64:\n        raise OverflowError\n    if cur[0] < cur[1] and start <= cur[1] and cur[0] <= end:\n        return min(cur[0], start), max(cur[1], end)\n    return start, end\n",
    ),
    _python(
        "plan_append",
        _PY_PLAN
        + "def plan_append(last, n, lo, hi):\n    if n >= 2:\n        if last + 1 == 2**64:\n            raise OverflowError\n        first = max(last + 1, lo)\n        if first <= n - 2 < hi:\n            return AppendPlan(first, n - 1 - first)\n    return None\n",
    ),
    _python(
        "hidden_row_offset",
        "def hidden_row_offset(base, pos, size):\n    out = base + pos * size + size * pos\n    if out < 2**64:\n        return out\n    raise OverflowError(out)\n",
    ),
    _python(
        "verify_batch_permutation",
        "def verify_batch_permutation(slots, ks, canonical):\n    if len(slots) != len(ks):\n        raise ValueError\n    key = (lambda i: slots[i]) if canonical else (lambda i: (-ks[i], slots[i]))\n    return sorted(range(len(ks)), key=key)\n",
    ),
    _python(
        "verify_batch_permutation",
        "def verify_batch_permutation(slots, ks, canonical):\n    assert len(slots) == len(ks)\n    order = sorted(range(len(slots)), key=lambda i: slots[i])\n    if canonical:\n        return order\n    return sorted(order, key=lambda i: ks[i], reverse=True)\n",
    ),
    _python(
        "verify_graph_key",
        "def verify_graph_key(pairs, null):\n    words = [w for p in pairs for w in (p[0], p[1])]\n    words.append(2**32 - 1 - (1 if null else 0))\n    return words\n",
    ),
    _python(
        "verify_graph_key",
        "def verify_graph_key(pairs, null):\n    words = []\n    for pair in pairs:\n        words.extend(pair)\n    return words + [0xFFFFFFFE if null else 0xFFFFFFFF]\n",
    ),
)

_USABLE = "pub fn usable_by(&self, prompt: &[u32], session_hash: u64) -> Option<(usize, usize)>"
_BATCH = "pub fn verify_batch_order(slots: &[usize], ks: &[usize], canonical: bool) -> (Vec<usize>, Vec<usize>)"


def _usable(body: str, more: str = "") -> Rewrite:
    return _entry("usable_by", f"{more} {_USABLE} {{ {body} }}")


FURTHER_SCALARS: tuple[Rewrite, ...] = (
    _entry(
        "session_matches",
        f"{_MATCHES} {{ let theirs = session_hash; let known = theirs != 0; if known {{ return theirs == self.session_hash; }} known }}",
    ),
    _entry("session_matches", f"{_MATCHES} {{ [0, self.session_hash + 0].contains(&session_hash) && session_hash != 0 }}"),
    _seen(
        f"{_VISIBLE} {{ let mut seen = (0, 0); if reader_gen != 0 {{ if let true = self.owner == reader_gen {{ seen = (self.lo, self.hi); }} }} seen }}"
    ),
    _seen(
        f"{_VISIBLE} {{ match (reader_gen, self) {{ (0, _) => (0, 0), (g, StoreRange {{ owner, lo, hi }}) if g == owner => (lo, hi), _ => (0, 0) }} }}"
    ),
    _rust(
        "merge_interval",
        f"fn apart(a: (usize, usize), b: (usize, usize)) -> bool {{ a.1 < b.0 || b.1 < a.0 }}\nfn empty(a: (usize, usize)) -> bool {{ a.0 >= a.1 }}\n{_MERGE} {{ let new = (start, start + count); if empty(cur) || apart(cur, new) {{ return new; }} (cur.0.min(new.0), cur.1.max(new.1)) }}",
    ),
    _rust(
        "merge_interval",
        f"{_MERGE} {{ let (mut lo, mut hi) = (start, start + count); if cur.1 > cur.0 && cur.1 >= lo && cur.0 <= hi {{ if cur.0 < lo {{ lo = cur.0; }} if hi < cur.1 {{ hi = cur.1; }} }} (lo, hi) }}",
    ),
    _rust(
        "stamped_merge",
        "impl StoreRange { fn holds(&self) -> bool { self.lo < self.hi } fn with(self, end: usize, start: usize) -> Self { Self { lo: self.lo.min(start), hi: self.hi.max(end), ..self } } }\n"
        f"{_STAMP} {{ let end = start + count; if cur.owner == writer_gen && writer_gen != 0 && cur.holds() && start <= cur.hi && cur.lo <= end {{ return cur.with(end, start); }} StoreRange {{ owner: writer_gen, lo: start, hi: end }} }}",
        _RANGE,
    ),
    _rust(
        "stamped_merge",
        f"{_STAMP} {{ let end = start + count; let same = (cur.owner, writer_gen) != (0, 0) && cur.owner == writer_gen; let joins = same && cur.lo < cur.hi && !(cur.hi < start) && !(end < cur.lo); StoreRange {{ owner: writer_gen, lo: if joins && cur.lo < start {{ cur.lo }} else {{ start }}, hi: if joins && cur.hi > end {{ cur.hi }} else {{ end }} }} }}",
        _RANGE,
    ),
    _rust(
        "plan_append",
        f"{_APPEND} {{ if len < 2 {{ return None }} let keys = len - 1; let next = last + 1; let first_key = if lo > next {{ lo }} else {{ next }}; if first_key < keys && keys <= hi {{ let rows = keys - first_key; return Some(AppendPlan {{ first_key, rows }}); }} None }}",
        _PLAN,
    ),
    _rust(
        "plan_append",
        f"impl AppendPlan {{ fn upto(first_key: usize, end: usize) -> Option<Self> {{ match end.saturating_sub(first_key) {{ 0 => None, rows => Some(Self {{ first_key, rows }}) }} }} }}\n{_APPEND} {{ if len < 2 {{ return None; }} let first = std::cmp::max(lo, last + 1); if len - 1 > hi {{ return None; }} AppendPlan::upto(first, len - 1) }}",
        _PLAN,
    ),
    _rust(
        "hidden_row_offset",
        f"{_OFFSET} {{ let bytes = {{ let words = pos * hidden_size; words + words }}; DevicePtr(base.0 + bytes as u64) }}",
        _POINTER,
    ),
    _rust(
        "carry_armed_with",
        f"{_ARMED} {{ match (multi_seq, cfg) {{ (false, DrafterContext {{ carry: true, .. }}) => true, _ => false }} }}",
        _CONFIG,
    ),
    _rust(
        "canonical_assignment_at",
        f"{_GATE} {{ match (kill_switch_clear, n.cmp(&min_width)) {{ (true, std::cmp::Ordering::Less) | (false, _) => false, _ => true }} }}",
    ),
    Rewrite(
        "merge_interval",
        ".py",
        "def merge_interval(cur, start, count):\n    end = start + count\n    if end >= 1 << 64:\n        raise OverflowError('end')\n    touching = cur[0] < cur[1] and not (cur[1] < start or end < cur[0])\n    return (min(start, cur[0]), max(end, cur[1])) if touching else (start, end)\n",
    ),
    Rewrite(
        "canonical_assignment_at",
        ".py",
        "def canonical_assignment_at(n, min_width, kill_switch_clear):\n    wide = n >= min_width\n    return wide and kill_switch_clear\n",
    ),
)

FURTHER_SEQUENCES: tuple[Rewrite, ...] = (
    _entry(
        "common_prefix_len",
        f"{_PREFIX} {{ let mut n = 0; for (mine, theirs) in self.tokens.iter().zip(prompt.iter()) {{ if mine != theirs {{ return n; }} n += 1; }} n }}",
    ),
    _entry(
        "common_prefix_len",
        f"{_PREFIX} {{ self.tokens.iter().zip(prompt.iter()).position(|(mine, theirs)| mine != theirs).unwrap_or(self.tokens.len().min(prompt.len())) }}",
    ),
    _entry(
        "common_prefix_len",
        f"{_PREFIX} {{ let end = std::cmp::min(prompt.len(), self.tokens.len()); let mut at = 0usize; while at != end {{ if prompt[at] != self.tokens[at] {{ break; }} at = at + 1; }} at }}",
    ),
    _usable(
        "if session_hash == 0 || session_hash != self.session_hash { return None; } let last = self.last_pair_key?; let same = self.tokens.iter().zip(prompt).take_while(|(a, b)| a == b).count(); if same < 2 { return None; } let key = last.min(same - 2); let lost = last - key; if lost >= self.rows { None } else { Some((self.rows - lost, key)) }"
    ),
    _usable(
        "let last = match self.last_pair_key { Some(k) if session_hash != 0 && session_hash == self.session_hash => k, _ => return None }; let top = self.agree(prompt).checked_sub(2)?; let (rows, key) = if last > top { (self.rows.checked_sub(last - top)?, top) } else { (self.rows, last) }; if rows == 0 { return None; } Some((rows, key))",
        "fn agree(&self, prompt: &[u32]) -> usize { let n = self.tokens.len().min(prompt.len()); for i in 0..n { if self.tokens[i] != prompt[i] { return i; } } n }",
    ),
    _rust(
        "verify_batch_permutation",
        f"fn first(slots: &[usize]) -> Vec<usize> {{ let mut all: Vec<usize> = (0..slots.len()).collect(); all.sort_by_key(|&m| slots[m]); all }}\n{_ORDER} {{ assert_eq!(ks.len(), slots.len()); let mut out = first(slots); if !canonical {{ out.sort_by(|&a, &b| ks[b].cmp(&ks[a])); }} out }}",
    ),
    _rust(
        "verify_batch_order",
        f"{_BATCH} {{ assert_eq!(slots.len(), ks.len()); let mut order: Vec<usize> = (0..ks.len()).collect(); let mut depths: Vec<usize> = ks.to_vec(); if canonical {{ order.sort_by_key(|&m| slots[m]); depths.sort_by(|a, b| b.cmp(a)); }} else {{ order.sort_by_key(|&m| (std::cmp::Reverse(ks[m]), slots[m])); depths = order.iter().map(|&m| ks[m]).collect(); }} (order, depths) }}",
    ),
    _rust(
        "verify_graph_key",
        f"{_KEY} {{ let last = if wy_tables_null {{ 0xFFFF_FFFE }} else {{ 0xFFFF_FFFF }}; pairs.iter().flat_map(|&(slot, depth)| [slot, depth]).chain(std::iter::once(last)).collect() }}",
    ),
    _rust(
        "min_width_from_env",
        f"{_WIDTH} {{ raw.as_ref().and_then(|v| v.to_str()).map(str::trim).and_then(|t| t.parse().ok()).unwrap_or(8) }}",
    ),
    Rewrite(
        "verify_graph_key",
        ".py",
        "def verify_graph_key(pairs, wy_tables_null):\n    key = []\n    for slot, depth in pairs:\n        key.append(slot)\n        key.append(depth)\n    key.append(2**32 - 2 if wy_tables_null else 2**32 - 1)\n    return key\n",
    ),
    Rewrite(
        "verify_batch_permutation",
        ".py",
        "def verify_batch_permutation(slots, ks, canonical):\n    if len(ks) != len(slots):\n        raise ValueError('lengths')\n    members = list(range(len(slots)))\n    members.sort(key=lambda m: (0 if canonical else -ks[m], slots[m]))\n    return members\n",
    ),
)

ALL = (*SCALARS, *SEQUENCES, *PYTHON, *FURTHER_SCALARS, *FURTHER_SEQUENCES)
