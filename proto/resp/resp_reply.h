/* resp_reply: the nodes of a reply, and a parser of RESP2 and RESP3 replies into nodes.
 *
 * Scripts and the module receive replies as nodes (the sink of resp_write.h). The parser serves
 * tests, tools, and resp_splice, which passes a reply that was written as text to a sink. */
#pragma once

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

enum { NULL_OF_ARRAY = 1 };

/* One node of a reply. Nodes are in the order of the wire, so an aggregate's children follow it.
 * [1, [2, 3]] is the nodes
 *
 *     array of 2, integer 1, array of 2, integer 2, integer 3
 *
 * An attribute and its children precede the node that they describe, and do not count as children
 * of others. The text of a verbatim string begins with its format, such as "txt:". */
struct resp_node {
    enum resp_reply_type type;
    const char *text; /* status, error, bulk, double, verbatim, bignum: borrowed from the input */
    size_t len;
    /* Depends on the type. Integer: its value. Bool: 0 or 1. Aggregate: the number of children, for
     * a map or attribute twice the number of pairs. Null: NULL_OF_ARRAY if it is "*-1" in RESP2,
     * otherwise 0. */
    int64_t number;
    double real; /* REPLY_DOUBLE */
};

enum resp_reply_status { REPLY_WHOLE, REPLY_PARTIAL, REPLY_MALFORMED };

struct resp_reply {
    struct resp_node *nodes; /* owned */
    size_t count, cap;
    size_t consumed; /* bytes of the complete reply */
};

void resp_reply_init(struct resp_reply *reply);
void resp_reply_drop(struct resp_reply *reply);

/* Parses one reply at input[0..len) into reply->nodes, which are valid until the next call. A reply
 * nested more than 128 deep is REPLY_MALFORMED. After REPLY_PARTIAL the next call starts again at
 * byte 0, so for a large reply wait until most of it has arrived. */
enum resp_reply_status resp_reply_parse(struct resp_reply *reply, const char *input, size_t len);
