/* follower: see follower.h. */
#include "server/replica/follower.h"

#include <inttypes.h>

#include "server/base/log.h"
#include "server/disk/effect/effect_text.h"
#include "server/disk/effect/request.h"
#include "server/engine/replay_call.h"
#include "server/engine/unblock.h"
#include "store/mem/mem.h"
#include "store/txn/apply.h"

enum { WHY = 256, NAME_SHOWN = 32, UNITS_PER_CHECK = 16, LOG_USEC = 60 * 1000 * 1000 };

/* The part of the next unit that has arrived and been parsed. Kept, so that this part is not parsed
 * again when more bytes arrive. */
struct arrived {
    size_t len; /* bytes that were parsed; 0 until some have arrived */
    bool bracketed, multi;
};

struct follower {
    struct follower_wiring w;
    struct effect_reader reader; /* for effects; its db is the selected database */
    struct request request;
    struct txn txn;
    struct arrived arrived;
    struct request_progress progress; /* progress in the first command after `arrived` */
    uint64_t commands; /* bytes of the stream before effects begin, or FOLLOW_COMMANDS */
    unsigned db;       /* the database that commands have selected */
    bool skips;        /* an effect of the command did not fit the data of a writable replica */
    uint64_t failed;
    int64_t logged_usec; /* when a failed command was last logged */
    char why[WHY];
};

struct follower *follower_new(const struct follower_wiring *wiring)
{
    struct follower *follower = mem_zalloc(sizeof(*follower));
    follower->w = *wiring;
    effect_reader_init(&follower->reader);
    request_init(&follower->request);
    return follower;
}

void follower_free(struct follower *follower)
{
    if (follower == NULL) return;
    request_drop(&follower->request);
    mem_free(follower);
}

void follower_begin(struct follower *follower, uint64_t commands, unsigned db)
{
    follower->commands = commands;
    follower->db = follower->reader.db = db;
    follower->arrived = (struct arrived){ 0 };
    follower->progress = (struct request_progress){ 0 };
}

static bool reads_effects(const struct follower *follower)
{
    return follower->commands == 0;
}

unsigned follower_db(const struct follower *follower)
{
    return reads_effects(follower) ? follower->reader.db : follower->db;
}

const char *follower_error(const struct follower *follower)
{
    return follower->why;
}

uint64_t follower_failed(const struct follower *follower)
{
    return follower->failed;
}

/* ---- one command ----------------------------------------------------------------------------- */

static void show_name(char to[NAME_SHOWN + 1], struct bytes name)
{
    size_t len = name.len < NAME_SHOWN ? name.len : NAME_SHOWN;
    for (size_t i = 0; i < len; i++)
        to[i] = (char)(name.data[i] > ' ' && name.data[i] <= '~' ? name.data[i] : '?');
    to[len] = '\0';
}

static bool is_command(const struct request *request, const char *name)
{
    return bytes_is_word(request->argv[0], name);
}

/* Applies one effect of the stream. An effect that does not fit the data shows that the data
 * differs from the master's: returns false. Only on a writable replica, whose clients may have
 * changed the data, such an effect is skipped instead, as Redis skips a command that fails. */
static bool apply_one(void *ctx, const struct effect *effect)
{
    struct follower *follower = ctx;
    bool good = apply_effect(&follower->txn, effect);
    follower->txn.one_command = true;
    if (!good && !follower->w.engine->conf->replica_read_only) follower->skips = good = true;
    return good;
}

/* Skips a command that this server lacks or that failed, as a Redis replica does. */
static void skip_command(struct follower *follower)
{
    char name[NAME_SHOWN + 1];
    int64_t now = clock_mono_usec();
    follower->failed++;
    if (follower->logged_usec != 0 && now - follower->logged_usec < LOG_USEC) return;
    follower->logged_usec = now;
    show_name(name, follower->request.argv[0]);
    log_line(LOG_WARNING,
             "A command of the master failed here and was skipped: '%s'. %" PRIu64
             " so far: this replica may differ from its master",
             name, follower->failed);
}

static bool run_command(struct follower *follower)
{
    follower->txn.one_command = false;
    const struct request *request = &follower->request;
    if (is_command(request, "MULTI") || is_command(request, "EXEC")) return true;
    if (is_command(request, "PING")) return true;
    if (is_command(request, "REPLCONF")) {
        if (request->argc > 1 && bytes_is_word(request->argv[1], "GETACK"))
            follower->w.ask(follower->w.ctx);
        return true;
    }
    bool ours = reads_effects(follower);
    follower->skips = false;
    if (ours &&
        effect_text_read(request->argc, request->argv, &follower->reader, apply_one, follower)) {
        if (follower->skips) skip_command(follower);
        return true;
    }
    if (ours && !bytes_is_word(request->argv[0], "PUBLISH") &&
        !bytes_is_word(request->argv[0], "SPUBLISH")) {
        char name[NAME_SHOWN + 1];
        show_name(name, request->argv[0]);
        snprintf(follower->why, WHY, "'%s' does not fit the data", name);
        return false;
    }
    if (!replay_call_in(follower->w.engine->commands, &follower->txn, &follower->db, request->argc,
                        request->argv))
        skip_command(follower);
    return true;
}

