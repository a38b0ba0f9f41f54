//! Expressions: combinators, matches, iterator chains.
use std::cmp::{max, min, Ordering, Reverse};
use std::ffi::OsString;

type Generation = u64;

pub struct DevicePtr(pub u64);

impl DevicePtr {
    pub fn offset(self, bytes: usize) -> Self {
        Self(self.0 + bytes as u64)
    }
}

pub struct DrafterContext {
    pub prefill: bool,
    pub carry: bool,
}

pub struct CarriedDrafter {
    pub block_table: Vec<u32>,
    pub rows: usize,
    pub last_pair_key: Option<usize>,
    pub tokens: Vec<u32>,
    pub session_hash: u64,
}

impl CarriedDrafter {
    pub fn common_prefix_len(&self, prompt: &[u32]) -> usize {
        let pairs = self.tokens.iter().zip(prompt);
        let shorter = min(self.tokens.len(), prompt.len());
        pairs.into_iter().position(|(ours, theirs)| ours != theirs).unwrap_or(shorter)
    }

    pub fn session_matches(&self, session_hash: u64) -> bool {
        matches!((self.session_hash, session_hash), (a, b) if a == b && b > 0)
    }

    pub fn usable_by(&self, prompt: &[u32], session_hash: u64) -> Option<(usize, usize)> {
        self.last_pair_key
            .filter(|_| self.session_matches(session_hash))
            .zip(self.common_prefix_len(prompt).checked_sub(2))
            .and_then(|(newest, highest)| {
                let key = newest.min(highest);
                self.rows.checked_sub(newest.saturating_sub(highest)).map(|rows| (rows, key))
            })
            .filter(|&(rows, _)| rows > 0)
    }
}

pub struct AppendPlan {
    pub first_key: usize,
    pub rows: usize,
}

pub fn plan_append(last_pair_key: usize, prompt_len: usize, hidden_lo: usize, hidden_hi: usize) -> Option<AppendPlan> {
    let end = prompt_len.checked_sub(1).filter(|&end| end > 0)?;
    let first_key = max(last_pair_key + 1, hidden_lo);
    (first_key < end && end <= hidden_hi).then(|| AppendPlan { first_key, rows: end - first_key })
}

pub fn hidden_row_offset(base: DevicePtr, pos: usize, hidden_size: usize) -> DevicePtr {
    base.offset(pos * hidden_size + pos * hidden_size)
}

#[derive(Clone, Copy)]
pub struct StoreRange {
    pub owner: Generation,
    pub lo: usize,
    pub hi: usize,
}

impl StoreRange {
    pub fn visible_to(self, reader_gen: Generation) -> (usize, usize) {
        match reader_gen {
            0 => (0, 0),
            own if own == self.owner => (self.lo, self.hi),
            _ => (0, 0),
        }
    }
}

pub fn merge_interval(cur: (usize, usize), start: usize, count: usize) -> (usize, usize) {
    match (cur, (start, start + count)) {
        ((lo, hi), (from, to)) if lo < hi && from <= hi && lo <= to => (min(lo, from), max(hi, to)),
        (_, written) => written,
    }
}

pub fn stamped_merge(cur: StoreRange, writer_gen: Generation, start: usize, count: usize) -> StoreRange {
    let own = cur.owner == writer_gen && writer_gen != 0;
    let (lo, hi) = merge_interval(if own { (cur.lo, cur.hi) } else { (0, 0) }, start, count);
    StoreRange { owner: writer_gen, lo, hi }
}

pub fn carry_armed_with(cfg: DrafterContext, multi_seq: bool) -> bool {
    !(multi_seq || !cfg.carry)
}

pub fn verify_batch_permutation(slots: &[usize], ks: &[usize], canonical: bool) -> Vec<usize> {
    assert!(slots.len() == ks.len(), "{} slots and {} depths", slots.len(), ks.len());
    let mut keyed: Vec<(Reverse<usize>, usize, usize)> = slots
        .iter()
        .zip(ks.iter())
        .enumerate()
        .map(|(i, (&slot, &k))| (Reverse(if canonical { 0 } else { k }), slot, i))
        .collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, _, i)| i).collect()
}

pub fn verify_batch_order(slots: &[usize], ks: &[usize], canonical: bool) -> (Vec<usize>, Vec<usize>) {
    let order = verify_batch_permutation(slots, ks, canonical);
    let mut depths: Vec<usize> = order.iter().map(|&i| ks[i]).collect();
    if canonical {
        depths.sort_unstable_by_key(|&k| Reverse(k));
    }
    (order, depths)
}

pub fn verify_graph_key(pairs: &[(u32, u32)], wy_tables_null: bool) -> Vec<u32> {
    let last = if wy_tables_null { 0xffff_fffe } else { 0xffff_ffff };
    pairs.iter().flat_map(|&(slot, k)| [slot, k]).chain([last]).collect()
}

pub fn canonical_assignment_at(n: usize, min_width: usize, kill_switch_clear: bool) -> bool {
    match n.cmp(&min_width) {
        Ordering::Less => false,
        Ordering::Equal | Ordering::Greater => kill_switch_clear,
    }
}

pub fn min_width_from_env(raw: Option<OsString>) -> usize {
    let text = raw.as_ref().and_then(|value| value.to_str());
    text.map_or(8, |text| text.trim().parse::<usize>().unwrap_or(8))
}
