/* resp_reply: a parser of replies, RESP2 and RESP3, for tests, tools and links to other servers.
 * Knows bytes; refuses to know sockets. Values are borrowed from the input. */
#ifndef PROTO_RESP_RESP_REPLY_H
#define PROTO_RESP_RESP_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum resp_reply_type {
    REPLY_STATUS,
    REPLY_ERROR,
    REPLY_INTEGER,
    REPLY_BULK,
    REPLY_NULL,
    REPLY_ARRAY,
    REPLY_DOUBLE,
    REPLY_BOOL,
    REPLY_VERBATIM,
    REPLY_BIGNUM,
    REPLY_MAP,
    REPLY_SET,
    REPLY_PUSH,
    REPLY_ATTRIBUTE,
};

/* One node of a reply, in the order of the wire; an aggregate's children follow it. An attribute
 * and its children stand before the node they belong to and do not count as children of others.
 * A verbatim string's text begins with its format: "txt:". */
struct resp_node {
    enum resp_reply_type type;
    const char *text; /* status, error, bulk, double, verbatim, bignum: borrowed from the input */
    size_t len;
    int64_t number; /* integer; bool 0/1; aggregates: how many child nodes (a map: twice pairs) */
    double real;    /* REPLY_DOUBLE */
};

enum resp_reply_status { REPLY_WHOLE, REPLY_PARTIAL, REPLY_MALFORMED };

struct resp_reply {
    struct resp_node *nodes; /* owned */
    size_t count, cap;
    size_t consumed; /* bytes of one whole reply */
};

void resp_reply_init(struct resp_reply *reply);
void resp_reply_drop(struct resp_reply *reply);

/* Parses one reply at input[0..len). Nested at most 128 deep. Starts over at byte 0 on each
 * call: callers that stream large replies give it whole ones. */
enum resp_reply_status resp_reply_parse(struct resp_reply *reply, const char *input, size_t len);

/* The number of bytes that one whole reply at the front takes, 0 if partial, -1 if malformed. */
int64_t resp_reply_length(const char *input, size_t len);

#endif
