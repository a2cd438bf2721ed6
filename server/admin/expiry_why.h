/* expiry_why: answers EXPIRY WHY: who set the deadline of a key or member, and what ended the key
 * or member. The metrics port shows the same answer on a page. */
#pragma once

#include "store/store.h"

struct call;

#define EXPIRY_WHY_REPLY                                                                           \
    "map['state' 'live'|'overdue'|'missing' 'deadline' integer|null 'db' integer 'hash' bulk "     \
    "'since' integer 'shared' integer 'records' [map['what' bulk 'at' integer 'deadline' "         \
    "integer|null 'before' integer|null 'late-ms' integer|null 'by' bulk 'policy' bulk|null "      \
    "'option' bulk|null 'command' bulk|null 'script' integer 'client-id' integer|null "            \
    "'client-name' bulk|null 'user' bulk|null 'memory' integer|null 'to-db' integer|null "         \
    "'to-hash' bulk|null] ...]]: the state and the deadline of the key or member "                 \
    "('overdue': expired and still kept), and what is recorded of it, newest first; 'before' is "  \
    "null if there was none or "                                                                   \
    "it is not known"

void cmd_expiry_why(struct call *call);

/* A question about a key, or a member if that is not NULL. The store has a trail. */
struct why_question {
    const struct store *store;
    const struct keyspace *ks;
    struct bytes key;
    const struct bytes *member;
    msec now;
};

/* Receives the answer, which is one object, as a sequence of calls. `name` is the name of a value
 * inside an object; NULL for an element of a list, and for the whole answer. */
struct why_sink {
    void (*open)(void *ctx, const char *name, char bracket, size_t count); /* '{' or '[' */
    void (*close)(void *ctx, char bracket);                                /* '}' or ']' */
    void (*text)(void *ctx, const char *name, struct bytes text);
    void (*integer)(void *ctx, const char *name, int64_t value);
    void (*null)(void *ctx, const char *name);
    void *ctx;
};

/* Passes the answer to the sink. Changes nothing: expired data that has not been removed yet is
 * reported as overdue. */
void expiry_why_answer(const struct why_question *question, const struct why_sink *sink);
