// The dispatch order of a verify batch, the deal of its depths, the words of its graph key, and the gate.
// Two tellings of the order: ranks by counting, for rows in memory of any length, and a sorting network on packed
// words, for batches of a fixed width that live in registers.
#pragma once
#include "words.cuh"

template <class T>
HD bool precedes(bool canonical, T slot_a, T k_a, u64 a, T slot_b, T k_b, u64 b) {
    if (!canonical && k_a != k_b) return k_a > k_b;
    if (slot_a != slot_b) return slot_a < slot_b;
    return a < b;
}

template <class T>
HD bool deeper(T k_a, u64 a, T k_b, u64 b) {
    if (k_a != k_b) return k_a > k_b;
    return a < b;
}

struct Place {
    u64 order;  // where the member is dispatched
    u64 depth;  // where the member's row count goes: on both arms the deepest come first, and so on
};

template <class T>
HD Place place_of(bool canonical, const T *slots, const T *ks, u64 n, u64 member) {
    Place place = {0, 0};
#pragma unroll
    for (u64 other = 0; other < n; ++other) {
        place.order += precedes(canonical, slots[other], ks[other], other, slots[member], ks[member], member);
        place.depth += deeper(ks[other], other, ks[member], member);
    }
    return place;
}

// Comparators of Batcher's merge exchange for any width (Knuth 5.2.2, algorithm M).
template <int N>
struct Network {
    int count = 0;
    unsigned char low[N * N] = {}, high[N * N] = {};

    HD constexpr Network() {
        int top = 1;
        while (top < N) top *= 2;
        for (int p = top / 2; p > 0; p /= 2) {
            int q = top / 2, r = 0, d = p;
            while (true) {
                for (int i = 0; i + d < N; ++i) {
                    if ((i & p) == r) {
                        low[count] = i;
                        high[count] = i + d;
                        ++count;
                    }
                }
                if (q == p) break;
                d = q - p;
                q /= 2;
                r = p;
            }
        }
    }
};

template <int N>
struct Comparators {
    static constexpr Network<N> network{};
};

template <class Word>
HD void compare_exchange(Word &a, Word &b) {
    const Word first = lesser(a, b), second = greater(a, b);
    a = first;
    b = second;
}

// Written out by the compiler, one comparator after another: a loop over positions would push the words out of the
// registers into local memory.
template <int N, int FIRST, int COUNT, class Word>
HD void exchange(Word (&words)[N]) {
    if constexpr (COUNT == 1) {
        constexpr int low = Comparators<N>::network.low[FIRST], high = Comparators<N>::network.high[FIRST];
        compare_exchange(words[low], words[high]);
    } else if constexpr (COUNT > 1) {
        exchange<N, FIRST, COUNT / 2>(words);
        exchange<N, FIRST + COUNT / 2, COUNT - COUNT / 2>(words);
    }
}

template <int N, class Word>
HD void ascending(Word (&words)[N]) {
    exchange<N, 0, Comparators<N>::network.count>(words);
}

// A member as one word whose order is the dispatch order: deeper first unless canonical, then slot, then index.
template <int K_BITS, int SLOT_BITS, int INDEX_BITS>
HD u32 dispatch_word(bool canonical, u32 slot, u32 k, u32 index) {
    const u32 place = slot << INDEX_BITS | index;
    const u32 shallowness = (1u << K_BITS) - 1 - k;
    return canonical ? place : shallowness << (SLOT_BITS + INDEX_BITS) | place;
}

HD u32 key_sentinel(bool wy_tables_null) {
    return 0xffffffffu - (wy_tables_null ? 1u : 0u);
}

// The key of a batch of n (slot, k) pairs as 2 n + 1 words: pairs `lane`, `lane + lanes`, ... and once the last word.
HD void graph_key(u64 n, const u32 *pairs, bool wy_tables_null, u32 *key, u64 lane, u64 lanes) {
#pragma unroll
    for (u64 p = lane; p < n; p += lanes) {
        key[2 * p] = pairs[2 * p];
        key[2 * p + 1] = pairs[2 * p + 1];
    }
    if (lane == 0) key[2 * n] = key_sentinel(wy_tables_null);
}

HD bool canonical_at(u64 n, u64 min_width, bool kill_switch_clear) {
    return kill_switch_clear && n >= min_width;
}
