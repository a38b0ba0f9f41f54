// The length of the common prefix of two token rows, read as fast as memory allows.
// A team (a block, a warp or a part of a warp; on the host one thread that plays all of its members) steps along the
// rows, each member with several 16-byte loads of either row in flight, until one of them sees a difference.
#pragma once
#include "words.cuh"

constexpr int IN_FLIGHT = 2;
constexpr u64 NOWHERE = ~0ull;

// `first` gives every member of a team the least of what they find; NOWHERE if none of them finds anything.
#ifdef HOST

struct uint4 {
    u32 x, y, z, w;
};

HD uint4 load_once(const uint4 *address) {
    if (reinterpret_cast<u64>(address) % 16 != 0) __builtin_trap();  // as a device would
    return *address;
}

struct HostTeam {
    u32 members;
    u32 size() const { return members; }

    template <class Find>
    u64 first(Find find) const {
        u64 least = NOWHERE;
        for (u64 rank = 0; rank < members; ++rank) least = lesser(least, find(rank));
        return least;
    }
};

#else

// What follows runs on devices alone.
__device__ __forceinline__ uint4 load_once(const uint4 *address) {
    return __ldcs(address);  // a row is read once: leave the caches to others
}

struct BlockTeam {
    u64 *shared;  // one word of shared memory
    __device__ u32 size() const { return blockDim.x; }
    template <class Find>
    __device__ u64 first(Find find) const {
        const u64 found = find(threadIdx.x);
        if (!__syncthreads_or(found != NOWHERE)) return NOWHERE;
        if (threadIdx.x == 0) *shared = NOWHERE;
        __syncthreads();
        if (found != NOWHERE) atomicMin(shared, found);
        __syncthreads();
        const u64 least = *shared;
        __syncthreads();  // the word is free for the next row only when every thread has read it
        return least;
    }
};

template <u32 SIZE>  // a power of two up to 32
struct WarpTeam {
    __device__ u32 rank() const { return threadIdx.x % SIZE; }
    __device__ u32 size() const { return SIZE; }
    template <class Find>
    __device__ u64 first(Find find) const {
        const u32 members = SIZE == 32 ? 0xffffffffu : ((1u << (SIZE % 32)) - 1) << (threadIdx.x % 32 / SIZE * SIZE);
        u64 least = find(rank());
        if (!__any_sync(members, least != NOWHERE)) return NOWHERE;
        for (u32 apart = SIZE / 2; apart > 0; apart /= 2)
            least = lesser(least, static_cast<u64>(__shfl_xor_sync(members, least, apart)));
        return least;
    }
};

#endif

HD u32 first_difference(uint4 a, uint4 b) {
    return a.x != b.x ? 0 : a.y != b.y ? 1 : a.z != b.z ? 2 : a.w != b.w ? 3 : 4;
}

// The first difference in [begin, n), or n.
template <class Team>
HD u64 common_prefix(const Team &team, const u32 *a, const u32 *b, u64 begin, u64 n) {
    const u64 step = team.size();
    u64 at = begin;
    const u64 skew = reinterpret_cast<u64>(a + begin) % 16;
    if (skew == reinterpret_cast<u64>(b + begin) % 16) {
        const u64 head = lesser(n - begin, (16 - skew) % 16 / 4);  // tokens before both rows are aligned
        if (head > 0) {
            const u64 found = team.first([&](u64 rank) {
                u64 least = NOWHERE;
                for (u64 i = rank; i < head; i += step)
                    if (a[begin + i] != b[begin + i]) least = lesser(least, begin + i);
                return least;
            });
            if (found != NOWHERE) return found;
        }
        at = begin + head;
        const uint4 *wide_a = reinterpret_cast<const uint4 *>(a + at), *wide_b = reinterpret_cast<const uint4 *>(b + at);
        const u64 vectors = (n - at) / 4;
        for (u64 base = 0; base < vectors; base += step * IN_FLIGHT) {
            const u64 found = team.first([&](u64 rank) {
                uint4 from_a[IN_FLIGHT], from_b[IN_FLIGHT];
#pragma unroll
                for (int j = 0; j < IN_FLIGHT; ++j) {
                    const u64 i = base + j * step + rank;
                    from_a[j] = from_b[j] = uint4{};
                    if (i < vectors) {
                        from_a[j] = load_once(wide_a + i);
                        from_b[j] = load_once(wide_b + i);
                    }
                }
                u64 least = NOWHERE;
#pragma unroll
                for (int j = 0; j < IN_FLIGHT; ++j) {
                    const u32 difference = first_difference(from_a[j], from_b[j]);
                    if (difference < 4) least = lesser(least, at + (base + j * step + rank) * 4 + difference);
                }
                return least;
            });
            if (found != NOWHERE) return found;
        }
        at += vectors * 4;
    }
    for (; at < n; at += step * 4) {  // the last tokens, or rows that are never aligned together
        const u64 found = team.first([&](u64 rank) {
            u64 least = NOWHERE;
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const u64 i = at + j * step + rank;
                if (i < n && a[i] != b[i]) least = lesser(least, i);
            }
            return least;
        });
        if (found != NOWHERE) return found;
    }
    return n;
}
