/* replication_load: receives the full copy of a master into a second store, while turns of the loop
 * serve the old data. See replication.h. Depends on copy.h and import.h, the readers of the two
 * forms of a copy. */
#include <inttypes.h>
#include <stdio.h>

#include "server/base/log.h"
#include "server/base/process.h"
#include "server/base/thread.h"
#include "server/disk/format/copy.h"
#include "server/disk/import/import.h"
#include "server/replica/replication_state.h"
#include "store/mem/mem.h"
#include "store/trail/trail.h"

enum {
    LOAD_USEC = 500,   /* time between two turns while a copy is being loaded */
    COPY_PIECE = 8192, /* bytes per read, few so that turns come in time */
    /* Seconds before another copy is requested: after a copy that ended early or a stream that
     * could not be applied, and after a copy that could not be loaded. Each of the next
     * MAX_DOUBLINGS failures in a row doubles them. */
    RETRY_BROKEN = 1,
    RETRY_BAD = 10,
    MAX_DOUBLINGS = 4,
    ACK_MSEC_MOST = 1000,
    STEADY = 60, /* a copy and this many seconds of the stream after it count as a success */
};

/* Runs a turn of the loop every LOAD_USEC, so that clients are served from the old data. */
static void serve_meanwhile(struct replication *r, bool wait)
{
    int64_t now = clock_mono_usec();
    if (!wait && now - r->turned_usec < LOAD_USEC) return;
    (wait ? loop_wait : loop_poll)(r->w.loop);
    r->turned_usec = clock_mono_usec();
}

static void pause_load(void *ctx)
{
    serve_meanwhile(ctx, false);
}

/* Was the copy aborted? A turn of the loop may have begun to follow another master, whose copy may
 * already be arriving. */
static bool is_over(const struct replication *r)
{
    return link_state(r->link) != LINK_COPY || r->link_id != r->loads_from ||
           loop_stopped(r->w.loop);
}

static ssize_t read_copy(void *ctx, void *to, size_t size)
{
    struct replication *r = ctx;
    if (size > COPY_PIECE) size = COPY_PIECE;
    for (;;) {
        if (is_over(r)) return -1;
        size_t got = link_copy_read(r->link, to, size);
        serve_meanwhile(r, got == 0 && !link_copy_ended(r->link));
        r->given += got;
        if (got > 0) return (ssize_t)got;
        if (link_copy_ended(r->link)) return 0;
    }
}

static bool has_copy(void *ctx)
{
    const struct replication *r = ctx;
    return is_over(r) || link_copy_ready(r->link) > 0 || link_copy_ended(r->link);
}

static bool fail_end(char why[WHY])
{
    snprintf(why, WHY, "it has bytes after the end of its data");
    return false;
}

static bool load_rdb(struct replication *r, struct store *store, unsigned *db, char why[WHY])
{
    struct import *import = mem_zalloc(sizeof(*import));
    *import = (struct import){ .store = store,
                               .now = clock_now(r->w.clock),
                               .between = pause_load,
                               .ctx = r,
                               .skip = r->w.conf->import_skip,
                               .skip_unsupported = r->w.conf->import_skip_unsupported };
    bool good = import_rdb(import, read_copy, r);
    for (unsigned i = 0; i < import->kind_count; i++)
        log_line(LOG_WARNING,
                 "Full copy: %s %" PRIu64 " key%s of the unsupported type %s, the first is '%s'",
                 import->kinds[i].skipped ? "skipped" : "found", import->kinds[i].keys,
                 log_plural(import->kinds[i].keys), import->kinds[i].name,
                 import->kinds[i].first_key);
    if (!good) snprintf(why, WHY, "%s", import->why);
    if (good && import->end != r->given) good = fail_end(why);
    *db = import->stream_db;
    mem_free(import);
    return good;
}

void replication_acknowledge_again(void *ctx)
{
    struct replication *r = ctx;
    bool begun = backlog_end(r->backlog) > r->copy_end || link_stream(r->link).len > 0;
    if (begun || link_state(r->link) != LINK_STREAM || r->link_id != r->loads_from) return;
    replication_acknowledge(r);
    r->ack_msec *= 2;
    if (r->ack_msec < ACK_MSEC_MOST) loop_timer_set_msec(r->ack_timer, r->ack_msec);
}

