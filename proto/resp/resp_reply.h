/* resp_reply: the nodes of a reply, and a parser of RESP2 and RESP3 replies into nodes. Scripts and
 * the module receive replies as nodes (the sink of resp_write.h), and resp_write parses a reply
 * that was written as text before it goes to such a sink. Tests and tools parse the replies of a
 * server. Values are borrowed from the input. */
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

enum { NULL_OF_ARRAY = 1 };

/* One node of a reply, in the order on the wire; an aggregate's children follow it. An attribute
 * and its children precede the node they belong to, and do not count as children of others. The
 * text of a verbatim string begins with its format: "txt:". */
struct resp_node {
    enum resp_reply_type type;
    const char *text; /* status, error, bulk, double, verbatim, bignum: borrowed from the input */
    size_t len;
    /* An integer; 0 or 1 for a bool; the number of children of an aggregate (a map: twice the
     * pairs). For a null that is "*-1" in RESP2: NULL_OF_ARRAY. */
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

/* Parses one reply at input[0..len), nested at most 128 deep. Each call starts again at byte 0: for
 * a large reply, wait until most of it has arrived. */
enum resp_reply_status resp_reply_parse(struct resp_reply *reply, const char *input, size_t len);

#endif
