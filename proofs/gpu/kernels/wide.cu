// Verify batches of 32 members at random, two in the halves of every word.
//
// A case is its index: the members' slots (9 bits, the largest stands for none) and depths (2 bits) are a hash of it.
// Bit 1 of the index chooses the arm, bit 0 the half of a word. Slots often occur twice, so ties are met.
//
// Oracle. As in orders.cu: strictly increasing words, each of them the word of the member that it names, and every
// member named once. Dealt depths never increase and each occurs as often as it did, told by three sums over bits.
#include "order.cuh"
#include "sets.cuh"
#include "sweep.cuh"

// Two 16-bit words, compared half by half.
struct Pair {
    u32 halves;
};

HD Pair lesser(Pair a, Pair b) {
#ifdef HOST
    const u32 low = lesser(a.halves & 0xffff, b.halves & 0xffff), high = lesser(a.halves >> 16, b.halves >> 16);
    return {high << 16 | low};
#else
    return {__vminu2(a.halves, b.halves)};
#endif
}

HD Pair greater(Pair a, Pair b) {
#ifdef HOST
    const u32 low = greater(a.halves & 0xffff, b.halves & 0xffff), high = greater(a.halves >> 16, b.halves >> 16);
    return {high << 16 | low};
#else
    return {__vmaxu2(a.halves, b.halves)};
#endif
}

HD u32 mixed(u32 x) {
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

struct Source {
    u32 base, step;

    HD explicit Source(u64 index) {
        base = mixed(static_cast<u32>(index) ^ mixed(static_cast<u32>(index >> 32) + 0x9e3779b9u));
        step = mixed(base + 0x85ebca6bu) | 1;
    }

    HD u32 bits(u32 member) const {  // 32 of them, the upper ones well mixed
        const u32 x = base + member * step;
        return (x ^ x >> 15) * 0x2c1b3c6du;
    }
};

HD u32 slot_of(u32 bits) {
    return bits >> 23;
}

HD u32 depth_of(u32 bits) {
    return bits >> 21 & 3;
}

template <bool CANONICAL>
HD u32 word_of(const Source &source, u32 member) {
    const u32 bits = source.bits(member);
    return dispatch_word<2, 9, 5>(CANONICAL, slot_of(bits), depth_of(bits), member);
}

// The word that a member must have, told apart from the rule.
template <bool CANONICAL>
HD u32 expected_word(const Source &source, u32 member) {
    const u32 bits = source.bits(member), place = bits >> 23 << 5 | member;
    return CANONICAL ? place : (~bits >> 21 & 3) << 14 | place;
}

struct Wide {
    static constexpr u32 GROUP = 4;

    template <class Visitor>
    static HD void visit(u64 group, Visitor &visitor) {
        arm<true>(group * GROUP, 0, visitor);
        arm<false>(group * GROUP + 2, 2, visitor);
    }

    template <bool CANONICAL, class Visitor>
    static HD void arm(u64 index, u32 member, Visitor &visitor) {
        const Source first(index), second(index + 1);
        Pair words[32];
#pragma unroll
        for (u32 i = 0; i < 32; ++i)
            words[i].halves = word_of<CANONICAL>(first, i) | word_of<CANONICAL>(second, i) << 16;
        ascending(words);

        u32 named_first = 0, named_second = 0, wrong_first = 0, wrong_second = 0, falling = 0;
#pragma unroll
        for (u32 p = 0; p < 32; ++p) {
            const u32 low = words[p].halves & 0xffff, high = words[p].halves >> 16;
            named_first |= 1u << (low & 31);
            named_second |= 1u << (high & 31);
            wrong_first |= low ^ expected_word<CANONICAL>(first, low & 31);
            wrong_second |= high ^ expected_word<CANONICAL>(second, high & 31);
            // Increasing; that members differ makes it strict.
            if (p > 0) falling |= greater(words[p - 1], words[p]).halves ^ words[p].halves;
        }
        bool good_first = named_first == ~0u && wrong_first == 0 && (falling & 0xffff) == 0;
        bool good_second = named_second == ~0u && wrong_second == 0 && falling >> 16 == 0;

        if (CANONICAL) {
            Pair dealt[32];
            u32 sums[3] = {0, 0, 0}, rising = 0;
#pragma unroll
            for (u32 i = 0; i < 32; ++i) {
                const u32 depths = depth_of(first.bits(i)) | depth_of(second.bits(i)) << 16;
                dealt[i].halves = depths ^ 0x00030003;  // shallowness, so that ascending deals the deepest first
                add(sums, depths);
            }
            ascending(dealt);
            u32 dealt_sums[3] = {0, 0, 0};
#pragma unroll
            for (u32 p = 0; p < 32; ++p) {
                const Pair depths = {dealt[p].halves ^ 0x00030003};
                add(dealt_sums, depths.halves);
                if (p > 0) rising |= lesser(Pair{dealt[p - 1].halves ^ 0x00030003}, depths).halves ^ depths.halves;
            }
            u32 moved = rising;
#pragma unroll
            for (u32 s = 0; s < 3; ++s) moved |= sums[s] ^ dealt_sums[s];
            good_first = good_first && (moved & 0xffff) == 0;
            good_second = good_second && moved >> 16 == 0;
        }
        visitor.note(member, !good_first, true);
        visitor.note(member + 1, !good_second, true);
    }

    // How many depths have bit 0, bit 1, both: enough to tell four values apart.
    static HD void add(u32 (&sums)[3], u32 depths) {
        sums[0] += depths & 0x00010001;
        sums[1] += depths >> 1 & 0x00010001;
        sums[2] += depths & depths >> 1 & 0x00010001;
    }
};

SWEEP(wide, Wide)
