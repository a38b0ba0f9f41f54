// The length of the common prefix of two token rows, read as fast as memory allows.
// The host walks along the rows. On a device a team of threads (a block, a warp or a part of a warp) steps along them,
// each thread with several 16-byte loads of either row in flight, until one of them sees a difference.
#pragma once
#include "words.cuh"

constexpr u64 NOWHERE = ~0ull;

#ifdef HOST

HD u64 common_prefix(const u32 *a, const u32 *b, u64 n) {
    u64 at = 0;
    while (at < n && a[at] == b[at]) ++at;
    return at;
}

#else

// What follows runs on devices alone.
struct BlockTeam {
    u64 *shared;  // one word of shared memory
    __device__ u32 rank() const { return threadIdx.x; }
    __device__ u32 size() const { return blockDim.x; }
    __device__ bool any(bool vote) const { return __syncthreads_or(vote); }
    __device__ u64 least(u64 value) const {
        if (threadIdx.x == 0) *shared = NOWHERE;
        __syncthreads();
        if (value != NOWHERE) atomicMin(shared, value);
        __syncthreads();
        const u64 result = *shared;
        __syncthreads();  // the word is free for the next row only when every thread has read it
        return result;
    }
};

template <u32 SIZE>  // a power of two up to 32
struct WarpTeam {
    __device__ u32 rank() const { return threadIdx.x % SIZE; }
    __device__ u32 size() const { return SIZE; }
    __device__ u32 members() const {
        return SIZE == 32 ? 0xffffffffu : ((1u << (SIZE % 32)) - 1) << (threadIdx.x % 32 / SIZE * SIZE);
    }
    __device__ bool any(bool vote) const { return __any_sync(members(), vote); }
    __device__ u64 least(u64 value) const {
        for (u32 apart = SIZE / 2; apart > 0; apart /= 2)
            value = lesser(value, static_cast<u64>(__shfl_xor_sync(members(), value, apart)));
        return value;
    }
};

__device__ __forceinline__ uint4 load_once(const uint4 *address) {
    return __ldcs(address);  // a row is read once: leave the caches to others
}

__device__ __forceinline__ u32 first_difference(uint4 a, uint4 b) {
    return a.x != b.x ? 0 : a.y != b.y ? 1 : a.z != b.z ? 2 : a.w != b.w ? 3 : 4;
}

// The first difference in [begin, n), or n. The answer is the same in every thread of the team.
template <int IN_FLIGHT, class Team>
__device__ __forceinline__ u64 team_prefix(Team team, const u32 *a, const u32 *b, u64 begin, u64 n) {
    u64 found = NOWHERE, at = begin;
    const u64 rank = team.rank(), step = team.size();
    const u64 skew = reinterpret_cast<u64>(a + begin) % 16;
    if (skew == reinterpret_cast<u64>(b + begin) % 16) {
        const u64 head = lesser(n - begin, (16 - skew) % 16 / 4);  // tokens before both rows are aligned
        for (u64 i = rank; i < head; i += step)
            if (a[begin + i] != b[begin + i]) found = lesser(found, begin + i);
        at = begin + head;
        const uint4 *wide_a = reinterpret_cast<const uint4 *>(a + at), *wide_b = reinterpret_cast<const uint4 *>(b + at);
        const u64 vectors = (n - at) / 4;
        for (u64 base = 0; base < vectors; base += step * IN_FLIGHT) {
            uint4 from_a[IN_FLIGHT], from_b[IN_FLIGHT];
#pragma unroll
            for (int j = 0; j < IN_FLIGHT; ++j) {
                const u64 i = base + j * step + rank;
                from_a[j] = from_b[j] = make_uint4(0, 0, 0, 0);
                if (i < vectors) {
                    from_a[j] = load_once(wide_a + i);
                    from_b[j] = load_once(wide_b + i);
                }
            }
#pragma unroll
            for (int j = 0; j < IN_FLIGHT; ++j) {
                const u32 difference = first_difference(from_a[j], from_b[j]);
                if (difference < 4) found = lesser(found, at + (base + j * step + rank) * 4 + difference);
            }
            if (team.any(found != NOWHERE)) return team.least(found);
        }
        at += vectors * 4;
    }
    for (; at < n; at += step * 4) {  // the last tokens, or rows that are never aligned together
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const u64 i = at + j * step + rank;
            if (i < n && a[i] != b[i]) found = lesser(found, i);
        }
        if (team.any(found != NOWHERE)) return team.least(found);
    }
    if (team.any(found != NOWHERE)) return team.least(found);
    return n;
}

#endif
