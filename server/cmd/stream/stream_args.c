/* stream_args: see stream_args.h. */
#include "server/cmd/stream/stream_args.h"

#include <errno.h>
#include <stdlib.h>

#include "store/base/number.h"
#include "store/txn/txn_stream.h"

enum { ID_TEXT_MAX = 127 }; /* a longer text is not an ID, as in Redis */

/* Parses one part of an ID. A text that is not a canonical number is parsed with strtoull, as in
 * Redis, so "007" and "+7" are numbers too. */
static bool parse_part(const char *text, size_t len, uint64_t *value)
{
    int64_t plain;
    char *end;
    if (number_parse_uint64(text, len, value)) return true;
    if (number_parse_int64(text, len, &plain) || len == 0) return false;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return errno == 0 && end == text + len;
}

bool stream_id_parse(struct bytes text, uint64_t seq, struct stream_id *id)
{
    char copy[ID_TEXT_MAX + 1];
    if (text.len > ID_TEXT_MAX) return false;
    if (text.len > 0) memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    size_t len = strlen(copy);
    char *dash = memchr(copy, '-', len);
    id->seq = seq;
    if (dash == NULL) return parse_part(copy, len, &id->ms);
    *dash = '\0';
    return parse_part(copy, (size_t)(dash - copy), &id->ms) &&
           parse_part(dash + 1, len - (size_t)(dash + 1 - copy), &id->seq);
}

bool arg_stream_id(struct call *call, int i, struct stream_id *id)
{
    return stream_id_parse(call->argv[i], 0, id) || fail(call, ERR_STREAM_ID);
}

static bool parse_id_or_end(struct bytes text, uint64_t seq, struct stream_id *id)
{
    if (bytes_is_word(text, "-"))
        *id = STREAM_ID_MIN;
    else if (bytes_is_word(text, "+"))
        *id = STREAM_ID_MAX;
    else
        return stream_id_parse(text, seq, id);
    return true;
}

bool arg_stream_id_or_end(struct call *call, int i, struct stream_id *id)
{
    return parse_id_or_end(call->argv[i], 0, id) || fail(call, ERR_STREAM_ID);
}

bool arg_stream_ids(struct call *call, int i)
{
    struct stream_id id;
    for (; i < call->argc; i++)
        if (!arg_stream_id(call, i, &id)) return false;
    return true;
}

struct stream_id stream_id_of(const struct call *call, int i)
{
    struct stream_id id = STREAM_ID_MIN;
    stream_id_parse(call->argv[i], 0, &id);
    return id;
}

/* Parses an ID, "-" or "+", or "(" and an ID to exclude. */
static bool parse_end(struct call *call, int i, uint64_t seq, struct stream_id *id, bool *open)
{
    struct bytes text = call->argv[i];
    *open = text.len > 1 && text.data[0] == '(';
    if (!*open) return parse_id_or_end(text, seq, id) || fail(call, ERR_STREAM_ID);
    return stream_id_parse(bytes_of(text.data + 1, text.len - 1), seq, id) ||
           fail(call, ERR_STREAM_ID);
}

bool arg_id_from(struct call *call, int i, struct stream_id *from)
{
    bool open;
    if (!parse_end(call, i, 0, from, &open)) return false;
    if (!open || stream_id_up(from)) return true;
    return fail(call, ERR_INTERVAL_START);
}

bool arg_id_range(struct call *call, int first, int last, struct id_range *range)
{
    bool open;
    if (!arg_id_from(call, first, &range->from)) return false;
    if (!parse_end(call, last, UINT64_MAX, &range->to, &open)) return false;
    if (!open || stream_id_down(&range->to)) return true;
    return fail(call, ERR_INTERVAL_END);
}

bool arg_counted_ids(struct call *call, int i, int *first)
{
    int64_t count;
    if (!arg_is(call, i, "IDS") || i + 1 >= call->argc) return fail(call, ERR_SYNTAX);
    if (!arg_range(call, i + 1, 1, INT64_MAX, &count, ERR_IDS_NUMBER)) return false;
    *first = i + 2;
    if (count != call->argc - *first)
        return fail(call, count > call->argc - *first ? ERR_IDS_COUNT : ERR_SYNTAX);
    return arg_stream_ids(call, *first);
}

bool arg_refs(const struct call *call, int i, enum refs *refs)
{
    static const char *const words[] = {
        [REFS_KEEP] = "KEEPREF",
        [REFS_DELETE] = "DELREF",
        [REFS_ACKED] = "ACKED",
    };
    int found = arg_word(call, i, words, sizeof(words) / sizeof(words[0]));
    if (found >= 0) *refs = (enum refs)found;
    return found >= 0;
}

bool find_group(struct call *call, struct group_target *target)
{
    target->group = NULL;
    if (!find_typed_counted(call, 1, TYPE_STREAM, &target->entry)) return false;
    if (target->entry != NULL)
        target->group = group_find(stream_groups(target->entry->object.stream), call->argv[2]);
    return true;
}

bool need_group(struct call *call, struct group_target *target)
{
    if (!find_group(call, target)) return false;
    if (target->group != NULL) return true;
    return failf(call, ERR_NOGROUP, arg_width(call, 1), call->argv[1].data, arg_width(call, 2),
                 call->argv[2].data);
}

struct stream_consumer *consumer_or_new(struct call *call, const struct group_target *target,
                                        struct bytes name)
{
    struct stream_consumer *consumer = consumer_find(target->group, name);
    if (consumer == NULL)
        consumer = txn_consumer_add(call->txn, target->entry, target->group, name);
    consumer_saw(consumer, call->txn->now);
    return consumer;
}

size_t stream_id_print(char *to, struct stream_id id)
{
    size_t len = number_print_uint64(to, id.ms);
    to[len++] = '-';
    return len + number_print_uint64(to + len, id.seq);
}

void reply_stream_id(struct resp_writer *out, struct stream_id id)
{
    char text[STREAM_ID_CHARS];
    resp_bulk(out, text, stream_id_print(text, id));
}

void reply_fields(struct resp_writer *out, struct stream_entry *entry)
{
    struct bytes name, value;
    resp_array(out, 2 * entry->count);
    while (stream_entry_next(entry, &name, &value)) {
        resp_bulk(out, name.data, name.len);
        resp_bulk(out, value.data, value.len);
    }
}

void reply_stream_entry(struct resp_writer *out, struct stream_entry *entry)
{
    resp_array(out, 2);
    reply_stream_id(out, entry->id);
    reply_fields(out, entry);
}

bool find_stream_entry(const struct stream *stream, struct stream_id id, struct stream_entry *entry)
{
    struct stream_walk walk;
    stream_walk_up(&walk, stream, id);
    return stream_walk_next(&walk, entry) && stream_id_equal(entry->id, id);
}
