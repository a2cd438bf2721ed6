/* resp_reply: a strict parser of replies. It rejects lines that do not end in CR LF, streamed
 * strings and aggregates, and integers with a plus sign, so that tests notice errors of the
 * writer. */
#include "proto/resp/resp_reply.h"

#include <math.h>
#include <string.h>

#include "store/base/bytes.h"
#include "store/base/number.h"
#include "store/mem/mem.h"

enum { MAX_DEPTH = 128, FIRST_NODES = 16 };

struct walk {
    const char *input;
    size_t len, at;
    int depth;                       /* open aggregates */
    uint64_t missing[MAX_DEPTH + 1]; /* children still to come, by depth; [0]: the reply itself */
};

void resp_reply_init(struct resp_reply *reply)
{
    *reply = (struct resp_reply){ 0 };
}

void resp_reply_drop(struct resp_reply *reply)
{
    mem_free(reply->nodes);
    resp_reply_init(reply);
}

static enum resp_reply_status as_null(struct resp_node *node)
{
    int64_t of = node->type == REPLY_ARRAY ? NULL_OF_ARRAY : 0;
    *node = (struct resp_node){ .type = REPLY_NULL, .number = of };
    return REPLY_WHOLE;
}

/* The line was a length: reads that many bytes and a line end. */
static enum resp_reply_status take_blob(struct walk *walk, struct resp_node *node)
{
    int64_t size;
    if (!number_parse_int64(node->text, node->len, &size)) return REPLY_MALFORMED;
    if (size == -1 && node->type == REPLY_BULK) return as_null(node);
    if (size < 0) return REPLY_MALFORMED;
    node->text = walk->input + walk->at;
    node->len = (size_t)size;
    size_t left = walk->len - walk->at;
    if (left > node->len && node->text[node->len] != '\r') return REPLY_MALFORMED;
    if (left < node->len + 2) return REPLY_PARTIAL;
    if (node->text[node->len + 1] != '\n') return REPLY_MALFORMED;
    walk->at += node->len + 2;
    return REPLY_WHOLE;
}

static enum resp_reply_status take_value(struct walk *walk, char byte, struct resp_node *node)
{
    int64_t count;
    bool good;
    switch (node->type) {
    case REPLY_STATUS:
    case REPLY_BIGNUM: return REPLY_WHOLE;
    case REPLY_ERROR: return byte == '!' ? take_blob(walk, node) : REPLY_WHOLE;
    case REPLY_NULL: return node->len == 0 ? as_null(node) : REPLY_MALFORMED;
    case REPLY_BULK:
    case REPLY_VERBATIM: return take_blob(walk, node);
    case REPLY_DOUBLE: {
        bool is_negative = node->len > 0 && node->text[0] == '-';
        if (bytes_equal(bytes_of(node->text + is_negative, node->len - is_negative), LIT("nan"))) {
            node->real = (double)NAN;
            return REPLY_WHOLE;
        }
        good = number_parse_double(node->text, node->len, &node->real);
        return good ? REPLY_WHOLE : REPLY_MALFORMED;
    }
    case REPLY_INTEGER: good = number_parse_int64(node->text, node->len, &node->number); break;
    case REPLY_BOOL:
        good = node->len == 1 && (node->text[0] == 't' || node->text[0] == 'f');
        node->number = good && node->text[0] == 't';
        break;
    default: /* an aggregate: the line was its count */
        if (!number_parse_int64(node->text, node->len, &count)) return REPLY_MALFORMED;
        if (count == -1 && node->type == REPLY_ARRAY) return as_null(node);
        if (count < 0 || count > INT64_MAX / 2 || walk->depth == MAX_DEPTH) return REPLY_MALFORMED;
        if (node->type == REPLY_MAP || node->type == REPLY_ATTRIBUTE) count *= 2;
        node->number = count;
        walk->missing[++walk->depth] = (uint64_t)count;
        good = true;
    }
    node->text = NULL;
    node->len = 0;
    return good ? REPLY_WHOLE : REPLY_MALFORMED;
}

enum resp_reply_status resp_reply_parse(struct resp_reply *reply, const char *input, size_t len)
{
    static const char bytes[] = "+-!:$_*,#=(%~>|";
    static const enum resp_reply_type types[] = {
        REPLY_STATUS, REPLY_ERROR, REPLY_ERROR,  REPLY_INTEGER, REPLY_BULK,
        REPLY_NULL,   REPLY_ARRAY, REPLY_DOUBLE, REPLY_BOOL,    REPLY_VERBATIM,
        REPLY_BIGNUM, REPLY_MAP,   REPLY_SET,    REPLY_PUSH,    REPLY_ATTRIBUTE,
    };
    struct walk walk = { .input = input, .len = len };
    reply->count = 0;
    reply->consumed = 0;
    walk.missing[0] = 1;
    for (;;) {
        while (walk.missing[walk.depth] == 0) {
            if (walk.depth == 0) {
                reply->consumed = walk.at;
                return REPLY_WHOLE;
            }
            walk.depth--;
        }
        if (walk.at == len) return REPLY_PARTIAL;
        char byte = input[walk.at++];
        const char *found = memchr(bytes, byte, sizeof(bytes) - 1);
        if (found == NULL) return REPLY_MALFORMED;
        /* An attribute precedes the value that it belongs to, and is not a child itself. */
        struct resp_node node = { .type = types[found - bytes], .text = input + walk.at };
        if (node.type != REPLY_ATTRIBUTE) walk.missing[walk.depth]--;

        size_t left = len - walk.at;
        const char *end = memchr(node.text, '\r', left);
        if (end == NULL) return REPLY_PARTIAL;
        node.len = (size_t)(end - node.text);
        if (node.len + 1 == left) return REPLY_PARTIAL;
        if (end[1] != '\n') return REPLY_MALFORMED;
        walk.at += node.len + 2;

        enum resp_reply_status status = take_value(&walk, byte, &node);
        if (status != REPLY_WHOLE) return status;
        if (reply->count == reply->cap) {
            reply->cap = reply->cap == 0 ? FIRST_NODES : 2 * reply->cap;
            reply->nodes = mem_realloc(reply->nodes, reply->cap * sizeof(*reply->nodes));
        }
        reply->nodes[reply->count++] = node;
    }
}
