// A kernel for each rule of words, over rows; a status tells of nothing and of overflow.
typedef unsigned char u8;
typedef unsigned long long u64;

enum class Status : u8 { Ok = 0, None = 1, Overflow = 2 };

#define EACH(i, n) for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < (n); i += gridDim.x * (u64)blockDim.x)

__device__ bool own(u64 a, u64 b) {
    if (b == 0) return false;
    return a == b;
}

__global__ void session_matches(u64 n, const u64 *entry, const u64 *session, bool *matches) {
    EACH(i, n) { matches[i] = own(entry[i], session[i]); }
}

__global__ void visible_to(u64 n, const u64 *owner, const u64 *lo, const u64 *hi, const u64 *reader, u64 *from, u64 *to) {
    EACH(i, n) {
        from[i] = 0;
        to[i] = 0;
        if (own(owner[i], reader[i])) {
            from[i] = lo[i];
            to[i] = hi[i];
        }
    }
}

__global__ void plan_append(u64 n, const u64 *last, const u64 *len, const u64 *lo, const u64 *hi, u8 *status, u64 *first,
                            u64 *rows) {
    EACH(i, n) {
        u64 key = last[i] + 1;
        status[i] = static_cast<u8>(Status::None);
        first[i] = 0;
        rows[i] = 0;
        if (len[i] < 2) continue;
        if (key == 0) {
            status[i] = static_cast<u8>(Status::Overflow);
            continue;
        }
        if (key < lo[i]) key = lo[i];
        const u64 end = len[i] - 1;
        if (key < end && end <= hi[i]) {
            status[i] = static_cast<u8>(Status::Ok);
            first[i] = key;
            rows[i] = end - key;
        }
    }
}

__global__ void hidden_row_offset(u64 n, const u64 *base, const u64 *pos, const u64 *size, u8 *status, u64 *out) {
    EACH(i, n) {
        const u64 high = __umul64hi(pos[i], size[i]);
        const u64 low = pos[i] * size[i];
        const u64 twice = low + low;
        const u64 address = base[i] + twice;
        out[i] = address;
        const bool over = high > 0 || twice < low || address < twice;
        status[i] = over ? 2 : 0;
    }
}

__global__ void merge_interval(u64 n, const u64 *lo, const u64 *hi, const u64 *start, const u64 *count, u8 *status,
                               u64 *from, u64 *to) {
    EACH(i, n) {
        u64 a = start[i], b = start[i] + count[i];
        status[i] = b < a ? 2 : 0;
        if (lo[i] < hi[i] && a <= hi[i] && lo[i] <= b) {
            a = min(a, lo[i]);
            b = max(b, hi[i]);
        }
        from[i] = a;
        to[i] = b;
    }
}

__global__ void carry_armed_with(u64 n, const bool *carry, const bool *several, bool *armed) {
    EACH(i, n) { armed[i] = several[i] ? false : carry[i]; }
}

__global__ void canonical_assignment_at(u64 n, const u64 *width, const u64 *least, const bool *clear, bool *canonical) {
    EACH(row, n) { canonical[row] = !(width[row] < least[row]) && clear[row]; }
}
