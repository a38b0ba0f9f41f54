// Small sets of numbers as bit masks: the language of the oracles, which never compute with the rules under test.
#pragma once
#include "words.cuh"

HD u32 size_of(u32 set) {
#ifdef HOST
    return __builtin_popcount(set);
#else
    return __popc(set);
#endif
}

HD u32 size_of(u64 set) {
    return size_of(static_cast<u32>(set)) + size_of(static_cast<u32>(set >> 32));
}

// The largest member of a set that is not empty.
HD u32 greatest(u32 set) {
#ifdef HOST
    return 31 - __builtin_clz(set);
#else
    return 31 - __clz(set);
#endif
}

// {0, ..., n - 1}, for n up to 32 or 64.
HD u32 below32(u32 n) {
    return n < 32 ? (1u << n) - 1 : ~0u;
}

HD u64 below64(u32 n) {
    return n < 64 ? (1ull << n) - 1 : ~0ull;
}

// A set of numbers below 128.
struct Set128 {
    u64 low, high;
};

HD Set128 below128(u32 n) {
    return {below64(n), n < 64 ? 0 : below64(n - 64)};
}

HD Set128 operator&(Set128 a, Set128 b) {
    return {a.low & b.low, a.high & b.high};
}

HD Set128 operator|(Set128 a, Set128 b) {
    return {a.low | b.low, a.high | b.high};
}

HD Set128 without(Set128 a, Set128 b) {
    return {a.low & ~b.low, a.high & ~b.high};
}

HD bool equal(Set128 a, Set128 b) {
    return a.low == b.low && a.high == b.high;
}

HD bool empty(Set128 a) {
    return (a.low | a.high) == 0;
}

// {lo, ..., hi - 1}
HD Set128 interval128(u32 lo, u32 hi) {
    return without(below128(hi), below128(lo));
}

HD u64 interval64(u32 lo, u32 hi) {
    return below64(hi) & ~below64(lo);
}
