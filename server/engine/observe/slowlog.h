/* slowlog: a list of the last slow calls, newest first. The caller decides which calls are slow. */
#pragma once

#include "store/base/bytes.h"

struct slowlog;

/* A slow call, as the caller describes it. Everything is borrowed. */
struct slow {
    int64_t at_sec, usec;
    int64_t blocked_usec; /* the time it waited for data, in addition to usec */
    int argc;
    const struct bytes *argv;
    struct bytes peer, name;
};

/* A slow call, as it is stored. */
struct slow_call {
    uint64_t id; /* counts up from 0, even across a reset */
    int64_t at_sec, usec, blocked_usec;
    int argc;           /* at most 32; the last of these then says how many were left out */
    struct blob **argv; /* long arguments are cut; their ends say how many bytes were cut */
    struct blob *peer, *name;
    struct slow_call *older, *newer;
};

struct slowlog *slowlog_new(void);
void slowlog_free(struct slowlog *slowlog);

/* Stores a copy as the newest, then drops the oldest beyond `max`. */
void slowlog_note(struct slowlog *slowlog, const struct slow *slow, size_t max);
size_t slowlog_count(const struct slowlog *slowlog);
const struct slow_call *slowlog_newest(const struct slowlog *slowlog); /* NULL when empty */
void slowlog_reset(struct slowlog *slowlog);
