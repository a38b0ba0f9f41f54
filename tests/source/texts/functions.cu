// Device functions: structs and templates, results by value or through references.
#include <stdint.h>

template <typename W>
struct Span {
    W lo, hi;
};

enum class Status : uint8_t { Ok, None, Overflow };

template <typename W>
__device__ __forceinline__ W larger(W a, W b) {
    return a > b ? a : b;
}

template <typename W>
__device__ Span<W> hull(Span<W> a, Span<W> b) {
    return {a.lo < b.lo ? a.lo : b.lo, larger(a.hi, b.hi)};
}

__device__ bool session_matches(uint64_t entry, uint64_t session) {
    return entry == session && session;
}

__device__ Span<uint64_t> visible_to(uint64_t owner, uint64_t lo, uint64_t hi, uint64_t reader) {
    Span<uint64_t> seen = {lo, hi};
    if (reader == 0 || owner != reader) seen = {0, 0};
    return seen;
}

__device__ Status merge_interval(uint64_t lo, uint64_t hi, uint64_t start, uint64_t count, uint64_t &from, uint64_t &to) {
    Span<uint64_t> claim = {lo, hi}, write = {start, start + count};
    if (write.hi < write.lo) return Status::Overflow;
    const bool apart = claim.hi <= claim.lo || claim.hi < write.lo || write.hi < claim.lo;
    const Span<uint64_t> out = apart ? write : hull(claim, write);
    from = out.lo;
    to = out.hi;
    return Status::Ok;
}

__device__ Status plan_append(uint64_t last, uint64_t len, uint64_t lo, uint64_t hi, uint64_t &first, uint64_t &rows) {
    if (len <= 1) return Status::None;
    if (last + 1 == 0) return Status::Overflow;
    first = larger<uint64_t>(last + 1, lo);
    if (first > len - 2 || hi < len - 1) return Status::None;
    rows = len - 1 - first;
    return Status::Ok;
}

__device__ bool carry_armed_with(bool carry, bool several) {
    return carry & !several;
}

__device__ bool canonical_assignment_at(uint64_t n, uint64_t least, bool clear) {
    if (!clear) return false;
    return n >= least;
}

__device__ Status usable_by(uint64_t rows, uint64_t newest, bool known, uint64_t entry, uint64_t common, uint64_t session,
                            uint64_t &kept, uint64_t &key) {
    if (!known || !session_matches(entry, session) || common < 2) return Status::None;
    uint64_t lost = 0;
    key = newest;
    if (key > common - 2) {
        lost = newest - (common - 2);
        key = common - 2;
    }
    if (rows <= lost) return Status::None;
    kept = rows - lost;
    return Status::Ok;
}
