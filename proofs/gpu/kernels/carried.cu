// usable_by over every key set, last key, common prefix and pair of sessions.
//
// A case: keys (a subset of 0 .. KEYS-1, one row each), over (0..6: the last key overstates the greatest key by so much;
// 7: no last key), sessions of entry and request (0..3 each), common (0..31). Of an empty set the last key is `over`.
// Index, lowest bits first: common 5, over 3, entry 2, request 2, keys KEYS.
//
// Oracle. Rows go in order of keys, so the rows kept are those of the smallest keys. The keys that agree are those k
// with k + 1 < common. For each absent key above them, up to the last key, one row that agrees is lost, and no more.
#include "carry.cuh"
#include "sets.cuh"
#include "sweep.cuh"

#ifndef KEYS
#define KEYS 8
#endif

template <class T>
struct Carried {
    static constexpr u32 GROUP = 32;

    template <class Visitor>
    static HD void visit(u64 group, Visitor &visitor) {
        const u32 over = group & 7, entry = group >> 3 & 3, request = group >> 5 & 3;
        const u32 keys = static_cast<u32>(group >> 7) & below32(KEYS);
        const bool known = over != 7;
        const u32 last = keys == 0 ? over : greatest(keys) + over;
        const u32 upto_last = below32(last + 1);
        const bool own = session_own<T>(entry, request);
        const bool should_own = (1u << entry & 1u << request & ~1u) != 0;
#pragma unroll
        for (u32 common = 0; common < GROUP; ++common) {
            T kept = 0, key = 0;
            const Status status = usable<T>(own, known, size_of(keys), last, common, kept, key);

            const u32 agreeing = common == 0 ? 0 : below32(common - 1);
            const u32 rows_agreeing = size_of(keys & agreeing), lost = size_of(upto_last & ~agreeing & ~keys);
            const bool should = should_own & known & (rows_agreeing > lost);
            // The key never understates what is kept, and claims nothing that disagrees or was not there.
            const bool kept_well = (kept == rows_agreeing - lost) & (kept <= rows_agreeing) &
                                   (size_of(keys & below32(static_cast<u32>(key) + 1)) >= kept) &
                                   ((agreeing >> (key & 31) & 1) != 0) & (key <= last);
            const bool good = status == Status::Ok ? should & kept_well : (status == Status::None) & !should;
            visitor.note(common, !good, status == Status::Ok);
        }
    }
};

SWEEP(carried, Carried<u32>)
SWEEP(carried_wide, Carried<u64>)
