/* slowlog: the last calls that took long, newest first.
 * Knows what it is told of a call; refuses to know clocks and sockets. */
#ifndef SERVER_OBSERVE_SLOWLOG_H
#define SERVER_OBSERVE_SLOWLOG_H

#include <stddef.h>
#include <stdint.h>

#include "store/base/bytes.h"

struct slowlog;

/* A call that took long, as it is told. Everything is borrowed. */
struct slow {
    int64_t at_sec, usec;
    int argc;
    const struct bytes *argv;
    struct bytes peer, name;
};

/* ... and as it is kept. */
struct slow_call {
    uint64_t id; /* counts up from 0, over resets too */
    int64_t at_sec, usec;
    int argc;           /* at most 32 */
    struct blob **argv; /* long ones are cut, with a word about the rest */
    struct blob *peer, *name;
    struct slow_call *older;
};

struct slowlog *slowlog_new(void);
void slowlog_free(struct slowlog *slowlog);

/* Keeps a copy as the newest, and at most `max` in all. */
void slowlog_note(struct slowlog *slowlog, const struct slow *slow, size_t max);
size_t slowlog_count(const struct slowlog *slowlog);
const struct slow_call *slowlog_newest(const struct slowlog *slowlog); /* NULL when empty */
void slowlog_reset(struct slowlog *slowlog);

#endif
