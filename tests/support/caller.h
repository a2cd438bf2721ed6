/* caller: a session with its own output, for tests of the messages that each session receives. */
#pragma once

#include <check.h>
#include <string.h>

#include "server/cmd/call/session.h"
#include "server/engine/session_reset.h"

struct caller {
    struct session session; /* first, because caller_wake casts its address */
    struct outbuf out;
    unsigned wakes;
};

static inline void caller_wake(struct session *session)
{
    ((struct caller *)session)->wakes++;
}

static inline void caller_init(struct caller *caller)
{
    outbuf_init(&caller->out);
    session_init(&caller->session, &caller->out);
    caller->session.changed = caller_wake;
    caller->wakes = 0;
}

static inline void caller_drop(struct caller *caller, struct watch *watch, struct pubsub *pubsub)
{
    session_drop(&caller->session, watch, pubsub, NULL, NULL);
    outbuf_drop(&caller->out);
}

/* Returns the output since the last call, with "\r\n" shown as "|"; valid until the next call. */
static inline const char *caller_heard(struct caller *caller)
{
    static char text[16 * 1024];
    size_t len = caller->out.len, to = 0;
    ck_assert_uint_lt(len, sizeof(text));
    outbuf_copy(&caller->out, text);
    outbuf_consume(&caller->out, len);
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\r') continue;
        text[to++] = text[i] == '\n' ? '|' : text[i];
    }
    text[to] = '\0';
    return text;
}

#define hears(caller, text) ck_assert_str_eq(caller_heard(caller), text)
