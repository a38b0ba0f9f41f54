//! Early returns and plain conditions.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DevicePtr(pub u64);

impl DevicePtr {
    pub fn offset(self, bytes: usize) -> DevicePtr {
        DevicePtr(self.0 + bytes as u64)
    }
}

#[derive(Clone, Copy)]
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
        let shorter = if self.tokens.len() < prompt.len() { self.tokens.len() } else { prompt.len() };
        let mut agreed = 0;
        while agreed < shorter {
            if self.tokens[agreed] != prompt[agreed] {
                return agreed;
            }
            agreed += 1;
        }
        shorter
    }

    pub fn session_matches(&self, session_hash: u64) -> bool {
        if session_hash == 0 {
            return false;
        }
        self.session_hash == session_hash
    }

    pub fn usable_by(&self, prompt: &[u32], session_hash: u64) -> Option<(usize, usize)> {
        if !self.session_matches(session_hash) {
            return None;
        }
        let newest = match self.last_pair_key {
            None => return None,
            Some(key) => key,
        };
        let shared = self.common_prefix_len(prompt);
        if shared < 2 {
            return None;
        }
        let highest = shared - 2;
        if newest <= highest {
            if self.rows == 0 {
                return None;
            }
            return Some((self.rows, newest));
        }
        let lost = newest - highest;
        if self.rows <= lost {
            return None;
        }
        Some((self.rows - lost, highest))
    }
}

#[derive(Debug, PartialEq, Eq)]
pub struct AppendPlan {
    pub first_key: usize,
    pub rows: usize,
}

pub fn plan_append(last_pair_key: usize, prompt_len: usize, hidden_lo: usize, hidden_hi: usize) -> Option<AppendPlan> {
    if prompt_len < 2 {
        return None;
    }
    let next = last_pair_key + 1;
    let end = prompt_len - 1;
    let first_key = if next > hidden_lo { next } else { hidden_lo };
    if first_key >= end {
        return None;
    }
    if hidden_hi < end {
        return None;
    }
    return Some(AppendPlan { rows: end - first_key, first_key });
}

pub fn hidden_row_offset(base: DevicePtr, pos: usize, hidden_size: usize) -> DevicePtr {
    let row_bytes = hidden_size * pos;
    base.offset(row_bytes * 2)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreRange {
    pub owner: u64,
    pub lo: usize,
    pub hi: usize,
}

impl StoreRange {
    pub fn visible_to(self, reader_gen: u64) -> (usize, usize) {
        if self.owner != reader_gen {
            return (0, 0);
        }
        if reader_gen == 0 {
            return (0, 0);
        }
        (self.lo, self.hi)
    }
}

pub fn merge_interval(cur: (usize, usize), start: usize, count: usize) -> (usize, usize) {
    let end = start + count;
    if cur.0 >= cur.1 {
        return (start, end);
    }
    if start > cur.1 {
        return (start, end);
    }
    if end < cur.0 {
        return (start, end);
    }
    let mut lo = cur.0;
    if start < lo {
        lo = start;
    }
    let mut hi = cur.1;
    if end > hi {
        hi = end;
    }
    (lo, hi)
}

pub fn stamped_merge(cur: StoreRange, writer_gen: u64, start: usize, count: usize) -> StoreRange {
    let mut stamped = StoreRange { owner: writer_gen, lo: start, hi: start + count };
    if writer_gen != 0 && writer_gen == cur.owner {
        let merged = merge_interval((cur.lo, cur.hi), start, count);
        stamped.lo = merged.0;
        stamped.hi = merged.1;
    }
    stamped
}

pub fn carry_armed_with(cfg: DrafterContext, multi_seq: bool) -> bool {
    if multi_seq {
        return false;
    }
    cfg.carry
}

pub fn verify_batch_permutation(slots: &[usize], ks: &[usize], canonical: bool) -> Vec<usize> {
    if slots.len() != ks.len() {
        panic!("one depth for each slot, please");
    }
    let mut members: Vec<usize> = Vec::new();
    for i in 0..slots.len() {
        members.push(i);
    }
    if canonical {
        members.sort_by(|&a, &b| slots[a].cmp(&slots[b]));
    } else {
        members.sort_by(|&a, &b| ks[b].cmp(&ks[a]).then(slots[a].cmp(&slots[b])));
    }
    members
}

pub fn verify_batch_order(slots: &[usize], ks: &[usize], canonical: bool) -> (Vec<usize>, Vec<usize>) {
    let order = verify_batch_permutation(slots, ks, canonical);
    let mut depths: Vec<usize> = Vec::with_capacity(order.len());
    if !canonical {
        for &member in order.iter() {
            depths.push(ks[member]);
        }
        return (order, depths);
    }
    depths.extend_from_slice(ks);
    depths.sort();
    depths.reverse();
    (order, depths)
}

pub fn verify_graph_key(pairs: &[(u32, u32)], wy_tables_null: bool) -> Vec<u32> {
    let mut words = Vec::new();
    let mut position = 0;
    while position < pairs.len() {
        words.push(pairs[position].0);
        words.push(pairs[position].1);
        position += 1;
    }
    if wy_tables_null {
        words.push(u32::MAX - 1);
    } else {
        words.push(u32::MAX);
    }
    words
}

pub fn canonical_assignment_at(n: usize, min_width: usize, kill_switch_clear: bool) -> bool {
    if !kill_switch_clear {
        return false;
    }
    if n < min_width {
        return false;
    }
    true
}

const NARROWEST: usize = 8;

pub fn min_width_from_env(raw: Option<std::ffi::OsString>) -> usize {
    let value = match raw {
        Some(value) => value,
        None => return NARROWEST,
    };
    let text = match value.into_string() {
        Ok(text) => text,
        Err(_) => return NARROWEST,
    };
    match text.trim().parse::<usize>() {
        Ok(width) => width,
        Err(_) => NARROWEST,
    }
}
