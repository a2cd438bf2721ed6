/* lookahead: see lookahead.h. A find in a table that is larger than the caches waits for memory
 * three times: for the bucket, for the key, for the value; and so does one of a member in a large
 * collection. Here all finds of a batch wait together: each step is taken for all of them before
 * the next one, which needs what it brought. */
#include "server/lookahead.h"

enum {
    BATCH = 16,
    FEW = 4096,        /* a table with less is in the cache already */
    SHORTEST = 2 * 14, /* bytes of two requests that have a key */
    NUMBER_DIGITS = 9,
    ARGS = 4, /* a name, a key, and two of which one may be a member */
};

struct request {
    struct bytes args[ARGS]; /* those it does not have are empty */
    uint64_t hash;
    const struct entry *entry;
    const struct dict *table; /* NULL: no member to look for */
};

struct reader {
    const char *at, *end;
};

/* "*3\r\n" or "$16\r\n". False: it is not whole, or something else. */
static bool read_header(struct reader *reader, char mark, size_t *number)
{
    const char *p = reader->at;
    if (p == reader->end || *p++ != mark) return false;
    *number = 0;
    for (int digits = 0; digits < NUMBER_DIGITS && p < reader->end; digits++, p++) {
        if (*p < '0' || *p > '9') break;
        *number = 10 * *number + (size_t)(*p - '0');
    }
    if (reader->end - p < 2 || p[0] != '\r' || p[1] != '\n') return false;
    reader->at = p + 2;
    return true;
}

static bool read_bulk(struct reader *reader, struct bytes *text)
{
    size_t len;
    if (!read_header(reader, '$', &len)) return false;
    if ((size_t)(reader->end - reader->at) < len + 2) return false;
    *text = bytes_of(reader->at, len);
    reader->at += len + 2;
    return true;
}

static bool read_request(struct reader *reader, struct request *request)
{
    size_t count;
    struct bytes text;
    *request = (struct request){ .entry = NULL };
    if (!read_header(reader, '*', &count)) return false;
    for (size_t i = 0; i < count; i++) {
        if (!read_bulk(reader, &text)) return i > 1; /* the key was whole */
        if (i < ARGS) request->args[i] = text;
    }
    return true;
}

static bool has_key(const struct request *request)
{
    return request->args[1].data != NULL;
}

static void find_entries(const struct keyspace *ks, struct request *requests, unsigned count)
{
    bool is_large = dict_count(&ks->dict) >= FEW;
    for (unsigned i = 0; is_large && i < count; i++)
        if (has_key(&requests[i])) requests[i].hash = keyspace_hint_bucket(ks, requests[i].args[1]);
    for (unsigned i = 0; i < count; i++)
        if (has_key(&requests[i]))
            requests[i].entry = is_large ? keyspace_hint_entry(ks, requests[i].hash)
                                         : keyspace_find(ks, requests[i].args[1]);
    for (unsigned i = 0; i < count; i++)
        if (requests[i].entry != NULL) keyspace_hint_value(requests[i].entry);
}

/* A sorted set's commands have the score in front of the member, or nothing behind it. */
static struct bytes member_of(const struct request *request)
{
    bool behind = request->entry->object.type == TYPE_ZSET && request->args[3].data != NULL;
    return request->args[behind ? 3 : 2];
}

static void find_members(struct request *requests, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct request *request = &requests[i];
        if (request->entry == NULL || request->args[2].data == NULL) continue;
        const struct dict *table = object_table(&request->entry->object);
        if (table == NULL || dict_count(table) < FEW) continue;
        request->table = table;
        request->hash = dict_hint_bucket(table, member_of(request));
    }
    for (unsigned i = 0; i < count; i++)
        if (requests[i].table != NULL) dict_hint_element(requests[i].table, requests[i].hash);
}

unsigned lookahead(const struct keyspace *ks, const char *data, size_t len)
{
    if (len < SHORTEST || dict_count(&ks->dict) == 0) return BATCH;
    struct reader reader = { data, data + len };
    struct request requests[BATCH];
    unsigned count = 0;
    while (count < BATCH && read_request(&reader, &requests[count]))
        count++;
    if (count < 2) return 1;
    find_entries(ks, requests, count);
    find_members(requests, count);
    return count;
}
