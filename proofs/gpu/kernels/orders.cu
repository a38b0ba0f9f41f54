// Every verify batch of WIDTH members with depths of {2, 3, 4}: its order on both arms, its deal and its graph key.
//
// permuted: the slots are the permutations of 0 .. WIDTH-1. Index: permutation (in the factorial system) * 3^WIDTH +
// depths (digits to base 3, member 0 lowest).
// tied: each member has slot 0, 1, 2 or none. Index: slots (2 bits each, member 0 lowest) * 3^WIDTH + depths.
// _ranks: the order by counting, on 64-bit words as batches have it. The plain ones: by the sorting network on packed
// words. With `keys` set, the packed graph keys of both arms are inserted in a hash set of 2^KEY_BITS words each.
//
// Oracle. An order is right if it holds every member once and the members' (slot, index), or (depth falling, slot,
// index), strictly increase along it. Depths are dealt right if they never increase and each occurs as often as it did.
// Slots of a canonical key are built from counts: as many members as have smaller slots stand before a slot.
#include "order.cuh"
#include "sets.cuh"
#include "sweep.cuh"

#ifndef WIDTH
#define WIDTH 8
#endif

HD constexpr u32 power_of_3(u32 n) {
    return n == 0 ? 1 : 3 * power_of_3(n - 1);
}

constexpr u32 DEPTHS = power_of_3(WIDTH);
constexpr u32 NONE = 15;  // as a code of 4 bits

// WIDTH codes of 4 bits, member 0 lowest: an array that can be indexed without leaving the registers.
#if WIDTH <= 8
typedef u32 Codes;
#else
typedef u64 Codes;
#endif

HD u32 code_at(Codes codes, u32 i) {
    return static_cast<u32>(codes >> 4 * i) & 15;
}

HD Codes placed(u32 code, u32 i) {
    return static_cast<Codes>(code) << 4 * i;
}

struct Dispatch {
    Codes order = 0, depths = 0;  // depths as codes 0, 1, 2
};

struct ByNetwork {
    static HD Dispatch dispatch(bool canonical, Codes slots, Codes depths) {
        u32 words[WIDTH];
#pragma unroll
        for (u32 i = 0; i < WIDTH; ++i)
            words[i] = dispatch_word<2, 4, 4>(canonical, code_at(slots, i), code_at(depths, i), i);
        ascending(words);
        Dispatch result;
#pragma unroll
        for (u32 p = 0; p < WIDTH; ++p) result.order |= placed(words[p] & 15, p);
        u32 dealt[WIDTH];
#pragma unroll
        for (u32 i = 0; i < WIDTH; ++i) dealt[i] = 3 - code_at(depths, i);
        ascending(dealt);
#pragma unroll
        for (u32 p = 0; p < WIDTH; ++p) result.depths |= placed(3 - dealt[p], p);
        return result;
    }
};

struct ByRanks {
    static HD Dispatch dispatch(bool canonical, Codes slots, Codes depths) {
        u64 wide_slots[WIDTH], ks[WIDTH];
#pragma unroll
        for (u32 i = 0; i < WIDTH; ++i) {
            wide_slots[i] = code_at(slots, i) == NONE ? ~0ull : code_at(slots, i);
            ks[i] = 2 + code_at(depths, i);
        }
        Dispatch result;
#pragma unroll
        for (u32 i = 0; i < WIDTH; ++i) {
            const Place place = place_of<u64>(canonical, wide_slots, ks, WIDTH, i);
            result.order |= placed(i, place.order);
            result.depths |= placed(code_at(depths, i), place.depth);
        }
        return result;
    }
};

// A code in every place, for arithmetic on all of them at once.
constexpr Codes EVERYWHERE = static_cast<Codes>(0x1111111111111111ull & ((1ull << 4 * WIDTH - 1 << 1) - 1));

// Every member once.
HD bool complete(Codes order) {
    u32 members = 0;
#pragma unroll
    for (u32 p = 0; p < WIDTH; ++p) members |= 1u << code_at(order, p);
    return members == (1u << WIDTH) - 1;
}

struct Counts {
    u32 ones, twos;
};

HD Counts occurrences(Codes depths) {
    return {size_of(depths & EVERYWHERE), size_of(depths & 2 * EVERYWHERE)};
}

// Codes below 8 never increase: with an 8 added to each, none borrows from the next.
HD bool never_increase(Codes codes) {
    const Codes inner = EVERYWHERE >> 4;
    return (((codes | 8 * EVERYWHERE) - (codes >> 4)) & 8 * inner) == 8 * inner;
}

HD Codes first_places(u32 count) {
    return count < WIDTH ? (static_cast<Codes>(1) << 4 * count) - 1 : ~static_cast<Codes>(0);
}

