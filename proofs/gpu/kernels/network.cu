// The sorting network of WIDTH words on every input of zeros and ones: by the zero-one principle, a network that sorts
// these sorts everything.
//
// A case is its index: word w is bit w. A group is 64 cases at once, each in a bit of its own: of two bits the lesser is
// their conjunction, the greater their disjunction.
//
// Oracle. The ones go to the top: their number is as it was, and below none of them stands anything but zeros.
#include "order.cuh"
#include "sweep.cuh"

#ifndef WIDTH
#define WIDTH 16
#endif

struct Cases {
    u64 bits;
};

HD Cases lesser(Cases a, Cases b) {
    return {a.bits & b.bits};
}

HD Cases greater(Cases a, Cases b) {
    return {a.bits | b.bits};
}

constexpr u32 COUNT_BITS = 6;

// Numbers in 64 columns, one bit of them a word: adds a bit to each.
struct Columns {
    u64 digits[COUNT_BITS];

    HD void add(u64 carry) {
#pragma unroll
        for (u32 d = 0; d < COUNT_BITS; ++d) {
            const u64 before = digits[d];
            digits[d] = before ^ carry;
            carry &= before;
        }
    }
};

struct ZeroOne {
    static constexpr u32 GROUP = 64;

    template <class Visitor>
    static HD void visit(u64 group, Visitor &visitor) {
        // Within a group the lowest six words count through the cases.
        constexpr u64 lowest[6] = {0xaaaaaaaaaaaaaaaaull, 0xccccccccccccccccull, 0xf0f0f0f0f0f0f0f0ull,
                                   0xff00ff00ff00ff00ull, 0xffff0000ffff0000ull, 0xffffffff00000000ull};
        Cases words[WIDTH];
        Columns before = {}, after = {};
#pragma unroll
        for (u32 w = 0; w < WIDTH; ++w) {
            words[w].bits = w < 6 ? lowest[w] : 0 - (group >> (w < 6 ? 0 : w - 6) & 1);
            before.add(words[w].bits);
        }
        ascending(words);
        u64 wrong = 0;
#pragma unroll
        for (u32 w = 0; w < WIDTH; ++w) {
            after.add(words[w].bits);
            if (w > 0) wrong |= words[w - 1].bits & ~words[w].bits;
        }
#pragma unroll
        for (u32 d = 0; d < COUNT_BITS; ++d) wrong |= before.digits[d] ^ after.digits[d];
#pragma unroll
        for (u32 member = 0; member < GROUP; ++member) visitor.note(member, wrong >> member & 1, true);
    }
};

SWEEP(network, ZeroOne)