/* ---- units ----------------------------------------------------------------------------------- */

enum measured { MEASURED, PARTIAL, MALFORMED };

/* Measures the next item at `data`: a command, or an empty line (*empty). */
static enum measured measure(struct request_progress *progress, const char *data, size_t len,
                             size_t *size, bool *empty)
{
    *empty = false;
    if (len == 0) return PARTIAL;
    if (data[0] == '\n' || data[0] == '\r') {
        *empty = true;
        *size = data[0] == '\n' ? 1 : 2;
        return len < *size ? PARTIAL : data[*size - 1] == '\n' ? MEASURED : MALFORMED;
    }
    switch (request_measure_on(progress, data, len, size)) {
    case REQUEST_WHOLE: return MEASURED;
    case REQUEST_PARTIAL: return PARTIAL;
    default: return MALFORMED;
    }
}

static bool is_text(const char *data, size_t size, const char *text)
{
    return size < 32 && bytes_is_word(bytes_of(data, size), text);
}

/* Measures the unit that begins at `data`. A single "\n", which Redis sends to keep the link alive,
 * is a unit of its own. */
static enum measured measure_unit(struct follower *follower, const char *data, size_t len,
                                  size_t *whole)
{
    struct arrived *arrived = &follower->arrived;
    enum measured result = MEASURED;
    size_t size;
    bool empty;
    if (arrived->len == 0) { /* it begins with its first command, or with an empty line */
        result = measure(&follower->progress, data, len, &size, &empty);
        if (result != MEASURED) return result;
        *arrived =
            (struct arrived){ .len = size,
                              .bracketed = empty && size == 2 && reads_effects(follower),
                              .multi = !empty && is_text(data, size, "*1\r\n$5\r\nMULTI\r\n") };
    }
    while (arrived->bracketed || arrived->multi) {
        result =
            measure(&follower->progress, data + arrived->len, len - arrived->len, &size, &empty);
        if (result != MEASURED) return result;
        if (arrived->bracketed && empty) arrived->bracketed = false;
        if (arrived->multi && is_text(data + arrived->len, size, "*1\r\n$4\r\nEXEC\r\n"))
            arrived->multi = false;
        arrived->len += size;
    }
    *whole = arrived->len;
    *arrived = (struct arrived){ 0 };
    return MEASURED;
}

static bool apply_unit(struct follower *follower, const char *data, size_t len)
{
    struct engine *engine = follower->w.engine;
    if (follower_db(follower) >= engine->store->database_count) {
        snprintf(follower->why, WHY,
                 "database %u is selected, but there are only %u here: raise 'databases'",
                 follower_db(follower), engine->store->database_count);
        return false;
    }
    txn_begin(&follower->txn, engine->store, clock_now(engine->clock), FROM_MASTER);
    txn_call(&follower->txn, follower_db(follower));
    bool good = true;
    struct request_progress progress = { 0 };
    for (size_t at = 0, size; good && at < len; at += size) {
        bool empty;
        good = measure(&progress, data + at, len - at, &size, &empty) == MEASURED;
        if (!good || empty) continue;
        good = request_read(&follower->request, data + at, len - at, &size) == REQUEST_WHOLE &&
               (follower->request.argc == 0 || run_command(follower));
    }
    follower->w.applied(follower->w.ctx, bytes_of(data, len), good);
    txn_commit(&follower->txn);
    if (blocked_pending(engine->blocked)) unblock_ready(engine);
    return good;
}

enum followed follower_apply(struct follower *follower, const char *data, size_t len, int64_t usec,
                             size_t *used)
{
    int64_t began = clock_mono_usec();
    *used = 0;
    follower->why[0] = '\0';
    for (unsigned units = 1; *used < len; units++) {
        size_t size = 0;
        enum measured result = measure_unit(follower, data + *used, len - *used, &size);
        if (result == PARTIAL) {
            /* A unit is applied only when it has arrived completely and is stored until then. Limit
             * its length, so that a bad master can't use up the memory. */
            int64_t limit = follower->w.engine->conf->client_query_buffer_limit;
            if (len - *used <= (size_t)limit) return *used > 0 ? FOLLOWED : FOLLOW_PART;
            snprintf(follower->why, WHY,
                     "a transaction or command is longer than client-query-buffer-limit");
            return FOLLOW_BROKEN;
        }
        if (result == MALFORMED) {
            snprintf(follower->why, WHY, "bytes that are not a command");
            return FOLLOW_BROKEN;
        }
        if (!apply_unit(follower, data + *used, size)) return FOLLOW_BROKEN;
        *used += size;
        if (!reads_effects(follower) && follower->commands != FOLLOW_COMMANDS) {
            follower->commands -= size < follower->commands ? size : follower->commands;
            if (reads_effects(follower)) follower->reader.db = follower->db;
        }
        if (units % UNITS_PER_CHECK == 0 && clock_mono_usec() - began >= usec) break;
    }
    return FOLLOWED;
}
