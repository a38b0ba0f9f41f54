// A sweep over cases that are pure functions of their index: how many of them break a claim, the first that does, and
// how many the function accepted (so that a sweep which looked at nothing shows).
//
// A scope has GROUP consecutive cases which it generates together, and visits them in order: visit(group, visitor)
// calls visitor.note(member, broken, accepted) for each. Cases come in groups so that what they share is computed once.
#pragma once
#include "words.cuh"

struct Tally {
    u64 first = ~0ull, broken = 0, accepted = 0;
};

// Almost always nothing is broken: this visitor only asks whether anything is.
struct Glance {
    bool broken = false;
    u32 accepted = 0;
    HD void note(u32, bool bad, bool taken) {
        broken |= bad;
        accepted += taken;
    }
};

struct Count {
    u64 base, begin, end;
    Tally &tally;
    HD void note(u32 member, bool bad, bool taken) {
        const u64 index = base + member;
        if (index < begin || index >= end) return;
        tally.accepted += taken;
        if (!bad) return;
        ++tally.broken;
        tally.first = lesser(tally.first, index);
    }
};

template <class Scope>
HD void sweep_group(u64 group, u64 begin, u64 end, Tally &tally) {
    Glance glance;
    Scope::visit(group, glance);
    const u64 base = group * Scope::GROUP;
    if (glance.broken || base < begin || base + Scope::GROUP > end) {
        Count count = {base, begin, end, tally};
        Scope::visit(group, count);
    } else {
        tally.accepted += glance.accepted;
    }
}

#ifdef HOST

HD void deliver(const Tally &tally, u64 *result) {
    result[0] = lesser(result[0], tally.first);
    result[1] += tally.broken;
    result[2] += tally.accepted;
}

#else

// What follows runs on devices alone.
__device__ __forceinline__ void deliver(Tally tally, u64 *result) {
    for (u32 apart = 16; apart > 0; apart /= 2) {
        tally.first = lesser(tally.first, static_cast<u64>(__shfl_down_sync(0xffffffffu, tally.first, apart)));
        tally.broken += __shfl_down_sync(0xffffffffu, tally.broken, apart);
        tally.accepted += __shfl_down_sync(0xffffffffu, tally.accepted, apart);
    }
    if (threadIdx.x % 32 == 0) {
        if (tally.broken) {
            atomicMin(result, tally.first);
            atomicAdd(result + 1, tally.broken);
        }
        if (tally.accepted) atomicAdd(result + 2, tally.accepted);
    }
}

#endif

// result: first broken index (2^64 - 1 if none), number of broken cases, number of accepted cases, for indices
// [begin, end). The caller sets it to (2^64 - 1, 0, 0).
#define SWEEP(name, Scope)                                                              \
    KERNEL name(u64 begin, u64 end, u64 *result) {                                      \
        Tally tally;                                                                    \
        const u64 first = begin / Scope::GROUP;                                         \
        const u64 groups = begin < end ? (end - 1) / Scope::GROUP + 1 - first : 0;      \
        EACH(i, groups) sweep_group<Scope>(first + i, begin, end, tally);               \
        deliver(tally, result);                                                         \
    }
