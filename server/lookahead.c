/* lookahead: see lookahead.h. A find in a table that is larger than the caches waits for memory
 * three times: for the bucket, for the key, for the value. Here all keys of a batch wait together.
 */
#include "server/lookahead.h"

enum {
    BATCH = 16,
    FEW_KEYS = 4096,   /* a smaller table is in the cache already */
    SHORTEST = 2 * 14, /* bytes of two requests that have a key */
    NUMBER_DIGITS = 9,
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

/* The first argument of the next request; a request without any has none. */
static bool read_request(struct reader *reader, struct bytes *key)
{
    size_t count;
    struct bytes text;
    *key = bytes_of(NULL, 0);
    if (!read_header(reader, '*', &count)) return false;
    for (size_t i = 0; i < count; i++) {
        if (!read_bulk(reader, &text)) return i > 1; /* the key was whole */
        if (i == 1) *key = text;
    }
    return true;
}

unsigned lookahead(const struct keyspace *ks, const char *data, size_t len)
{
    if (len < SHORTEST || dict_count(&ks->dict) < FEW_KEYS) return BATCH;
    struct reader reader = { data, data + len };
    uint64_t hashes[BATCH];
    const struct entry *entries[BATCH];
    unsigned requests = 0, keys = 0;
    struct bytes key;
    for (; requests < BATCH && read_request(&reader, &key); requests++)
        if (key.data != NULL) hashes[keys++] = keyspace_hint_bucket(ks, key);
    if (keys < 2) return requests > 0 ? requests : 1;
    for (unsigned i = 0; i < keys; i++)
        entries[i] = keyspace_hint_entry(ks, hashes[i]);
    for (unsigned i = 0; i < keys; i++)
        if (entries[i] != NULL) keyspace_hint_value(entries[i]);
    return requests;
}
