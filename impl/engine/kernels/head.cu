// The drafter's head around its products: rows of pairs gathered from memory, a product that adds in one order, and
// rows of keys and values turned by their position and put where they belong. Numbers are bf16 (as u16) or float.
#include "words.cuh"

typedef unsigned short u16;

union Word {
    u32 bits;
    float value;
};

struct alignas(16) Vector {
    u16 lane[8];
};

// What lies in memory that nobody has written, and what a read outside of memory gives.
#define POISON ((u16)0xdead)

HD float widened(u16 bits) {
    Word word;
    word.bits = static_cast<u32>(bits) << 16;
    return word.value;
}

// To the nearest, ties to even.
HD u16 narrowed(float value) {
    Word word;
    word.value = value;
    return static_cast<u16>((word.bits + 0x7fff + (word.bits >> 16 & 1)) >> 16);
}

// A product that no compiler joins with the addition after it.
HD float times(float a, float b) {
#ifdef HOST
    volatile float product = a * b;
    return product;
#else
    return __fmul_rn(a, b);
#endif
}

// Row i is the embedding of tokens[i] and the hidden row at addresses[i], which is read only inside [begin, end).
// hidden is a multiple of 8. Addresses need not be aligned.
KERNEL pairs(u64 rows, u64 hidden, const u32 *tokens, const u16 *embedding, const u64 *addresses, u64 begin, u64 end,
             u16 *out) {
    const u64 parts = hidden / 4;
    EACH(i, rows * parts) {
        const u64 row = i / parts, part = i % parts;
        const bool embeds = part < parts / 2;
        const u64 from = embeds ? (u64)(embedding + tokens[row] * hidden + part * 8) : addresses[row] + (part - parts / 2) * 16;
        const bool there = embeds || (from >= begin && from < end && end - from >= 16);
        Vector vector;
        if (there && from % 16 == 0) {
            vector = *(const Vector *)from;
        } else {
            for (int lane = 0; lane < 8; ++lane) {
                const unsigned char *byte = (const unsigned char *)from + 2 * lane;
                vector.lane[lane] = there ? static_cast<u16>(byte[0] | byte[1] << 8) : POISON;
            }
        }
        ((Vector *)out)[i] = vector;
    }
}

// The products of bf16 numbers are exact in float, so only the order of the additions decides the result.
HD float ordered(u64 depth, const u16 *row, const u16 *weights) {
    float sum = 0;
    for (u64 k = 0; k < depth; ++k) sum += widened(row[k]) * widened(weights[k]);
    return sum;
}

KERNEL ordered_product(u64 rows, u64 width, u64 depth, const u16 *a, const u16 *weights, float *out) {
    EACH(i, rows * width) out[i] = ordered(depth, a + i / width * depth, weights + i % width * depth);
}

KERNEL ordered_product_narrow(u64 rows, u64 width, u64 depth, const u16 *a, const u16 *weights, u16 *out) {
    EACH(i, rows * width) out[i] = narrowed(ordered(depth, a + i / width * depth, weights + i % width * depth));
}

// Row i of `made` has heads * size numbers of keys, then as many of values. Keys are turned by the position keys[i] + 1.
// It becomes row at[i] of `into`.
KERNEL finish(u64 rows, u64 heads, u64 size, const float *made, const u64 *keys, const float *cosine, const float *sine,
              const u64 *at, u16 *into) {
    const u64 half = size / 2, pairs_a_row = heads * size;
    EACH(i, rows * pairs_a_row) {
        const u64 row = i / pairs_a_row, pair = i % pairs_a_row;
        const bool is_key = pair < heads * half;
        const u64 place = is_key ? pair : pair - heads * half;
        const u64 first = (is_key ? 0 : heads * size) + place / half * size + place % half;
        const float *from = made + row * 2 * heads * size;
        u16 *to = into + at[row] * 2 * heads * size;
        float x = from[first], y = from[first + half];
        if (is_key) {
            const u64 angle = (keys[row] + 1) * half + place % half;
            const float c = cosine[angle], s = sine[angle], turned = times(x, c) - times(y, s);
            y = times(y, c) + times(x, s);
            x = turned;
        }
        to[first] = narrowed(x);
        to[first + half] = narrowed(y);
    }
}
