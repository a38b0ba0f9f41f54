// What the device can do at most, measured beside everything else: copy, read, integer operations.
#include "words.cuh"

KERNEL copy(u64 vectors, const uint4 *from, uint4 *to) {
    for (u64 i = THREAD; i < vectors; i += 4 * THREADS) {
        uint4 held[4];
#pragma unroll
        for (int j = 0; j < 4; ++j)
            if (i + j * THREADS < vectors) held[j] = __ldcs(from + i + j * THREADS);
#pragma unroll
        for (int j = 0; j < 4; ++j)
            if (i + j * THREADS < vectors) __stcs(to + i + j * THREADS, held[j]);
    }
}

KERNEL read(u64 vectors, const uint4 *from, u32 *result) {
    u32 mixed = 0;
    for (u64 i = THREAD; i < vectors; i += 4 * THREADS) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            if (i + j * THREADS < vectors) {
                const uint4 held = __ldcs(from + i + j * THREADS);
                mixed ^= held.x ^ held.y ^ held.z ^ held.w;
            }
        }
    }
    if (mixed == 0x12345678u) *result = mixed;  // never on the data used, but the reads cannot be left out
}

// Eight independent chains; each round is 16 operations of the integer unit: a shift-free xor and a maximum per chain.
KERNEL integers(u64 rounds, u32 *result) {
    u32 x[8];
    const u32 key = static_cast<u32>(THREAD) | 1, floor = static_cast<u32>(rounds);
#pragma unroll
    for (int c = 0; c < 8; ++c) x[c] = key * (c + 1);
#pragma unroll 16
    for (u64 round = 0; round < rounds; ++round) {
#pragma unroll
        for (int c = 0; c < 8; ++c) x[c] = greater(x[c] ^ key, floor + c);
    }
    u32 mixed = 0;
#pragma unroll
    for (int c = 0; c < 8; ++c) mixed ^= x[c];
    if (mixed == 0x12345678u) *result = mixed;
}
