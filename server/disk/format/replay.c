/* replay: see replay.h. Applies commands to the store; replay_records.c reads a journal's file. */
#include "server/disk/format/replay.h"

#include <stdio.h>

#include "store/txn/apply.h"
#include "store/reclaim.h"

enum { NAME_SHOWN = 32, RECLAIM_WORK = 4096, TELL_BYTES = 256 * 1024 };

void replay_init(struct replay *replay, struct store *store, msec now)
{
    *replay = (struct replay){ .store = store, .now = now };
    effect_reader_init(&replay->reader);
    request_init(&replay->request);
}

void replay_drop(struct replay *replay)
{
    request_drop(&replay->request);
}

void replay_restart(struct replay *replay)
{
    replay->reader.db = 0;
}

/* ---- one command ----------------------------------------------------------------------------- */

static bool count_and_apply(void *ctx, const struct effect *effect)
{
    struct replay *replay = ctx;
    replay->effects++;
    return replay->store == NULL || apply_effect(&replay->txn, effect);
}

/* Replaces unprintable bytes of the file, for terminals. */
static void show_name(char to[static NAME_SHOWN + 1], struct bytes name)
{
    size_t len = name.len < NAME_SHOWN ? name.len : NAME_SHOWN;
    for (size_t i = 0; i < len; i++)
        to[i] = (char)(name.data[i] > ' ' && name.data[i] <= '~' ? name.data[i] : '?');
    to[len] = '\0';
}

static bool apply_command(struct replay *replay)
{
    const struct request *request = &replay->request;
    uint64_t before = replay->effects;
    if (effect_text_read(request->argc, request->argv, &replay->reader, count_and_apply, replay)) {
        replay->commands++;
        return true;
    }
    char name[NAME_SHOWN + 1];
    show_name(name, request->argv[0]);
    bool was_read = replay->effects > before;
    snprintf(replay->error, sizeof(replay->error),
             was_read ? "command '%s' does not fit the data before it"
                      : "'%s' with %d arguments is not a journal command",
             name, request->argc - 1);
    return false;
}

/* ---- several commands ------------------------------------------------------------------------ */

static void begin_txn(struct replay *replay)
{
    if (replay->store != NULL) txn_begin(&replay->txn, replay->store, replay->now, FROM_REPLAY);
}

static void commit_txn(struct replay *replay)
{
    if (replay->store == NULL) return;
    txn_commit(&replay->txn);
    /* Free overwritten values here, because the background work does not run yet. */
    if (reclaim_pending(&replay->store->reclaim))
        reclaim_run(&replay->store->reclaim, RECLAIM_WORK);
}

static bool fail_malformed(struct replay *replay, size_t at)
{
    snprintf(replay->error, sizeof(replay->error), "command is malformed %zu bytes after its start",
             at);
    return false;
}

/* The length of a comment line; 0: it is incomplete. */
static size_t comment_length(const char *data, size_t len)
{
    const char *end = memchr(data, '\n', len);
    return end != NULL ? (size_t)(end + 1 - data) : 0;
}

static void tell_progress(const struct replay *replay, size_t done)
{
    const struct replay_progress *progress = replay->progress;
    if (progress != NULL && progress->inside != NULL)
        progress->inside(progress->ctx, replay->record_at + done);
}

static bool apply_commands(struct replay *replay, const char *data, size_t len, size_t *consumed)
{
    size_t told = 0;
    for (size_t at = 0, size; at < len; at += size) {
        *consumed = at;
        if (at - told >= TELL_BYTES) tell_progress(replay, told = at);
        if (data[at] == '#') {
            size = comment_length(data + at, len - at);
            if (size == 0) return true;
            continue;
        }
        enum request_status status = request_read(&replay->request, data + at, len - at, &size);
        if (status == REQUEST_PARTIAL) return true;
        if (status == REQUEST_MALFORMED) return fail_malformed(replay, size);
        if (!apply_command(replay)) return false;
    }
    *consumed = len;
    return true;
}

bool replay_feed(struct replay *replay, const char *data, size_t len, size_t *consumed)
{
    begin_txn(replay);
    bool good = apply_commands(replay, data, len, consumed);
    commit_txn(replay);
    return good;
}
