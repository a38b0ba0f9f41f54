// The walk of a team along two equal rows, counted: runs on the host alone, where a team is whatever its type says.
//
// A case: where the rows start (in tokens from the start of the data), where the walk begins, where the rows end, and how
// many members the team has. Results: what the walk finds, and how many turns the team took.
#include "prefix.cuh"

struct CountingTeam {
    u64 members, *turns;
    u64 size() const { return members; }

    template <class Find>
    u64 first(Find find) const {
        ++*turns;
        u64 least = NOWHERE;
        for (u64 rank = 0; rank < members; ++rank) least = lesser(least, find(rank));
        return least;
    }
};

KERNEL walk(u64 cases, const u32 *data, const u64 *a_at, const u64 *b_at, const u64 *begin, const u64 *end,
            const u64 *members, u64 *found, u64 *turns) {
    EACH(i, cases) {
        const CountingTeam team = {members[i], turns + i};
        turns[i] = 0;
        found[i] = common_prefix(team, data + a_at[i], data + b_at[i], begin[i], end[i]);
    }
}
