// Every sequence of writes and allocations in a small world, and whether its last step lets a reader see a foreign row.
//
// The world: ROWS rows of one store, four writers. Writer 0 has generation 0, the others tickets 1, 2, 3 at first.
// An action: 0 .. 4 I - 1: writer (action / I) writes interval (action % I) of the I non-empty ones, in order of lo,
// then hi; then 4 I and 4 I + 1: writer 1 or 2 is allocated anew: the next ticket, and nothing claimed.
// Index of a sequence of `depth` actions: its actions as digits to base 4 I + 2, the first one most significant.
//
// Oracle. Every row carries the identity of its last writer; who is allocated anew is a new identity, whose rows nobody
// owns any more. After the last step a reader sees only rows that carry it, generation 0 sees none, and a writer with a
// ticket that has just written sees what it wrote.
#include "carry.cuh"
#include "sweep.cuh"

#ifndef ROWS
#define ROWS 4
#endif

constexpr u32 WRITERS = 4, INTERVALS = ROWS * (ROWS + 1) / 2, WRITES = WRITERS * INTERVALS, ACTIONS = WRITES + 2;

template <class T>
struct World {
    Claim<T> claim = {0, 0, 0};
    T ticket_1 = 1, ticket_2 = 2, next_ticket = 4;
    u32 written_by = 0;  // ROWS bits for each writer: the rows that carry it

    HD T generation(u32 writer) const {
        return writer == 0 ? 0 : writer == 1 ? ticket_1 : writer == 2 ? ticket_2 : 3;
    }

    HD void write(u32 writer, u32 lo, u32 hi) {
        constexpr u32 every = 1u | 1u << ROWS | 1u << 2 * ROWS | 1u << 3 * ROWS;
        const u32 rows = rows_of(lo, hi);
        written_by = (written_by & ~(rows * every)) | rows << ROWS * writer;
        Claim<T> stamped = claim;
        stamp<T>(claim, generation(writer), lo, hi - lo, stamped);
        claim = stamped;
    }

    HD void allocate(u32 writer) {
        written_by &= ~(((1u << ROWS) - 1) << ROWS * writer);
        (writer == 1 ? ticket_1 : ticket_2) = next_ticket++;
        claim = {0, 0, 0};
    }

    HD void act(u32 action) {
        if (action < WRITES) {
            u32 lo = 0, rest = action % INTERVALS;
            for (; rest >= ROWS - lo; ++lo) rest -= ROWS - lo;
            write(action / INTERVALS, lo, lo + rest + 1);
        } else {
            allocate(1 + action - WRITES);
        }
    }

    static HD u32 rows_of(T lo, T hi) {
        return ((1u << hi) - 1) & ~((1u << lo) - 1);
    }

    // The rows that anyone sees, and those of them that someone sees who does not own them.
    struct View {
        u32 seen, foreign;
    };

    HD View view() const {
        View view = {0, 0};
#pragma unroll
        for (u32 reader = 0; reader < WRITERS; ++reader) {
            const Rows<T> rows = visible<T>(claim, generation(reader));
            const u32 shown = rows_of(rows.lo, rows.hi), own = reader == 0 ? 0 : written_by >> ROWS * reader;
            view.foreign |= shown & ~own;
            view.seen |= shown;
        }
        return view;
    }
};

// Sequences of a fixed depth; what comes before the last action (or the last two) is replayed once for a group.
template <class T, u32 LAST>
struct Sequences {
    static constexpr u32 GROUP = LAST == 2 ? ACTIONS * ACTIONS : ACTIONS;

    template <class Visitor>
    static HD void visit(u64 group, Visitor &visitor, u32 depth) {
        World<T> world;
        u64 scale = 1;
        for (u32 step = LAST + 1; step < depth; ++step) scale *= ACTIONS;
        for (u32 step = LAST; step < depth; ++step, scale /= ACTIONS) world.act(group / scale % ACTIONS);
        if (LAST == 2) {
#pragma unroll 1
            for (u32 action = 0; action < ACTIONS; ++action) {
                World<T> next = world;
                next.act(action);
                last_step(next, action * ACTIONS, visitor);
            }
        } else {
            last_step(world, 0, visitor);
        }
    }

    template <class Visitor>
    static HD void last_step(const World<T> &world, u32 base, Visitor &visitor) {
        u32 interval = 0;
#pragma unroll 1
        for (u32 lo = 0; lo < ROWS; ++lo) {
#pragma unroll 1
            for (u32 hi = lo + 1; hi <= ROWS; ++hi, ++interval) {
#pragma unroll
                for (u32 writer = 0; writer < WRITERS; ++writer) {
                    World<T> next = world;
                    next.write(writer, lo, hi);
                    const auto view = next.view();
                    const u32 unseen = writer == 0 ? 0 : World<T>::rows_of(lo, hi) & ~view.seen;
                    visitor.note(base + writer * INTERVALS + interval, (view.foreign | unseen) != 0, view.seen != 0);
                }
            }
        }
#pragma unroll
        for (u32 writer = 1; writer < 3; ++writer) {
            World<T> next = world;
            next.allocate(writer);
            const auto view = next.view();
            visitor.note(base + WRITES + writer - 1, view.foreign != 0, view.seen != 0);
        }
    }
};

template <class T, u32 LAST>
HD void sweep_sequences(u64 begin, u64 end, u32 depth, u64 *result) {
    using Scope = Sequences<T, LAST>;
    Tally tally;
    const u64 first = begin / Scope::GROUP, groups = begin < end ? (end - 1) / Scope::GROUP + 1 - first : 0;
    EACH(i, groups) {
        Glance glance;
        Scope::visit(first + i, glance, depth);
        const u64 base = (first + i) * Scope::GROUP;
        if (glance.broken || base < begin || base + Scope::GROUP > end) {
            Count count = {base, begin, end, tally};
            Scope::visit(first + i, count, depth);
        } else {
            tally.accepted += glance.accepted;
        }
    }
    deliver(tally, result);
}

// Sequences of `depth` actions; the short ones for depth 1 alone.
KERNEL sequences(u64 begin, u64 end, u64 *result, u64 depth) {
    sweep_sequences<u32, 2>(begin, end, static_cast<u32>(depth), result);
}

KERNEL sequences_short(u64 begin, u64 end, u64 *result, u64 depth) {
    sweep_sequences<u32, 1>(begin, end, static_cast<u32>(depth), result);
}

KERNEL sequences_wide(u64 begin, u64 end, u64 *result, u64 depth) {
    sweep_sequences<u64, 2>(begin, end, static_cast<u32>(depth), result);
}
