/* lib_redis: the table `redis` that scripts see. Depends on host, which runs commands, and on
 * lua_reply, which turns their replies into Lua values. */
#pragma once

#include "server/script/host.h"
#include "server/script/lua/interpreter.h"

struct lib_redis {
    struct interpreter *interpreter;
    struct host *host;
    /* Called after each command; may raise a Lua error. */
    void (*on_command)(void *ctx, lua_State *lua);
    void *ctx;
    int version;   /* RESP inside the script: redis.setresp */
    char *scratch; /* a buffer for the arguments of a call and the texts of numbers; owned */
    size_t scratch_size;
};

/* Pushes the table; `lib` must live as long as the state. */
void lib_redis_open(struct lib_redis *lib);
void lib_redis_drop(struct lib_redis *lib);
