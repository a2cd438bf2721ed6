/* stream_args: what the commands of streams share: they parse IDs and intervals, find streams and
 * groups, and reply with entries. An arg_ or find_ function that returns false has sent the error,
 * unless noted otherwise. */
#pragma once

#include "server/cmd/call/args.h"
#include "store/type/stream/stream.h"
#include "store/type/stream/stream_group.h"

/* ---- IDs ---- */

/* Parses "ms" or "ms-seq"; without "-seq" the sequence number is `seq`. No reply. */
bool stream_id_parse(struct bytes text, uint64_t seq, struct stream_id *id);
/* Parses argument i in this form; without "-seq" the sequence number is 0. */
bool arg_stream_id(struct call *call, int i, struct stream_id *id);
/* Parses argument i as an ID, or as "-" or "+". */
bool arg_stream_id_or_end(struct call *call, int i, struct stream_id *id);
/* Are the arguments from i to the last all IDs? */
bool arg_stream_ids(struct call *call, int i);
/* Returns the ID at argument i, which has been parsed before. */
struct stream_id stream_id_of(const struct call *call, int i);

/* An interval of IDs, including both ends. */
struct id_range {
    struct stream_id from, to;
};
/* Parses arguments `first` and `last`: each is "-", "+", an ID, or "(" and an ID to exclude. */
bool arg_id_range(struct call *call, int first, int last, struct id_range *range);
/* Parses argument i as the lower end of an interval, in the forms of arg_id_range. */
bool arg_id_from(struct call *call, int i, struct stream_id *from);

/* Parses IDS numids id [id ...] from argument i to the last. *first becomes the index of the first
 * id. */
bool arg_counted_ids(struct call *call, int i, int *first);

/* What happens to references in groups when an entry is removed. */
enum refs { REFS_KEEP, REFS_DELETE, REFS_ACKED };
/* Parses KEEPREF, DELREF or ACKED at argument i. Returns false for another word, without sending
 * anything. */
bool arg_refs(const struct call *call, int i, enum refs *refs);

/* ---- streams and groups ---- */

/* The stream of argument 1 and the group of argument 2. find_group returns false only after sending
 * WRONGTYPE. If the key or the group is missing, it returns true with `group` set to NULL. */
struct group_target {
    struct entry *entry;
    struct stream_group *group;
};
bool find_group(struct call *call, struct group_target *target);
/* Finds the group as find_group does, but if it is absent sends NOGROUP and returns false. */
bool need_group(struct call *call, struct group_target *target);

/* Returns the consumer of this name, created if it is missing, and marks it as seen now. */
struct stream_consumer *consumer_or_new(struct call *call, const struct group_target *target,
                                        struct bytes name);

/* ---- replies ---- */

enum { STREAM_ID_CHARS = 41 };

size_t stream_id_print(char *to, struct stream_id id); /* room for STREAM_ID_CHARS */
void reply_stream_id(struct resp_writer *out, struct stream_id id);
/* Both move the entry's cursor behind its last field, so they can be called once for an entry. */
void reply_fields(struct resp_writer *out, struct stream_entry *entry);       /* [name value ...] */
void reply_stream_entry(struct resp_writer *out, struct stream_entry *entry); /* [id, fields] */
/* Finds the entry with this ID. Returns false if there is none, and sends nothing. */
bool find_stream_entry(const struct stream *stream, struct stream_id id,
                       struct stream_entry *entry);