// So many twos, then so many ones, then zeros.
HD Codes laid_out(Counts counts) {
    const Codes twos = first_places(counts.twos), more = first_places(counts.twos + counts.ones);
    return (twos & 2 * EVERYWHERE) | (more & ~twos & EVERYWHERE);
}

struct Key {  // a graph key: its slots and depths in dispatch order
    Codes slots, depths;
};

HD Key packed_key(Codes slots, const Dispatch &dispatch, bool null, bool &sentinel_kept) {
    u32 pairs[2 * WIDTH], key[2 * WIDTH + 1];
#pragma unroll
    for (u32 p = 0; p < WIDTH; ++p) {
        pairs[2 * p] = code_at(slots, code_at(dispatch.order, p));
        pairs[2 * p + 1] = 2 + code_at(dispatch.depths, p);
    }
    graph_key(WIDTH, pairs, null, key, 0, 1);
    Key packed = {0, 0};
#pragma unroll
    for (u32 p = 0; p < WIDTH; ++p) {
        packed.slots |= placed(key[2 * p], p);
        packed.depths |= placed(key[2 * p + 1] - 2, p);
    }
    sentinel_kept = key[2 * WIDTH] == (null ? 0xfffffffeu : 0xffffffffu);
    return packed;
}

// Whether the canonical arm dispatched this batch as it must.
HD bool canonical_well(Codes slots, const Dispatch &dispatch, Counts counts) {
    bool good = complete(dispatch.order);
    u32 before = 0;
#pragma unroll
    for (u32 p = 0; p < WIDTH; ++p) {
        const u32 member = code_at(dispatch.order, p), place = code_at(slots, member) << 4 | member;
        good &= p == 0 || before < place;
        before = place;
    }
    const Counts dealt = occurrences(dispatch.depths);
    return good & never_increase(dispatch.depths) & (dealt.ones == counts.ones) & (dealt.twos == counts.twos);
}

HD bool other_arm_well(Codes slots, Codes depths, const Dispatch &dispatch) {
    bool good = complete(dispatch.order);
    u32 before = 0;
#pragma unroll
    for (u32 p = 0; p < WIDTH; ++p) {
        const u32 member = code_at(dispatch.order, p), depth = code_at(depths, member);
        const u32 place = (2 - depth) << 8 | code_at(slots, member) << 4 | member;
        good &= (p == 0 || before < place) & (code_at(dispatch.depths, p) == depth);
        before = place;
    }
    return good;
}

#ifndef HOST
// A set of words, none of them ~0, in a table of 2^bits words that the caller filled with ~0. Runs on devices alone.
__device__ __forceinline__ void insert(u64 *table, u32 bits, u64 word) {
    u32 at = static_cast<u32>((word * 0x9e3779b97f4a7c15ull) >> (64 - bits));
    while (true) {
        const u64 there = table[at];  // may be out of date, but a word once seen stays
        if (there == word) return;
        if (there == ~0ull) {
            const u64 was = atomicCAS(table + at, ~0ull, word);
            if (was == ~0ull || was == word) return;
        }
        at = (at + 1) & ((1u << bits) - 1);
    }
}
#endif

// Slots of the group's batches, and the slots in ascending order as counts give them.
struct Permuted {
    static HD Codes slots(u32 number) {
        u32 free = (1u << WIDTH) - 1;
        Codes codes = 0;
#pragma unroll
        for (u32 i = 0; i < WIDTH; ++i) {
            u32 digit = number % (WIDTH - i);
            number /= WIDTH - i;
            u32 rest = free;
            for (; digit > 0; --digit) rest &= rest - 1;
            const u32 chosen = rest & (0 - rest);
            free &= ~chosen;
            codes |= placed(greatest(chosen), i);
        }
        return codes;
    }

    static HD Codes sorted_slots(Codes) {
        Codes codes = 0;
#pragma unroll
        for (u32 p = 0; p < WIDTH; ++p) codes |= placed(p, p);
        return codes;
    }
};

struct Tied {
    static HD Codes slots(u32 number) {
        Codes codes = 0;
#pragma unroll
        for (u32 i = 0; i < WIDTH; ++i) {
            const u32 digit = number >> 2 * i & 3;
            codes |= placed(digit == 3 ? NONE : digit, i);
        }
        return codes;
    }

    static HD Codes sorted_slots(Codes codes) {
        const u32 zeros = times(codes, 0), ones = times(codes, 1), twos = times(codes, 2);
        Codes sorted = 0;
#pragma unroll
        for (u32 p = 0; p < WIDTH; ++p) {
            const u32 slot = p < zeros ? 0 : p < zeros + ones ? 1 : p < zeros + ones + twos ? 2 : NONE;
            sorted |= placed(slot, p);
        }
        return sorted;
    }

    static HD u32 times(Codes codes, u32 slot) {
        u32 count = 0;
#pragma unroll
        for (u32 i = 0; i < WIDTH; ++i) count += code_at(codes, i) == slot;
        return count;
    }
};

