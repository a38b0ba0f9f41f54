// stamped_merge, then visible_to for every reader.
//
// A case: a claim (owner 0..3, lo, hi of BITS bits) and a write (writer 0..3, start, count of BITS bits).
// Index, lowest bits first: owner 2, writer 2, count, start, hi, lo.
//
// Oracle. Every row carries the generation that wrote it last; at first those of the claim carry its owner and no other
// row carries any. A reader may see only rows that carry its own generation, and 0 sees none. It must see: if it wrote,
// its write, and with it its own claim where the two overlap or touch.
#include "carry.cuh"
#include "sets.cuh"
#include "sweep.cuh"

#ifndef BITS
#define BITS 3
#endif

template <class T>
struct Merge {
    static constexpr u32 GROUP = 16;

    template <class Visitor>
    static HD void visit(u64 group, Visitor &visitor) {
        const u32 count = group & below32(BITS), start = group >> BITS & below32(BITS);
        const u32 hi = group >> 2 * BITS & below32(BITS), lo = group >> 3 * BITS & below32(BITS);
        const Set128 claimed = interval128(lo, hi), written = interval128(start, start + count);
        const Set128 reached = interval128(start == 0 ? 0 : start - 1, start + count + 1);  // written, or next to it
        const bool touching = !empty(claimed & reached);
#pragma unroll
        for (u32 member = 0; member < GROUP; ++member) {
            const u32 owner = member & 3, writer = member >> 2;
            Claim<T> stamped = {0, 0, 0};
            const Status status = stamp<T>(Claim<T>{owner, lo, hi}, writer, start, count, stamped);

            const Set128 expected = owner == writer && touching ? claimed | written : written;
            bool good = status == Status::Ok;
            bool seen_by_any = false;
#pragma unroll
            for (u32 reader = 0; reader < 4; ++reader) {
                const Rows<T> rows = visible<T>(stamped, reader);
                const Set128 seen = interval128(rows.lo, rows.hi);
                Set128 carried = reader == owner && reader != 0 ? claimed : Set128{0, 0};
                carried = reader == writer && reader != 0 ? carried | written : without(carried, written);
                good &= empty(without(seen, carried));
                good &= equal(seen, reader == writer && reader != 0 ? expected : Set128{0, 0});
                seen_by_any |= !empty(seen);
            }
            visitor.note(member, !good, seen_by_any);
        }
    }
};

// The same rule at the top of 64 bits: codes of 4 bits, 0..7 as they are and 8..15 counted from the top. The write ends
// at 2^64 or later exactly where no 64-bit number is its end, and then nothing may be claimed.
struct MergeEdges {
    static constexpr u32 GROUP = 16;

    static HD u64 value(u32 code) {
        return code < 8 ? code : ~0ull - (15 - code);
    }

    template <class Visitor>
    static HD void visit(u64 group, Visitor &visitor) {
        const u64 start = value(group & 15), hi = value(group >> 4 & 15), lo = value(group >> 8 & 15);
        const bool own = group >> 12 & 1;
        for (u32 code = 0; code < GROUP; ++code) {
            const u64 count = value(code);
            Claim<u64> stamped = {0, 0, 0};
            const Status status = stamp<u64>(Claim<u64>{own ? 1ull : 2ull, lo, hi}, 1, start, count, stamped);
            const bool ends = count <= ~0ull - start;
            bool good = (status == Status::Ok) == ends && (ends || status == Status::Overflow);
            if (ends) {
                // Row by row, on the rows that could matter: those next to any of the four edges.
                good = good && stamped.owner == 1;
                const u64 edges[4] = {lo, hi, start, start + count};
                const bool touching = own && lo < hi && start <= hi && lo <= start + count;
                for (u32 e = 0; e < 4; ++e) {
                    for (u64 row = edges[e] < 2 ? 0 : edges[e] - 2, last = edges[e]; row <= last; ++row) {
                        const bool written = start <= row && row < start + count;
                        const bool claimed = touching && lo <= row && row < hi;
                        good = good && (stamped.lo <= row && row < stamped.hi) == (written || claimed);
                        if (row == ~0ull) break;
                    }
                }
            }
            visitor.note(code, !good, status == Status::Ok);
        }
    }
};

SWEEP(merge, Merge<u32>)
SWEEP(merge_wide, Merge<u64>)
SWEEP(merge_edges, MergeEdges)
