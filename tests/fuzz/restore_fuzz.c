/* Fuzz target: a payload is restored to a value that passes its check, and DUMP and RESTORE of it
 * give the same value again; or it is an error, and the store is unchanged.
 * The first byte chooses a sample, in Redis' format or ours, and the others are changes to it; or
 * they are the complete payload. Its checksum is corrected. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/rdb/rdb_write.h"
#include "server/disk/payload.h"
#include "store/store.h"
#include "store/sweep/expiry.h"
#include "store/sweep/outlook.h"
#include "store/txn/txn.h"
#include "tests/unit/proto/rdb/samples.h"

enum { MAX_INPUT = 4096, NOW = 1000000, OWN_SAMPLES = 9, FORMS = 3 };

/* In the format of store/txn/effect_rows.c, without its variants. */
static const char *const own_samples[OWN_SAMPLES] = {
    "*7\r\n$6\r\nSADDEX\r\n$0\r\n\r\n$4\r\nPXAT\r\n$7\r\n1000005\r\n$7\r\nMEMBERS\r\n$1\r\n1\r\n"
    "$1\r\nb\r\n*3\r\n$4\r\nSADD\r\n$0\r\n\r\n$1\r\na\r\n",
    "*8\r\n$6\r\nHSETEX\r\n$0\r\n\r\n$4\r\nPXAT\r\n$7\r\n1000005\r\n$6\r\nFIELDS\r\n$1\r\n1\r\n"
    "$1\r\nf\r\n$1\r\nv\r\n",
    "*6\r\n$6\r\nZADDEX\r\n$0\r\n\r\n$4\r\nPXAT\r\n$7\r\n1000005\r\n$3\r\n1.5\r\n$1\r\na\r\n"
    "*4\r\n$4\r\nZADD\r\n$0\r\n\r\n$4\r\n-inf\r\n$1\r\nb\r\n",
    "*5\r\n$11\r\nREDE.PUSHAT\r\n$0\r\n\r\n$7\r\n1000001\r\n$3\r\none\r\n$3\r\nid1\r\n"
    "*7\r\n$11\r\nX.REDE.PUSH\r\n$0\r\n\r\n$7\r\n1000002\r\n$1\r\n3\r\n$7\r\nCLAIMED\r\n"
    "$3\r\ntwo\r\n$3\r\nid2\r\n",
    /* The earliest and latest deadlines. */
    "*7\r\n$6\r\nSADDEX\r\n$0\r\n\r\n$4\r\nPXAT\r\n$19\r\n9223372036854775805\r\n"
    "$7\r\nMEMBERS\r\n$1\r\n1\r\n$1\r\nb\r\n",
    "*8\r\n$6\r\nHSETEX\r\n$0\r\n\r\n$4\r\nPXAT\r\n$20\r\n-9223372036854775807\r\n"
    "$6\r\nFIELDS\r\n$1\r\n1\r\n$1\r\nf\r\n$1\r\nv\r\n",
    "*6\r\n$6\r\nZADDEX\r\n$0\r\n\r\n$4\r\nPXAT\r\n$1\r\n0\r\n$3\r\n1.5\r\n$1\r\na\r\n",
    "*7\r\n$11\r\nX.REDE.PUSH\r\n$0\r\n\r\n$19\r\n9223372036854775805\r\n$1\r\n3\r\n"
    "$7\r\nCLAIMED\r\n$3\r\ntwo\r\n$3\r\nid2\r\n",
    /* A stream with a pending entry of a consumer and a released one. */
    "*5\r\n$4\r\nXADD\r\n$0\r\n\r\n$3\r\n5-1\r\n$1\r\nf\r\n$1\r\nv\r\n"
    "*7\r\n$6\r\nXSETID\r\n$0\r\n\r\n$3\r\n9-9\r\n$12\r\nENTRIESADDED\r\n$1\r\n3\r\n$"
    "12\r\nMAXDELETEDID\r\n$3\r\n4-0\r\n"
    "*8\r\n$6\r\nXGROUP\r\n$6\r\nCREATE\r\n$0\r\n\r\n$1\r\ng\r\n$3\r\n5-1\r\n$8\r\nMKSTREAM\r\n$"
    "11\r\nENTRIESREAD\r\n$1\r\n3\r\n"
    "*5\r\n$6\r\nXGROUP\r\n$14\r\nCREATECONSUMER\r\n$0\r\n\r\n$1\r\ng\r\n$1\r\nc\r\n"
    "*12\r\n$6\r\nXCLAIM\r\n$0\r\n\r\n$1\r\ng\r\n$1\r\nc\r\n$1\r\n0\r\n$3\r\n5-1\r\n$4\r\nTIME\r\n$"
    "7\r\n1000001\r\n$10\r\nRETRYCOUNT\r\n$1\r\n2\r\n$5\r\nFORCE\r\n$6\r\nJUSTID\r\n"
    "*6\r\n$7\r\nX.XNACK\r\n$0\r\n\r\n$1\r\ng\r\n$7\r\n1000002\r\n$1\r\n2\r\n$3\r\n4-1\r\n",
};

