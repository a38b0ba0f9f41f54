// The minimum width read from the bytes of an environment value: Unicode white space around a decimal number.
// There is no UTF-8 decoder: a value that is not UTF-8 is no number between white space either, and both mean the
// default.
#pragma once
#include "words.cuh"

constexpr u64 MIN_WIDTH = 8;

// How many bytes the white space character at text[at] has; 0 where there is none.
HD u32 white_space(const u8 *text, u64 length, u64 at) {
    const u64 left = length - at;
    if (left < 1) return 0;
    const u32 first = text[at];
    if (first == ' ' || (first >= '\t' && first <= '\r')) return 1;
    if (left < 2) return 0;
    const u32 two = first << 8 | text[at + 1];
    if (two == 0xc285 || two == 0xc2a0) return 2;  // U+0085, U+00A0
    if (left < 3) return 0;
    const u32 three = two << 8 | text[at + 2];
    const bool white = three == 0xe19a80 || (three >= 0xe28080 && three <= 0xe2808a) ||  // U+1680, U+2000 to U+200A
                       three == 0xe280a8 || three == 0xe280a9 || three == 0xe280af ||    // U+2028, U+2029, U+202F
                       three == 0xe2819f || three == 0xe38080;                           // U+205F, U+3000
    return white ? 3 : 0;
}

HD u64 after_white_space(const u8 *text, u64 length, u64 at) {
    for (u32 size; (size = white_space(text, length, at)) != 0;) at += size;
    return at;
}

HD u64 min_width(bool present, const u8 *text, u64 length) {
    if (!present) return MIN_WIDTH;
    u64 at = after_white_space(text, length, 0);
    if (at < length && text[at] == '+') ++at;
    const u64 digits = at;
    u64 number = 0;
    for (; at < length && text[at] >= '0' && text[at] <= '9'; ++at) {
        const u32 digit = text[at] - '0';
        if (number > (largest<u64>() - digit) / 10) return MIN_WIDTH;
        number = number * 10 + digit;
    }
    if (at == digits || after_white_space(text, length, at) != length) return MIN_WIDTH;
    return number;
}
