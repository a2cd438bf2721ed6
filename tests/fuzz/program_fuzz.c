/* Fuzz target: whole programs. For any requests, callers receive complete replies only, every
 * structure passes its check after each request, and the recorded effects build the same data
 * again.
 *
 * If the first byte is below 128, the others choose commands and arguments from the table; else
 * they are the requests of one caller, as bytes of its connection. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/resp/resp_read.h"
#include "proto/resp/resp_reply.h"
#include "tests/support/program.h"
#include "tests/support/server_world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RAW = 128, ARGS_MAX = 1024, CALLERS = 3 };

struct input {
    const uint8_t *data;
    size_t left;
};

/* One byte for each choice, two where there are many; behind the end always the first. */
static unsigned take(void *ctx, unsigned limit)
{
    struct input *input = ctx;
    unsigned value = 0;
    for (unsigned reach = 1; reach < limit && input->left > 0; reach *= 256, input->left--)
        value = value * 256 + *input->data++;
    return value % limit;
}

/* SHUTDOWN writes to the log; the others need files. */
static bool is_wanted(struct command_ref ref)
{
    static const char *const unwanted[] = { "SHUTDOWN", "SAVE", "BGSAVE", "BGREWRITEAOF",
                                            "LASTSAVE" };
    for (size_t i = 0; i < sizeof(unwanted) / sizeof(unwanted[0]); i++)
        if (strcmp(ref.row->name, unwanted[i]) == 0) return false;
    return true;
}

static void check_heard(struct bytes text)
{
    struct resp_reply reply;
    resp_reply_init(&reply);
    for (size_t at = 0; at < text.len; at += reply.consumed)
        if (resp_reply_parse(&reply, text.data + at, text.len - at) != REPLY_WHOLE) abort();
    resp_reply_drop(&reply);
}

static void call(struct server_world *world, unsigned caller, int argc, const struct bytes *argv)
{
    check_heard(server_world_call(world, caller, argc, argv));
    store_check(world->world.store);
    for (unsigned i = 0; i < SERVER_WORLD_CALLERS; i++)
        check_heard(server_world_heard(world, i)); /* published messages */
}

/* ---- commands from the table ----------------------------------------------------------------- */

/* Steps to the next deadline, 1 ms before or after it, or by a few milliseconds. */
static void move_clock(struct server_world *world, const struct program_source *source)
{
    msec now = world->world.now, due = store_next_due(world->world.store);
    unsigned how = source->below(source->ctx, 8);
    msec to = how < 3 && due != NEVER ? due - (msec)how : now + (msec)how;
    if (to < now) to = now;
    if (source->below(source->ctx, 2) == 0)
        server_world_step(world, to);
    else
        server_world_hold(world, to);
    store_check(world->world.store);
}

static void run_chosen(struct server_world *world, struct input *input)
{
    static struct program_rows rows;
    static struct program_call made;
    const struct program_source source = { take, input };
    unsigned caller = 0;
    program_rows(&rows, world->engine.commands, is_wanted);
    while (input->left > 0) {
        unsigned what = take(input, 16);
        if (what == 15) {
            move_clock(world, &source);
            continue;
        }
        if (what == 14) caller = take(input, CALLERS);
        program_make(&made, rows.refs[take(input, rows.count)], world->world.now, &source);
        if (what == 13) program_spoil(&made, &source);
        call(world, caller, made.argc, made.argv);
    }
}

/* ---- requests as text ------------------------------------------------------------------------ */

/* Uses a block of exactly the input's size, so that a sanitizer detects a read past the end. */
static void run_raw(struct server_world *world, struct input *input)
{
    const struct resp_limits limits = {
        .max_bulk = 1 << 20, .max_args = ARGS_MAX, .max_line = 1 << 16, .max_bulk_anon = 1 << 14
    };
    struct bytes argv[ARGS_MAX];
    struct resp_reader reader;
    resp_reader_init(&reader);
    const char *at = (const char *)input->data;
    for (size_t left = input->left; left > 0; left -= reader.consumed, at += reader.consumed) {
        if (resp_read(&reader, at, left, &limits) != RESP_REQUEST) break;
        if (reader.argc == 0 || reader.argc > ARGS_MAX) continue;
        for (int i = 0; i < reader.argc; i++)
            argv[i] = bytes_of(resp_reader_arg(&reader, at, i), reader.args[i].len);
        struct command_ref ref = commands_find(world->engine.commands, argv[0]);
        if (ref.row != NULL && !is_wanted(ref)) continue;
        call(world, 0, reader.argc, argv);
        if (server_world_session(world, 0)->state == SESSION_CLOSING) break;
    }
    resp_reader_drop(&reader);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void check_replay(struct server_world *world)
{
    struct store *copy = world_replay(&world->world);
    struct digest live = store_digest(world->world.store, INT64_MIN);
    struct digest replayed = store_digest(copy, INT64_MIN);
    if (live.high != replayed.high || live.low != replayed.low) abort();
    store_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct server_world world;
    if (size == 0) return 0;
    struct input input = { data + 1, size - 1 };
    server_world_init(&world, SERVER_WORLD_KEEPS);
    if (data[0] < RAW)
        run_chosen(&world, &input);
    else
        run_raw(&world, &input);
    check_replay(&world);
    server_world_drop(&world);
    return 0;
}
