// The launches of a verify step over SSM slot state: at each layer a short causal convolution, a selective scan, and a mix.
// A run is `count` positions from `first` on, all of one depth. Slot memory is reached through p0, p1, ...: one address for
// each position of the run, given by value, so that a capture bakes it. Every sum and product is rounded by itself: the
// result is the same to the bit on a device, on the host and in array expressions.
#include "words.cuh"

constexpr u64 STATES = 16, TAPS = 4, DEEPEST = 4, WIDEST = 12;

#ifdef HOST
// A compiler may fuse what it sees; it cannot see through these.
HD float rounded(volatile float value) { return value; }
HD float times(float a, float b) { return rounded(a * b); }
HD float plus(float a, float b) { return rounded(a + b); }
HD float over(float a, float b) { return rounded(a / b); }
HD float upper_half(float value) {
    u32 word;
    __builtin_memcpy(&word, &value, 4);
    word &= 0xffff0000u;
    __builtin_memcpy(&value, &word, 4);
    return value;
}
#else
HD float times(float a, float b) { return __fmul_rn(a, b); }
HD float plus(float a, float b) { return __fadd_rn(a, b); }
HD float over(float a, float b) { return __fdiv_rn(a, b); }
HD float upper_half(float value) { return __uint_as_float(__float_as_uint(value) & 0xffff0000u); }
#endif

HD float magnitude(float value) {
    return value < 0 ? -value : value;
}

// What is left of a channel's state after a row that reads x.
HD float decay(float rate, float x) {
    return over(rate, plus(1.0f, magnitude(x)));
}

HD float *floats(u64 address) {
    return reinterpret_cast<float *>(address);
}

#define RUN u64 count, u64 depth, u64 first, u64 channels
#define POINTERS \
    u64 p0, u64 p1, u64 p2, u64 p3, u64 p4, u64 p5, u64 p6, u64 p7, u64 p8, u64 p9, u64 p10, u64 p11
#define POINTED const u64 pointers[WIDEST] = {p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11}

// Activations are [position][row][channel].
#define PLACES(i) \
    const u64 p = i / channels, c = i % channels, at = (first + p) * DEEPEST * channels + c

KERNEL embed(RUN, u64 tokens, u64 table, u64 hidden) {
    EACH(i, count * channels) {
        PLACES(i);
        for (u64 r = 0; r < depth; ++r) {
            const u32 token = reinterpret_cast<const u32 *>(tokens)[(first + p) * DEEPEST + r];
            floats(hidden)[at + r * channels] = floats(table)[token * channels + c];
        }
    }
}

// The last TAPS - 1 inputs of a channel stay in its slot, from `part` on as [tap][channel].
KERNEL convolve(RUN, u64 taps, u64 hidden, u64 inner, u64 part, POINTERS) {
    POINTED;
    EACH(i, count * channels) {
        PLACES(i);
        float *past = floats(pointers[p]) + part + c, window[TAPS];
        for (u64 t = 0; t + 1 < TAPS; ++t) window[t] = past[t * channels];
        for (u64 r = 0; r < depth; ++r) {
            window[TAPS - 1] = floats(hidden)[at + r * channels];
            float sum = 0;
            for (u64 t = 0; t < TAPS; ++t) sum = plus(sum, times(floats(taps)[t * channels + c], window[t]));
            floats(inner)[at + r * channels] = sum;
            for (u64 t = 0; t + 1 < TAPS; ++t) window[t] = window[t + 1];
        }
        for (u64 t = 0; t + 1 < TAPS; ++t) past[t * channels] = window[t];
    }
}

// Without tables: the state goes on row by row. State is [state][channel]; weights are rate, then into and out of a state.
KERNEL scan(RUN, u64 weights, u64 inner, u64 part, POINTERS) {
    POINTED;
    EACH(i, count * channels) {
        PLACES(i);
        const float *rate = floats(weights), *into = rate + channels, *out = into + STATES;
        float *state = floats(pointers[p]) + part + c, x[DEEPEST], left[DEEPEST], y[DEEPEST];
        for (u64 r = 0; r < depth; ++r) {
            x[r] = floats(inner)[at + r * channels];
            left[r] = decay(rate[c], x[r]);
            y[r] = 0;
        }
        for (u64 n = 0; n < STATES; ++n) {
            float held = state[n * channels];
            for (u64 r = 0; r < depth; ++r) {
                held = plus(times(left[r], held), times(into[n], x[r]));
                y[r] = plus(y[r], times(out[n], held));
            }
            state[n * channels] = held;
        }
        for (u64 r = 0; r < depth; ++r) floats(inner)[at + r * channels] = y[r];
    }
}

// The WY tables of a run, in the slot as [row][DEEPEST + 1][channel]: what rows are left of the state (first column) and of
// each row's input, as products of decays kept in 16 bits.
KERNEL make_tables(RUN, u64 weights, u64 inner, u64 part, POINTERS) {
    POINTED;
    EACH(i, count * channels) {
        PLACES(i);
        float *table = floats(pointers[p]) + part + c, column[DEEPEST + 1];
        for (u64 r = 0; r < depth; ++r) {
            const float left = decay(floats(weights)[c], floats(inner)[at + r * channels]);
            for (u64 j = 0; j <= r; ++j) column[j] = j == 0 && r == 0 ? left : times(column[j], left);
            column[r + 1] = 1;
            for (u64 j = 0; j <= r + 1; ++j) table[(r * (DEEPEST + 1) + j) * channels] = upper_half(column[j]);
        }
    }
}

// With tables: every row from the state before the run.
KERNEL chunk(RUN, u64 weights, u64 inner, u64 part, u64 tables, POINTERS) {
    POINTED;
    EACH(i, count * channels) {
        PLACES(i);
        const float *rate = floats(weights), *into = rate + channels, *out = into + STATES;
        float *state = floats(pointers[p]) + part + c, x[DEEPEST], y[DEEPEST];
        const float *table = floats(pointers[p]) + tables + c;
        for (u64 r = 0; r < depth; ++r) {
            x[r] = floats(inner)[at + r * channels];
            y[r] = 0;
        }
        for (u64 n = 0; n < STATES; ++n) {
            const float before = state[n * channels];
            float held = before;
            for (u64 r = 0; r < depth; ++r) {
                const float *row = table + r * (DEEPEST + 1) * channels;
                held = times(row[0], before);
                for (u64 j = 0; j <= r; ++j) held = plus(held, times(row[(j + 1) * channels], times(into[n], x[j])));
                y[r] = plus(y[r], times(out[n], held));
            }
            state[n * channels] = held;
        }
        for (u64 r = 0; r < depth; ++r) floats(inner)[at + r * channels] = y[r];
    }
}

// Neighbouring channels meet, so that a wrong channel spreads.
KERNEL mix(RUN, u64 gain, u64 inner, u64 hidden) {
    EACH(i, count * channels) {
        PLACES(i);
        const u64 next = at - c + (c + 1) % channels;
        for (u64 r = 0; r < depth; ++r) {
            const float y = floats(inner)[next + r * channels];
            const float bent = over(y, plus(1.0f, magnitude(y)));
            float *x = floats(hidden) + at + r * channels;
            *x = plus(times(0.5f, *x), times(floats(gain)[c], bent));
        }
    }
}

KERNEL finish(RUN, u64 hidden, u64 outputs) {
    EACH(i, count * channels) {
        PLACES(i);
        for (u64 r = 0; r < depth; ++r) floats(outputs)[at + r * channels] = floats(hidden)[at + r * channels];
    }
}
