/* stream_delivery: delivers entries of a stream to a consumer of a group: new ones, its own pending
 * ones again, and those that other consumers have left idle. */
#ifndef SERVER_CMD_STREAM_STREAM_DELIVERY_H
#define SERVER_CMD_STREAM_STREAM_DELIVERY_H

#include "server/cmd/stream/read_budget.h"

struct delivery {
    struct group_target target;
    struct stream_consumer *consumer;
    struct read_budget *budget;
    bool no_ack;      /* new entries do not become pending */
    bool with_counts; /* show for how long each entry was idle, and how often delivered */
};

/* Replies with the `count` entries after `after`, and makes them pending. The entries must exist,
 * and must have been taken out of the budget. */
void deliver_new(struct call *call, const struct delivery *delivery, struct stream_id after,
                 size_t count);
/* Takes up to `count` of the consumer's pending entries after `after` out of the budget; returns
 * their number. */
size_t take_history(const struct delivery *delivery, struct stream_id after, size_t count);
/* Replies with the entries that take_history chose. */
void deliver_history(struct call *call, const struct delivery *delivery, struct stream_id after,
                     size_t count);

/* Returns a filter for pending entries that were idle for this span, or are released and due. */
struct pending_filter claim_filter(const struct call *call, msec idle);
/* Could an entry of the group be claimed now? O(1) */
bool has_claims(const struct call *call, const struct stream_group *group, msec idle);
/* Returns the instant at which an entry can next be claimed, or NEVER if none is pending. O(1) */
msec next_claim(const struct stream_group *group, msec idle);
/* Writes up to `count` claimed entries to `out`, as far as the budget allows; returns their number.
 * On the way it removes pending IDs without an entry and moves entries that were delivered too
 * often, at most 1000 of both, even if more entries could be claimed. */
size_t deliver_claims(struct call *call, const struct delivery *delivery, struct resp_writer *out,
                      msec idle, size_t count);

/* If the entry has been delivered as often as a policy allows, moves it to the policy's stream of
 * dead letters. Returns whether it was moved. */
bool became_dead_letter(struct call *call, const struct group_target *target,
                        const struct pending *pending);

/* Returns the count after one more delivery, without overflow. */
uint64_t count_delivery(uint64_t deliveries);
/* Returns the milliseconds since the entry was delivered, or -1 if it is released. */
int64_t pending_idle(const struct call *call, const struct pending *pending);
/* May the entry be claimed by a command that asks for entries idle for this span? */
bool is_claimable(const struct call *call, const struct pending *pending, msec idle);

#endif
