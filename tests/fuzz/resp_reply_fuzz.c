/* Fuzz target: the reply parser stays within its input, and a complete reply is partial at every
 * cut before its end. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/resp/resp_reply.h"

enum { MAX_CUT_TESTED = 256 };

static void require(bool holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

/* Texts are within the reply; aggregates have as many children as they announce. */
static void check_nodes(const struct resp_reply *reply, const char *input)
{
    uint64_t children = 0, announced = 1;
    for (size_t i = 0; i < reply->count; i++) {
        const struct resp_node *node = &reply->nodes[i];
        bool aggregate = node->type == REPLY_ARRAY || node->type == REPLY_MAP ||
                         node->type == REPLY_SET || node->type == REPLY_PUSH ||
                         node->type == REPLY_ATTRIBUTE;
        if (node->type != REPLY_ATTRIBUTE) children++;
        if (aggregate) announced += (uint64_t)node->number;
        if (node->text == NULL) continue;
        require(node->text >= input, "a text begins in the reply");
        require(node->text + node->len <= input + reply->consumed, "a text ends in the reply");
    }
    require(children == announced, "aggregates have the children they announce");
}

static enum resp_reply_status parse(struct resp_reply *reply, const uint8_t *data, size_t size)
{
    /* A block of its own, so that a sanitizer detects a read past the end. */
    char *input = malloc(size + (size == 0));
    memcpy(input, data, size);
    enum resp_reply_status status = resp_reply_parse(reply, input, size);
    if (status == REPLY_WHOLE) {
        require(reply->consumed <= size, "a reply ends in the input");
        check_nodes(reply, input);
    }
    free(input);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    struct resp_reply reply;
    resp_reply_init(&reply);
    enum resp_reply_status status = parse(&reply, data, size);
    size_t whole = reply.consumed;
    if (status == REPLY_WHOLE && whole <= MAX_CUT_TESTED)
        for (size_t cut = 0; cut < whole; cut++)
            require(parse(&reply, data, cut) == REPLY_PARTIAL, "a cut reply is partial");
    resp_reply_drop(&reply);
    return 0;
}
