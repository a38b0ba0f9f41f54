// One kernel for each function of the two documents, over a batch whose arrays are contiguous.
// Offsets of ragged rows have one entry more than there are rows. They are in order and end inside the data: the
// caller has checked that.
#include "carry.cuh"
#include "order.cuh"
#include "prefix.cuh"
#include "text.cuh"

#ifdef HOST

KERNEL common_prefix_len(u64 n, const u32 *tokens, const u64 *tokens_at, const u32 *prompt, const u64 *prompt_at,
                         u64 *length) {
    EACH(i, n) {
        const u64 shorter = lesser(tokens_at[i + 1] - tokens_at[i], prompt_at[i + 1] - prompt_at[i]);
        // As on a device: a small team probes, a larger one goes on from there, here at an odd place.
        const u32 *a = tokens + tokens_at[i], *b = prompt + prompt_at[i];
        const u64 probe = lesser(shorter, 5ull), found = common_prefix(HostTeam{2}, a, b, 0, probe);
        length[i] = found < probe ? found : common_prefix(HostTeam{4}, a, b, probe, shorter);
    }
}

#else

// A block for each pair of long rows.
KERNEL common_prefix_len_long(u64 n, const u32 *tokens, const u64 *tokens_at, const u32 *prompt, const u64 *prompt_at,
                              u64 *length) {
    __shared__ u64 shared;
    const BlockTeam team = {&shared};
    for (u64 i = blockIdx.x; i < n; i += gridDim.x) {
        const u64 shorter = lesser(tokens_at[i + 1] - tokens_at[i], prompt_at[i + 1] - prompt_at[i]);
        const u64 answer = common_prefix(team, tokens + tokens_at[i], prompt + prompt_at[i], 0, shorter);
        if (threadIdx.x == 0) length[i] = answer;
    }
}

// Eight threads probe the first 64 tokens of a pair, a warp four pairs; then the whole warp sees to those that agree.
KERNEL common_prefix_len_short(u64 n, const u32 *tokens, const u64 *tokens_at, const u32 *prompt, const u64 *prompt_at,
                               u64 *length) {
    const WarpTeam<8> eight;
    const WarpTeam<32> warp;
    const u32 part = threadIdx.x % 32 / 8;
    for (u64 first = THREAD / 32 * 4; first < n; first += THREADS / 32 * 4) {
        const u64 i = first + part;
        u64 begin_a = 0, begin_b = 0, shorter = 0, answer = 0;
        if (i < n) {
            begin_a = tokens_at[i];
            begin_b = prompt_at[i];
            shorter = lesser(tokens_at[i + 1] - begin_a, prompt_at[i + 1] - begin_b);
            answer = common_prefix(eight, tokens + begin_a, prompt + begin_b, 0, lesser(shorter, 64ull));
        }
        u32 open = __ballot_sync(0xffffffffu, answer == 64 && shorter > 64);
        while (open) {
            const u32 leader = __ffs(open) - 1;
            open &= ~(0xffu << leader);
            const u64 a = __shfl_sync(0xffffffffu, begin_a, leader), b = __shfl_sync(0xffffffffu, begin_b, leader);
            const u64 end = __shfl_sync(0xffffffffu, shorter, leader);
            const u64 found = common_prefix(warp, tokens + a, prompt + b, 64, end);
            if (part == leader / 8) answer = found;
        }
        if (i < n && eight.rank() == 0) length[i] = answer;
    }
}

#endif

KERNEL session_matches(u64 n, const u64 *entry_session, const u64 *session_hash, bool *matches) {
    EACH(i, n) matches[i] = session_own(entry_session[i], session_hash[i]);
}

// The results of a row that is not Ok are zero.
HD u64 or_zero(Status status, u64 result) {
    return status == Status::Ok ? result : 0;
}

KERNEL usable_by(u64 n, const u64 *rows, const u64 *last_pair_key, const bool *key_known, const u64 *entry_session,
                 const u64 *common, const u64 *session_hash, u8 *status, u64 *kept, u64 *kept_key) {
    EACH(i, n) {
        u64 count, key;
        const bool own = session_own(entry_session[i], session_hash[i]);
        const Status found = usable(own, key_known[i], rows[i], last_pair_key[i], common[i], count, key);
        status[i] = static_cast<u8>(found);
        kept[i] = or_zero(found, count);
        kept_key[i] = or_zero(found, key);
    }
}

