//! Hand-written loops, helper functions, a trait, shadowing, labels.

const WIDEST: u32 = u32::MAX;
const DEFAULT_WIDTH: usize = 2 * 4;

#[derive(Clone, Copy)]
pub struct DevicePtr(pub u64);

impl DevicePtr {
    pub fn offset(self, bytes: usize) -> DevicePtr {
        let address = self.0;
        DevicePtr(address + bytes as u64)
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

trait OfSession {
    fn known(&self) -> bool;
    fn session_matches(&self, session_hash: u64) -> bool;
}

impl OfSession for CarriedDrafter {
    fn known(&self) -> bool {
        self.session_hash != 0
    }

    fn session_matches(&self, session_hash: u64) -> bool {
        self.known() && self.session_hash == session_hash
    }
}

impl CarriedDrafter {
    pub fn common_prefix_len(&self, prompt: &[u32]) -> usize {
        let mut length = 0usize;
        for (ours, theirs) in self.tokens.iter().zip(prompt.iter()) {
            if *ours == *theirs {
                length += 1;
            } else {
                break;
            }
        }
        length
    }

    fn kept(&self, newest: usize, highest: usize) -> (usize, usize) {
        if newest > highest {
            let lost = newest - highest;
            let rows = if lost < self.rows { self.rows - lost } else { 0 };
            (rows, highest)
        } else {
            (self.rows, newest)
        }
    }

    pub fn usable_by(&self, prompt: &[u32], session_hash: u64) -> Option<(usize, usize)> {
        let Some(newest) = self.last_pair_key else {
            return None;
        };
        let common = self.common_prefix_len(prompt);
        let mine = self.session_matches(session_hash);
        if let (true, Some(highest)) = (mine, common.checked_sub(2)) {
            let (rows, key) = self.kept(newest, highest);
            if rows != 0 {
                return Some((rows, key));
            }
        }
        None
    }
}

pub struct AppendPlan {
    pub first_key: usize,
    pub rows: usize,
}

fn later(a: usize, b: usize) -> usize {
    if a < b { b } else { a }
}

pub fn plan_append(last_pair_key: usize, prompt_len: usize, hidden_lo: usize, hidden_hi: usize) -> Option<AppendPlan> {
    let keys = match prompt_len {
        0 | 1 => return None,
        tokens => tokens - 1,
    };
    let first = later(last_pair_key + 1, hidden_lo);
    let reachable = first < keys;
    let stored = hidden_lo <= first && keys <= hidden_hi;
    if reachable && stored {
        Some(AppendPlan { first_key: first, rows: keys - first })
    } else {
        None
    }
}

pub fn hidden_row_offset(base: DevicePtr, pos: usize, hidden_size: usize) -> DevicePtr {
    const BYTES: usize = 2;
    let elements = pos * hidden_size;
    let bytes = elements * BYTES;
    base.offset(bytes)
}

pub struct StoreRange {
    pub owner: u64,
    pub lo: usize,
    pub hi: usize,
}

impl StoreRange {
    fn belongs_to(&self, generation: u64) -> bool {
        generation != 0 && generation == self.owner
    }

    pub fn visible_to(self, reader_gen: u64) -> (usize, usize) {
        let mut seen = (0, 0);
        if self.belongs_to(reader_gen) {
            seen = (self.lo, self.hi);
        }
        seen
    }
}

pub fn merge_interval(cur: (usize, usize), start: usize, count: usize) -> (usize, usize) {
    fn apart(a: (usize, usize), b: (usize, usize)) -> bool {
        a.1 < b.0 || b.1 < a.0
    }
    let write = (start, start + count);
    let (lo, hi) = cur;
    let empty = hi <= lo;
    if empty || apart(cur, write) { write } else { (lo.min(write.0), later(hi, write.1)) }
}

pub fn stamped_merge(cur: StoreRange, writer_gen: u64, start: usize, count: usize) -> StoreRange {
    let before = if cur.belongs_to(writer_gen) { Some((cur.lo, cur.hi)) } else { None };
    let (lo, hi) = match before {
        Some(claim) => merge_interval(claim, start, count),
        None => {
            let end = start + count;
            (start, end)
        }
    };
    StoreRange { owner: writer_gen, lo, hi }
}

pub fn carry_armed_with(cfg: DrafterContext, multi_seq: bool) -> bool {
    let single = !multi_seq;
    cfg.carry & single
}

pub fn verify_batch_permutation(slots: &[usize], ks: &[usize], canonical: bool) -> Vec<usize> {
    assert_eq!(ks.len(), slots.len());
    let mut order: Vec<usize> = (0..ks.len()).collect();
    order.sort_by(|a, b| {
        let by_slot = slots[*a].cmp(&slots[*b]).then_with(|| a.cmp(b));
        if canonical { by_slot } else { ks[*a].cmp(&ks[*b]).reverse().then(by_slot) }
    });
    order
}

pub fn verify_batch_order(slots: &[usize], ks: &[usize], canonical: bool) -> (Vec<usize>, Vec<usize>) {
    let order = verify_batch_permutation(slots, ks, canonical);
    let mut depths = ks.to_vec();
    if canonical {
        depths.sort_by(|x, y| y.cmp(x));
    } else {
        depths = order.iter().map(|&member| ks[member]).collect();
    }
    (order, depths)
}

fn push_pair(key: &mut Vec<u32>, pair: (u32, u32)) {
    key.push(pair.0);
    key.push(pair.1);
}

pub fn verify_graph_key(pairs: &[(u32, u32)], wy_tables_null: bool) -> Vec<u32> {
    let mut key = Vec::new();
    for pair in pairs {
        push_pair(&mut key, *pair);
    }
    let tables = match wy_tables_null {
        true => WIDEST - 1,
        false => WIDEST,
    };
    key.push(tables);
    key
}

pub fn canonical_assignment_at(n: usize, min_width: usize, kill_switch_clear: bool) -> bool {
    let too_narrow = min_width > n;
    let killed = !kill_switch_clear;
    !(too_narrow || killed)
}

pub fn min_width_from_env(raw: Option<std::ffi::OsString>) -> usize {
    if let Some(value) = raw {
        if let Ok(text) = value.into_string() {
            if let Ok(width) = text.trim().parse::<usize>() {
                return width;
            }
        }
    }
    DEFAULT_WIDTH
}
