/* stream_delivery: delivers entries of a stream to a consumer of a group: new entries, entries that
 * are pending for this consumer (again), and entries that other consumers have left idle. */
#pragma once

#include "server/cmd/stream/read_budget.h"

struct delivery {
    struct group_target target;
    struct stream_consumer *consumer;
    struct read_budget *budget;
    bool no_ack;      /* new entries do not become pending */
    bool with_counts; /* show for how long each entry was idle, and how often delivered */
};

/* Writes the `count` entries after `after`, without the head of their array, makes them pending
 * unless no_ack is set, and moves the group's position behind them. The entries must exist, and
 * must have been taken out of the budget. */
void deliver_new(struct call *call, const struct delivery *delivery, struct stream_id after,
                 size_t count);
/* Takes up to `count` of the consumer's pending entries after `after` out of the budget. Returns
 * how many the budget allowed. */
size_t take_history(const struct delivery *delivery, struct stream_id after, size_t count);
/* Writes the entries that take_history counted, without the head of their array, and counts another
 * delivery of each. An entry that no longer exists is written as its ID and a null array, and its
 * delivery is not counted. */
void deliver_history(struct call *call, const struct delivery *delivery, struct stream_id after,
                     size_t count);

/* Returns a filter for pending entries that were idle for this span, or are released and due. */
struct pending_filter claim_filter(const struct call *call, msec idle);
/* Could an entry of the group be claimed now? O(1) */
bool has_claims(const struct call *call, const struct stream_group *group, msec idle);
/* Returns the instant at which an entry can next be claimed, or NEVER if none is pending. O(1) */
msec next_claim(const struct stream_group *group, msec idle);
/* Claims up to `count` entries that have been idle for this span, or are released and due; writes
 * them to `out` and returns their number. Stops early if the budget is spent.
 *
 * On the way removes pending IDs whose entry no longer exists, and moves entries that were
 * delivered too often to the dead letters. After 1000 such removals and moves it stops, even if
 * more entries could be claimed. */
size_t deliver_claims(struct call *call, const struct delivery *delivery, struct resp_writer *out,
                      msec idle, size_t count);

/* If the entry was delivered as often as a policy allows, tries to move it to the policy's stream
 * of dead letters. Returns true if it was moved. */
bool became_dead_letter(struct call *call, const struct group_target *target,
                        const struct pending *pending);

/* Returns the count after one more delivery, without overflow. */
uint64_t count_delivery(uint64_t deliveries);
/* Returns the milliseconds since the entry was delivered, or -1 if it is released. */
int64_t pending_idle(const struct call *call, const struct pending *pending);
/* May the entry be claimed by a command that asks for entries idle for this span? */
bool is_claimable(const struct call *call, const struct pending *pending, msec idle);