KERNEL plan_append(u64 n, const u64 *last_pair_key, const u64 *prompt_len, const u64 *hidden_lo, const u64 *hidden_hi,
                   u8 *status, u64 *first_key, u64 *rows) {
    EACH(i, n) {
        u64 first, count;
        const Status found = append(last_pair_key[i], prompt_len[i], hidden_lo[i], hidden_hi[i], first, count);
        status[i] = static_cast<u8>(found);
        first_key[i] = or_zero(found, first);
        rows[i] = or_zero(found, count);
    }
}

KERNEL hidden_row_offset(u64 n, const u64 *base, const u64 *pos, const u64 *hidden_size, u8 *status, u64 *pointer) {
    EACH(i, n) {
        u64 offset;
        const Status found = row_offset(base[i], pos[i], hidden_size[i], offset);
        status[i] = static_cast<u8>(found);
        pointer[i] = or_zero(found, offset);
    }
}

KERNEL visible_to(u64 n, const u64 *owner, const u64 *lo, const u64 *hi, const u64 *reader_gen, u64 *seen_lo,
                  u64 *seen_hi) {
    EACH(i, n) {
        const Rows<u64> seen = visible(Claim<u64>{owner[i], lo[i], hi[i]}, reader_gen[i]);
        seen_lo[i] = seen.lo;
        seen_hi[i] = seen.hi;
    }
}

KERNEL merge_interval(u64 n, const u64 *lo, const u64 *hi, const u64 *start, const u64 *count, u8 *status,
                      u64 *merged_lo, u64 *merged_hi) {
    EACH(i, n) {
        Rows<u64> merged;
        const Status found = merge(Rows<u64>{lo[i], hi[i]}, start[i], count[i], merged);
        status[i] = static_cast<u8>(found);
        merged_lo[i] = or_zero(found, merged.lo);
        merged_hi[i] = or_zero(found, merged.hi);
    }
}

KERNEL stamped_merge(u64 n, const u64 *owner, const u64 *lo, const u64 *hi, const u64 *writer_gen, const u64 *start,
                     const u64 *count, u8 *status, u64 *stamped_owner, u64 *stamped_lo, u64 *stamped_hi) {
    EACH(i, n) {
        Claim<u64> stamped;
        const Status found =
            stamp(Claim<u64>{owner[i], lo[i], hi[i]}, writer_gen[i], start[i], count[i], stamped);
        status[i] = static_cast<u8>(found);
        stamped_owner[i] = or_zero(found, stamped.owner);
        stamped_lo[i] = or_zero(found, stamped.lo);
        stamped_hi[i] = or_zero(found, stamped.hi);
    }
}

KERNEL carry_armed_with(u64 n, const bool *carry, const bool *multi_seq, bool *is_armed) {
    EACH(i, n) is_armed[i] = armed(carry[i], multi_seq[i]);
}

// A row of ks as long as that of slots has a place for every member; any other row is refused and stays zero.
KERNEL verify_batch_order(u64 n, const u64 *slots, const u64 *slots_at, const u64 *ks, const u64 *ks_at,
                          const bool *canonical, u8 *status, u64 *order, u64 *depths) {
    EACH_ROW(row, n) {
        const u64 begin = slots_at[row], width = slots_at[row + 1] - begin;
        const bool fits = ks_at[row + 1] - ks_at[row] == width;
        if (LANE == 0) status[row] = static_cast<u8>(fits ? Status::Ok : Status::BadLength);
        for (u64 member = LANE; member < width; member += LANES) {
            if (!fits) {
                order[begin + member] = 0;
                depths[begin + member] = 0;
                continue;
            }
            const u64 *row_ks = ks + ks_at[row];
            const Place place = place_of(canonical[row], slots + begin, row_ks, width, member);
            order[begin + place.order] = member;
            depths[begin + place.depth] = row_ks[member];
        }
    }
}

KERNEL verify_graph_key(u64 n, const u32 *pairs, const u64 *pairs_at, const bool *wy_tables_null, u32 *key) {
    EACH_ROW(row, n) {
        const u64 begin = pairs_at[row];
        graph_key(pairs_at[row + 1] - begin, pairs + 2 * begin, wy_tables_null[row], key + 2 * begin + row, LANE, LANES);
    }
}

KERNEL canonical_assignment_at(u64 n, const u64 *width, const u64 *least_width, const bool *kill_switch_clear,
                               bool *canonical) {
    EACH(i, n) canonical[i] = canonical_at(width[i], least_width[i], kill_switch_clear[i]);
}

KERNEL min_width_from_env(u64 n, const bool *present, const u8 *text, const u64 *text_at, u64 *width) {
    EACH(i, n) width[i] = min_width(present[i], text + text_at[i], text_at[i + 1] - text_at[i]);
}