static void take_over(struct replication *r, struct store *store, unsigned db)
{
    const struct link_copy copy = *link_copy(r->link);
    struct engine *engine = r->w.engine;
    store_replace(engine->store, store);
    trail_replaced(engine->store->trail, clock_now(engine->clock));
    if (engine->persist != NULL) persist_replaced(engine->persist);
    commit_hooks_replaced(engine->hooks);
    replicas_close_all(r->replicas, "the data was replaced with a full copy from the master");
    history_adopt(&r->position.history, copy.id);
    backlog_restart(r->backlog, copy.offset);
    r->active = r->has_position = true;
    r->synced = r->marked = 0;
    r->full_copies++;
    r->copied_usec = clock_mono_usec();
    replication_stream_begins(r, copy.offset, db);
    link_copy_done(r->link);
    replication_update_role(r);

    /* A Redis server begins the stream when the replica acknowledges that it has loaded the copy.
     * But the server ignores acknowledgements until it has noticed the end of the child that wrote
     * the copy. So repeat the acknowledgement until the stream begins, less often each time;
     * replication_second takes over in the end. */
    replication_acknowledge(r);
    r->copy_end = backlog_end(r->backlog);
    r->ack_msec = 1;
    loop_timer_set_msec(r->ack_timer, r->ack_msec);

    log_line(LOG_NOTICE,
             "Full copy from the master loaded: %zu key%s, %" PRIu64
             " bytes; the stream continues at offset %" PRIu64,
             store_count(engine->store), log_plural(store_count(engine->store)), copy.received,
             copy.offset);
}

static void wait_before_next_copy(struct replication *r, int64_t seconds)
{
    int64_t now = clock_mono_usec();
    if (r->copied_usec > 0 && now - r->copied_usec > STEADY * USEC) r->bad_copies = 0;
    r->copied_usec = 0;
    seconds <<= r->bad_copies < MAX_DOUBLINGS ? r->bad_copies : MAX_DOUBLINGS;
    r->bad_copies++;
    r->retry_usec = now + seconds * USEC;
    log_line(LOG_NOTICE, "Asking the master for another full copy in %" PRId64 " s", seconds);
}

void replication_delay_copy(struct replication *r)
{
    wait_before_next_copy(r, RETRY_BROKEN);
}

void replication_note_lost_copy(struct replication *r)
{
    if (r->follows && !r->loading && link_take_lost_copy(r->link)) replication_delay_copy(r);
}

bool replication_load(struct replication *r)
{
    char why[WHY] = "";
    unsigned db = 0;
    if (!r->follows || r->loading || !link_copy_begins(r->link)) return false;
    r->loading = true;
    r->given = 0;
    r->loads_from = r->link_id;
    r->turned_usec = clock_mono_usec();
    struct engine *engine = r->w.engine;
    struct store *store = store_new(engine->store->database_count);
    store->counts_access = engine->store->counts_access;
    struct copy_source source = {
        .read = read_copy,
        .ready = has_copy,
        .mono_usec = clock_mono_usec,
        .between = pause_load,
        .start_thread = process_cores() > 1 ? thread_start : NULL,
        .ctx = r,
    };
    char rest;
    bool good = link_copy(r->link)->is_rdb
                    ? load_rdb(r, store, &db, why)
                    : copy_load(store, &source, clock_now(r->w.clock), &db, why, WHY);
    /* The end must have arrived, too. */
    good = good && (read_copy(r, &rest, 1) == 0 || fail_end(why));
    r->loading = false;
    if (good && !is_over(r) && r->follows) {
        take_over(r, store, db);
        return true;
    }
    store_discard(engine->store, store);
    if (is_over(r)) {
        replication_note_lost_copy(r);
        return true;
    }
    char text[WHY + 64];
    snprintf(text, sizeof(text), "its full copy can't be loaded: %s. The old data is kept", why);
    link_close(r->link, text);
    link_take_lost_copy(r->link);
    wait_before_next_copy(r, RETRY_BAD);
    return true;
}
