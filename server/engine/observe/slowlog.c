/* slowlog: see slowlog.h. */
#include "server/engine/observe/slowlog.h"

#include <stdio.h>

#include "store/mem/blob.h"
#include "store/mem/mem.h"

enum { ARGS_MAX = 32, ARG_MAX_LEN = 128 };

struct slowlog {
    struct slow_call *newest, *oldest;
    size_t count;
    uint64_t next_id;
};

struct slowlog *slowlog_new(void)
{
    return mem_zalloc(sizeof(struct slowlog));
}

static void keep_newest(struct slowlog *slowlog, size_t keep)
{
    while (slowlog->oldest != NULL && slowlog->count > keep) {
        struct slow_call *call = slowlog->oldest;
        slowlog->oldest = call->newer;
        if (call->newer != NULL)
            call->newer->older = NULL;
        else
            slowlog->newest = NULL;
        for (int i = 0; i < call->argc; i++)
            blob_free(call->argv[i]);
        mem_free(call->argv);
        blob_free(call->peer);
        blob_free(call->name);
        mem_free(call);
        slowlog->count--;
    }
}

void slowlog_reset(struct slowlog *slowlog)
{
    keep_newest(slowlog, 0);
}

void slowlog_free(struct slowlog *slowlog)
{
    keep_newest(slowlog, 0);
    mem_free(slowlog);
}

void slowlog_note(struct slowlog *slowlog, const struct slow *slow, size_t max)
{
    struct slow_call *kept = mem_alloc(sizeof(*kept));
    *kept = (struct slow_call){ .id = slowlog->next_id++,
                                .at_sec = slow->at_sec,
                                .usec = slow->usec,
                                .blocked_usec = slow->blocked_usec,
                                .argc = slow->argc < ARGS_MAX ? slow->argc : ARGS_MAX,
                                .peer = blob_new(slow->peer),
                                .name = blob_new(slow->name) };
    kept->argv = mem_alloc((size_t)kept->argc * sizeof(struct blob *));
    for (int i = 0; i < kept->argc; i++) {
        enum { REST_MAX = 48 };
        char line[ARG_MAX_LEN + REST_MAX];
        struct bytes text = slow->argv[i];
        if (text.len > ARG_MAX_LEN) {
            memcpy(line, text.data, ARG_MAX_LEN);
            int rest = snprintf(line + ARG_MAX_LEN, REST_MAX, "... (%zu more bytes)",
                                text.len - ARG_MAX_LEN);
            text = bytes_of(line, ARG_MAX_LEN + (size_t)rest);
        }
        kept->argv[i] = blob_new(text);
    }
    if (slow->argc > ARGS_MAX) { /* the last one kept shows the number of those left out */
        char rest[64];
        int len =
            snprintf(rest, sizeof(rest), "... (%d more arguments)", slow->argc - ARGS_MAX + 1);
        blob_free(kept->argv[ARGS_MAX - 1]);
        kept->argv[ARGS_MAX - 1] = blob_new(bytes_of(rest, (size_t)len));
    }
    kept->older = slowlog->newest;
    if (kept->older != NULL)
        kept->older->newer = kept;
    else
        slowlog->oldest = kept;
    slowlog->newest = kept;
    slowlog->count++;
    keep_newest(slowlog, max);
}

size_t slowlog_count(const struct slowlog *slowlog)
{
    return slowlog->count;
}

const struct slow_call *slowlog_newest(const struct slowlog *slowlog)
{
    return slowlog->newest;
}
