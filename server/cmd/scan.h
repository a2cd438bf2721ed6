/* scan: what SCAN, SSCAN, HSCAN, ZSCAN and KEYS share: the cursor, MATCH and COUNT, and a reply
 * whose items are counted while they are found. */
#ifndef SERVER_CMD_SCAN_H
#define SERVER_CMD_SCAN_H

#include "server/call/call.h"

struct scan {
    struct call *call;
    uint64_t cursor;      /* where to go on from; 0 ends the walk */
    struct bytes pattern; /* "*" at first */
    int64_t count;        /* at least 1; 10 at first */
    uint64_t visited;     /* elements, whether they match or not */
    size_t items;         /* replied so far, aside */
    struct outbuf aside;
    struct resp_writer out; /* into aside */
};

/* Once something was given, the scan must end with scan_reply or scan_reply_items. */
void scan_begin(struct scan *scan, struct call *call);

/* The cursor at argument i, or ERR_INVALID_CURSOR. */
bool scan_read_cursor(struct scan *scan, int i);
/* MATCH and COUNT from argument i on, and TYPE if type_at is not NULL: its argument's position, 0
 * without one. */
bool scan_read_options(struct scan *scan, int i, int *type_at);

/* Takes steps (as dict_scan) until count elements were visited, or ten times as many steps, since
 * many may find nothing, or the walk is over. */
void scan_run(struct scan *scan, uint64_t (*step)(void *ctx, uint64_t cursor), void *ctx);

/* To be called for each element visited: does its name match? */
bool scan_visit(struct scan *scan, struct bytes name);
void scan_give(struct scan *scan, struct bytes item);
void scan_give_double(struct scan *scan, double item);

void scan_reply(struct scan *scan); /* the cursor and the items */
void scan_reply_items(struct scan *scan);

#endif
