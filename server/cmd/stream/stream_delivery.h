/* stream_delivery: gives entries of a stream to a consumer of a group: new ones, those that it has
 * already, and those that others had for too long. */
#ifndef SERVER_CMD_STREAM_STREAM_DELIVERY_H
#define SERVER_CMD_STREAM_STREAM_DELIVERY_H

#include "server/cmd/stream/stream_args.h"

struct delivery {
    struct group_place place;
    struct stream_consumer *consumer;
    bool no_ack;      /* new entries do not become pending */
    bool with_counts; /* entries show how long they were idle, and how often delivered */
};

/* Replies `count` entries after `after`, which are there, and makes them pending. */
void deliver_new(struct call *call, const struct delivery *delivery, struct stream_id after,
                 size_t count);
/* Replies up to `count` of the consumer's pending entries after `after`, as an array. */
void deliver_history(struct call *call, const struct delivery *delivery, struct stream_id after,
                     size_t count);

/* The filter that pending entries pass which were idle for this span, or are released and due. */
struct pending_filter claim_filter(const struct call *call, msec idle);
/* Could an entry of the group be claimed now? O(1) */
bool has_claims(const struct call *call, const struct stream_group *group, msec idle);
/* When the next one can be claimed; NEVER: none is pending. O(1) */
msec next_claim(const struct stream_group *group, msec idle);
/* Writes up to `count` claimed entries to `out`; returns how many. On the way it removes pending
 * IDs without an entry, and moves entries that were delivered too often; after 1000 of these it
 * ends, and there may be more to claim. */
size_t deliver_claims(struct call *call, const struct delivery *delivery, struct resp_writer *out,
                      msec idle, size_t count);

/* Did the entry go to the stream of a policy, because it was delivered as often as it may be? */
bool became_dead_letter(struct call *call, const struct group_place *place,
                        const struct pending *pending);

/* One more delivery; it does not overflow. */
uint64_t count_delivery(uint64_t deliveries);
/* Milliseconds since the entry was delivered; -1: it is released. */
int64_t pending_idle(const struct call *call, const struct pending *pending);
/* May it be claimed by somebody who asks for entries that were idle for this span? */
bool is_claimable(const struct call *call, const struct pending *pending, msec idle);

#endif
