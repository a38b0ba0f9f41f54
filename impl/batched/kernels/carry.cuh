// The rules of the hidden store, of the carried rows and of the append, one case at a time.
// T is an unsigned type of 32 or 64 bits: batches use 64, small worlds 32. Results count
// where the status is Ok; they are computed without branches, since a warp takes both ways of most.
#pragma once
#include "words.cuh"

template <class T>
struct Rows {  // [lo, hi)
    T lo, hi;
};

template <class T>
struct Claim {  // generation owner wrote [lo, hi)
    T owner, lo, hi;
};

template <class T>
HD bool same_generation(T owner, T reader) {
    return (reader != 0) & (owner == reader);
}

template <class T>
HD Rows<T> visible(Claim<T> claim, T reader) {
    if (same_generation(claim.owner, reader)) return {claim.lo, claim.hi};
    return {0, 0};
}

template <class T>
HD Status merge(Rows<T> claimed, T start, T count, Rows<T> &merged) {
    const T end = start + count;
    const bool touching = (claimed.lo < claimed.hi) & (start <= claimed.hi) & (claimed.lo <= end);
    merged.lo = touching ? lesser(claimed.lo, start) : start;
    merged.hi = touching ? greater(claimed.hi, end) : end;
    return end < start ? Status::Overflow : Status::Ok;
}

template <class T>
HD Status stamp(Claim<T> claim, T writer, T start, T count, Claim<T> &stamped) {
    // To any other writer the claim is as good as empty, and an empty claim is replaced.
    const bool own = (claim.owner != 0) & (claim.owner == writer);
    const Rows<T> claimed = own ? Rows<T>{claim.lo, claim.hi} : Rows<T>{0, 0};
    Rows<T> merged;
    const Status status = merge(claimed, start, count, merged);
    stamped = {writer, merged.lo, merged.hi};
    return status;
}

HD Status row_offset(u64 base, u64 pos, u64 hidden_size, u64 &offset) {
    const u64 elements = pos * hidden_size, bytes = elements * 2;
    offset = base + bytes;
    const bool fits = (product_high(pos, hidden_size) == 0) & (bytes >= elements) & (offset >= base);
    return fits ? Status::Ok : Status::Overflow;
}

template <class T>
HD bool session_own(T entry, T session) {
    return (session != 0) & (entry == session);
}

template <class T>
HD Status usable(bool own, bool key_known, T rows, T last_key, T common, T &kept, T &kept_key) {
    const T top = lesser<T>(last_key, common - 2);
    const T dropped = last_key - top;
    kept = rows - dropped;
    kept_key = top;
    return own & key_known & (common >= 2) & (rows > dropped) ? Status::Ok : Status::None;
}

template <class T>
HD Status append(T last_key, T prompt_len, T lo, T hi, T &first, T &rows) {
    const T end = prompt_len - 1;
    first = greater<T>(last_key + 1, lo);
    rows = end - first;
    const bool has_key = prompt_len >= 2;
    if (has_key & (last_key == largest<T>())) return Status::Overflow;
    return has_key & (first < end) & (end <= hi) ? Status::Ok : Status::None;
}

HD bool armed(bool carry, bool multi_seq) {
    return carry && !multi_seq;
}