static void ensure(bool holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "restore_fuzz: %s\n", what);
    abort();
}

static bool restore(struct store *store, struct bytes bytes)
{
    struct object object;
    struct txn txn;
    enum payload_status status = payload_read(bytes, &object);
    ensure(status != PAYLOAD_FOREIGN, "a footer that is right");
    if (status != PAYLOAD_WHOLE) return false;
    txn_begin(&txn, store, NOW, FROM_CLIENT);
    txn_key_restore(&txn, LIT("k"), object, NEVER);
    txn_commit(&txn);
    return true;
}

static void check_again(const struct store *store)
{
    struct store *other = store_new(1);
    struct payload *payload = payload_new(&keyspace_find(&store->databases[0], LIT("k"))->object);
    ensure(payload != NULL, "no memory");
    ensure(restore(other, payload_bytes(payload)), "what was dumped is refused");
    struct digest a = store_digest(store, INT64_MIN), b = store_digest(other, INT64_MIN);
    ensure(a.high == b.high && a.low == b.low, "dumped and restored it is another value");
    payload_free(payload);
    store_free(other);
}

/* Calls functions that depend on the time, and expires everything. */
static void live_until(struct store *store, msec now)
{
    struct txn txn;
    struct due due;
    struct overdue overdue = { 0 };
    outlook_next(&store->databases[0], now, &due, 1);
    outlook_overdue(&store->databases[0], now, 100, &overdue);
    store_digest(store, now);
    struct outlook *outlook = outlook_new(&store->databases[0], now);
    struct outlook_count counts[OUTLOOK_BANDS];
    while (!outlook_run(outlook, 100))
        continue;
    outlook_counts(outlook, now, counts);
    outlook_free(outlook);
    txn_begin(&txn, store, now, FROM_CLIENT);
    txn_find(&txn, LIT("k"));
    txn_commit(&txn);
    while (expiry_run(store, now, 100) >= 100)
        continue;
    store_check(store);
}

/* Three bytes are a change: how, where, what. */
static void change(struct made *made, const uint8_t *data, size_t size)
{
    for (; size >= 3 && made->len > 0; data += 3, size -= 3) {
        size_t at = (data[1] | (size_t)(data[0] & 0x0f) << 8) % made->len;
        if (data[0] >= 0xc0) {
            memmove(made->at + at, made->at + at + 1, --made->len - at);
        } else if (data[0] >= 0x80) {
            memmove(made->at + at + 1, made->at + at, made->len++ - at);
            made->at[at] = data[2];
        } else {
            made->at[at] = data[2];
        }
    }
}

static struct made *make(const uint8_t *data, size_t size)
{
    unsigned which = data[0] % (SAMPLES + OWN_SAMPLES + FORMS);
    if (which >= SAMPLES + OWN_SAMPLES) {
        struct made *whole = made_new();
        if (which == SAMPLES + OWN_SAMPLES + 1) byte(whole, RDB_OWN_TEXT);
        if (which == SAMPLES + OWN_SAMPLES + 2) byte(whole, RDB_OWN_PACKED);
        return raw(whole, data + 1, size - 1);
    }
    struct made *made;
    if (which < SAMPLES)
        made = samples[which].add(payload(samples[which].type));
    else
        made = raw(payload(RDB_OWN_TEXT), own_samples[which - SAMPLES],
                   strlen(own_samples[which - SAMPLES]));
    change(made, data + 1, size - 1);
    return made;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > MAX_INPUT) return 0;
    struct made *made = payload_end(make(data, size), 12);
    struct store *store = store_new(1);
    /* A block of its own, so that a sanitizer detects a read past the end. */
    char *block = malloc(made->len);
    memcpy(block, made->at, made->len);
    bool restored = restore(store, bytes_of(block, made->len));
    free(block);
    free(made);
    store_check(store);
    ensure(dict_count(&store->databases[0].dict) == (restored ? 1 : 0), "half a key");
    if (restored) check_again(store);
    live_until(store, INSTANT_MIN);
    live_until(store, NOW);
    live_until(store, INSTANT_MAX);
    store_free(store);
    return 0;
}