template <class Slots, class Rule>
struct Orders {
    static constexpr u32 GROUP = 27;

    template <class Visitor>
    static HD void visit(u64 group, Visitor &visitor) {
        visit_with_keys(group, visitor, [](Key, Key) {});
    }

    template <class Visitor, class Keys>
    static HD void visit_with_keys(u64 group, Visitor &visitor, Keys keys) {
        const u32 upper = group % (DEPTHS / GROUP);
        const Codes slots = Slots::slots(static_cast<u32>(group / (DEPTHS / GROUP)));
        const Codes sorted_slots = Slots::sorted_slots(slots);
        Codes upper_depths = 0;
        u32 rest = upper;
#pragma unroll
        for (u32 i = 3; i < WIDTH; ++i) {
            upper_depths |= placed(rest % 3, i);
            rest /= 3;
        }
#pragma unroll 1
        for (u32 member = 0; member < GROUP; ++member) {
            const Codes depths =
                upper_depths | static_cast<Codes>(member % 3 | member / 3 % 3 << 4 | member / 9 << 8);
            const Counts counts = occurrences(depths);
            const Dispatch canonical = Rule::dispatch(true, slots, depths);
            bool good = canonical_well(slots, canonical, counts);
            bool sentinel_kept, other_sentinel_kept;
            const bool null = member & 1;
            const Key key = packed_key(slots, canonical, null, sentinel_kept);
            good &= sentinel_kept & (key.slots == sorted_slots) & (key.depths == laid_out(counts));

            // Ordering what is ordered changes nothing.
            Codes ordered_slots = 0;
#pragma unroll
            for (u32 p = 0; p < WIDTH; ++p) ordered_slots |= placed(code_at(slots, code_at(canonical.order, p)), p);
            const Dispatch again = Rule::dispatch(true, ordered_slots, canonical.depths);
            good &= again.depths == canonical.depths;
#pragma unroll
            for (u32 p = 0; p < WIDTH; ++p) good &= code_at(again.order, p) == p;

            const Dispatch other = Rule::dispatch(false, slots, depths);
            good &= other_arm_well(slots, depths, other);
            const Key other_key = packed_key(slots, other, null, other_sentinel_kept);
            good &= other_sentinel_kept;
            // Equal depths: both arms are one.
            const bool uniform = counts.ones == WIDTH || counts.twos == WIDTH || counts.ones + counts.twos == 0;
            good &= !uniform | ((other.order == canonical.order) & (other.depths == canonical.depths));

            keys(key, other_key);
            visitor.note(member, !good, true);
        }
    }
};

#define ORDERS(name, Slots, Rule)         \
    using Scope_##name = Orders<Slots, Rule>; \
    SWEEP(name, Scope_##name)

ORDERS(permuted, Permuted, ByNetwork)
ORDERS(permuted_ranks, Permuted, ByRanks)
ORDERS(tied, Tied, ByNetwork)
ORDERS(tied_ranks, Tied, ByRanks)

// Slots in 4 bits each, and above them depths in 2 bits each: up to 10 members.
HD u64 one_word(Key key) {
    u64 word = key.slots;
#pragma unroll
    for (u32 p = 0; p < WIDTH; ++p) word |= static_cast<u64>(code_at(key.depths, p)) << (4 * WIDTH + 2 * p);
    return word;
}

// The distinct keys of both arms over a range of `permuted`, which it checks as well. Tables hold 2^bits words.
#ifndef HOST
KERNEL permuted_keys(u64 begin, u64 end, u64 *result, u64 *canonical, u64 *other, u64 bits) {
    Tally tally;
    using Scope = Orders<Permuted, ByNetwork>;
    const u64 first = begin / Scope::GROUP, groups = begin < end ? (end - 1) / Scope::GROUP + 1 - first : 0;
    EACH(i, groups) {
        Glance glance;
        Scope::visit_with_keys(first + i, glance, [&](Key canonical_key, Key other_key) {
            insert(canonical, static_cast<u32>(bits), one_word(canonical_key));
            insert(other, static_cast<u32>(bits), one_word(other_key));
        });
        tally.broken += glance.broken;
        tally.accepted += glance.accepted;
    }
    deliver(tally, result);
}
#else
KERNEL permuted_keys(u64 begin, u64 end, u64 *canonical, u64 *other) {
    // The host has a set at hand: it only packs the keys, one of each arm for every case of whole groups.
    using Scope = Orders<Permuted, ByNetwork>;
    u64 at = 0;
    EACH(i, (end - begin) / Scope::GROUP) {
        Glance glance;
        Scope::visit_with_keys(begin / Scope::GROUP + i, glance, [&](Key canonical_key, Key other_key) {
            canonical[at] = one_word(canonical_key);
            other[at++] = one_word(other_key);
        });
    }
}
#endif
