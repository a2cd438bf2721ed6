/* scan: the common part of SCAN, SSCAN, HSCAN, ZSCAN, REDE.SCAN and KEYS: cursor, MATCH and COUNT,
 * and the reply. The reply is collected first, because it begins with the number of items. */
#pragma once

#include "server/cmd/call/call.h"

struct scan {
    struct call *call;
    uint64_t cursor;      /* where to continue; 0 ends the scan */
    struct bytes pattern; /* default "*" */
    int64_t count;        /* at least 1; default 10 */
    bool names_only;      /* NOVALUES or NOSCORES */
    uint64_t visited;     /* elements, matching or not */
    size_t items;         /* written into `collected` so far */
    struct outbuf collected;
    struct resp_writer out; /* into collected */
};

/* Begins a scan with the default options. Unless the parsing below fails, end the scan with
 * scan_reply or scan_reply_items, which free the collected items. */
void scan_begin(struct scan *scan, struct call *call);

/* Parses the cursor at argument i. Returns false after sending an error. */
bool scan_read_cursor(struct scan *scan, int i);
/* Parses MATCH and COUNT from argument i on. If type_at is not NULL, also parses TYPE, and sets
 * *type_at to the position of its value, or 0 without TYPE. If names_word is not NULL, this word
 * sets names_only. Returns false after sending an error. */
bool scan_read_options(struct scan *scan, int i, int *type_at, const char *names_word);

/* Calls `step`, which advances a cursor like dict_scan, until `count` elements were visited or the
 * scan is over. Stops after about 10 * count steps in any case, because many steps may find only
 * empty buckets. */
void scan_run(struct scan *scan, uint64_t (*step)(void *ctx, uint64_t cursor), void *ctx);

/* Counts an element that `step` has visited, and returns whether its name matches the pattern. */
bool scan_visit(struct scan *scan, struct bytes name);
/* Adds an item to the reply. */
void scan_give(struct scan *scan, struct bytes item);
void scan_give_double(struct scan *scan, double item);

void scan_reply(struct scan *scan);       /* replies with the cursor and the items */
void scan_reply_items(struct scan *scan); /* replies with the items */
