// plan_append over every last key, prompt length and readable interval.
//
// append: four numbers of BITS bits each. Oracle: a plan is a run of keys that ends with key P-2; each must be above
// the last key and have its hidden row readable. So there is a plan iff key P-2 is such a key, and it begins either just
// above the last key or at the first readable row.
// append_sets: four numbers of 6 bits. Oracle: the same keys as a set; the plan is its run that ends with P-2.
// append_edges: four numbers of 5 bits, 0..15 as they are and 16..31 counted from the top of 64 bits.
// Index, lowest bits first: hi, lo, prompt_len, last_pair_key.
#include "carry.cuh"
#include "sets.cuh"
#include "sweep.cuh"

#ifndef BITS
#define BITS 5
#endif

// Whether a plan, or its absence, is as it must be, where P-2 and its neighbours cannot wrap.
template <class T>
HD bool appended_well(Status status, T first, T rows, T last, T prompt_len, T lo, T hi) {
    const T final = prompt_len - 2;
    const bool possible = (prompt_len >= 2) & (last < final) & (lo <= final) & (final < hi);
    const bool planned = (rows >= 1) & (first + (rows - 1) == final) & (last < first) & (lo <= first) &
                         ((first - 1 == last) | (first == lo));
    return status == Status::Ok ? possible & planned : (status == Status::None) & !possible;
}

struct Append {
    static constexpr u32 GROUP = 32;

    template <class Visitor>
    static HD void visit(u64 group, Visitor &visitor) {
        const u32 high = static_cast<u32>(group << 5) & below32(BITS), lo = group >> (BITS - 5) & below32(BITS);
        const u32 prompt_len = group >> (2 * BITS - 5) & below32(BITS), last = group >> (3 * BITS - 5) & below32(BITS);
#pragma unroll
        for (u32 low = 0; low < GROUP; ++low) {
            u32 first = 0, rows = 0;
            const Status status = append<u32>(last, prompt_len, lo, high | low, first, rows);
            visitor.note(low, !appended_well(status, first, rows, last, prompt_len, lo, high | low),
                         status == Status::Ok);
        }
    }
};

struct AppendSets {
    static constexpr u32 GROUP = 32;

    template <class Visitor>
    static HD void visit(u64 group, Visitor &visitor) {
        const u32 high = group << 5 & 63, lo = group >> 1 & 63, prompt_len = group >> 7 & 63, last = group >> 13 & 63;
        const u64 keys = prompt_len < 2 ? 0 : below64(prompt_len - 1), fresh = ~below64(last + 1);
#pragma unroll
        for (u32 low = 0; low < GROUP; ++low) {
            const u32 hi = high | low;
            u64 first = 0, rows = 0;
            const Status status = append<u64>(last, prompt_len, lo, hi, first, rows);

            const u64 wanted = keys & fresh & interval64(lo, hi);
            // The plan is a run of what is wanted: it holds the top key, and the neighbour below it is not wanted.
            const u64 plan = interval64(first, first + rows), top = keys & ~(keys >> 1);
            const u64 neighbour = (plan & ~(plan << 1)) >> 1;
            const bool planned = ((plan & ~wanted) == 0) & ((plan & top) != 0) & ((wanted & neighbour) == 0);
            const bool good = status == Status::Ok ? planned : (status == Status::None) & ((wanted & top) == 0);
            visitor.note(low, !good, status == Status::Ok);
        }
    }
};

struct AppendEdges {
    static constexpr u32 GROUP = 32;

    static HD u64 value(u32 code) {
        return code < 16 ? code : ~0ull - (31 - code);
    }

    template <class Visitor>
    static HD void visit(u64 group, Visitor &visitor) {
        const u64 lo = value(group & 31), prompt_len = value(group >> 5 & 31), last = value(group >> 10 & 31);
        for (u32 code = 0; code < GROUP; ++code) {
            const u64 hi = value(code);
            u64 first = 0, rows = 0;
            const Status status = append<u64>(last, prompt_len, lo, hi, first, rows);
            const bool good = last == ~0ull && prompt_len >= 2
                                  ? status == Status::Overflow
                                  : appended_well<u64>(status, first, rows, last, prompt_len, lo, hi);
            visitor.note(code, !good, status == Status::Ok);
        }
    }
};

SWEEP(append, Append)
SWEEP(append_sets, AppendSets)
SWEEP(append_edges, AppendEdges)
