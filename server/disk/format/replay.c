/* replay: see replay.h. Applies commands to the store; replay_records.c reads a journal's file. */
#include "server/disk/format/replay.h"

#include <inttypes.h>
#include <stdio.h>

#include "store/reclaim.h"
#include "store/txn/apply.h"

enum { NAME_SHOWN = 32, RECLAIM_WORK = 4096, REPORT_BYTES = 256 * 1024 };

void replay_init(struct replay *replay, struct store *store, msec now)
{
    *replay = (struct replay){ .store = store, .now = now, .until = NEVER };
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
    replay->id = 0;
    replay->carried = (struct request_progress){ 0 };
}

/* ---- one command ----------------------------------------------------------------------------- */

static bool count_and_apply(void *ctx, const struct effect *effect)
{
    struct replay *replay = ctx;
    replay->effects++;
    return replay->store == NULL || apply_effect(&replay->txn, effect);
}

static bool apply_command(struct replay *replay)
{
    const struct request *request = &replay->request;
    uint64_t before = replay->effects;
    if (effect_text_read(request->argc, request->argv, &replay->reader, count_and_apply, replay)) {
        replay->commands++;
        return true;
    }
    /* Replace unprintable bytes of the name, for terminals. */
    char name[NAME_SHOWN + 1];
    struct bytes from = request->argv[0];
    size_t len = from.len < NAME_SHOWN ? from.len : NAME_SHOWN;
    for (size_t i = 0; i < len; i++)
        name[i] = (char)(from.data[i] > ' ' && from.data[i] <= '~' ? from.data[i] : '?');
    name[len] = '\0';
    bool was_read = replay->effects > before;
    snprintf(replay->error, sizeof(replay->error),
             was_read ? "command '%s' does not fit the data before it"
                      : "'%s' with %d arguments is not a journal command",
             name, request->argc - 1);
    return false;
}

/* ---- several commands ------------------------------------------------------------------------ */

/* Takes a line that begins with #. False: it is a mark that does not fit the manifest or the
 * segment before. */
static bool read_comment(struct replay *replay, const char *line, size_t len)
{
    const struct journal_end *there = &replay->before;
    struct journal_end before;
    uint32_t id;
    if (!segment_mark_read_begin(line, len, &id, &before)) {
        replay->marked |= position_marks_read(&replay->marks, line, len);
        return true;
    }
    replay->id = id;
    if (replay->listed != 0 && id != replay->listed) {
        snprintf(replay->error, sizeof(replay->error),
                 "not the file that the manifest lists: its ID is %08" PRIx32
                 " instead of %08" PRIx32,
                 id, replay->listed);
        return false;
    }
    if (before.length == 0 || there->length == 0) return true;
    if (before.length == there->length && before.sum == there->sum) return true;
    snprintf(replay->error, sizeof(replay->error),
             "it continues a file of %" PRIu64 " bytes with checksum %08" PRIx32
             ", but the file before it has %" PRIu64 " bytes with %08" PRIx32,
             before.length, before.sum, there->length, there->sum);
    return false;
}

static bool apply_commands(struct replay *replay, const char *data, size_t len, size_t *consumed)
{
    const struct replay_progress *progress = replay->progress;
    size_t reported = 0;
    for (size_t at = 0, size; at < len; at += size) {
        *consumed = at;
        if (at - reported >= REPORT_BYTES) {
            reported = at;
            if (progress != NULL && progress->inside != NULL)
                progress->inside(progress->ctx, replay->record_at + at);
        }
        if (data[at] == '#') {
            const char *end = memchr(data + at, '\n', len - at);
            if (end == NULL) return true;
            size = (size_t)(end + 1 - (data + at));
            if (!read_comment(replay, data + at, size)) return false;
            continue;
        }
        enum request_status status = request_read(&replay->request, data + at, len - at, &size);
        if (status == REQUEST_PARTIAL) return true;
        if (status == REQUEST_MALFORMED) {
            snprintf(replay->error, sizeof(replay->error),
                     "command is malformed %zu bytes after its start", size);
            return false;
        }
        if (!apply_command(replay)) return false;
    }
    *consumed = len;
    return true;
}

bool replay_feed(struct replay *replay, const char *data, size_t len, size_t *consumed)
{
    struct store *store = replay->store;
    if (store != NULL) txn_begin(&replay->txn, store, replay->now, FROM_REPLAY);
    bool good = apply_commands(replay, data, len, consumed);
    if (store == NULL) return good;
    txn_commit(&replay->txn);
    /* Free overwritten values here, because the background work does not run yet. */
    if (reclaim_pending(&store->reclaim)) reclaim_run(&store->reclaim, RECLAIM_WORK);
    return good;
}

bool replay_carry(struct replay *replay, struct buffer *carry, const char *data, size_t len)
{
    size_t consumed;
    buffer_append(carry, data, len);
    if (carry->len == 0) return true;
    if (carry->data[0] == '*' &&
        request_measure_on(&replay->carried, carry->data, carry->len, &consumed) == REQUEST_PARTIAL)
        return true;
    if (!replay_feed(replay, carry->data, carry->len, &consumed)) return false;
    carry->len -= consumed;
    memmove(carry->data, carry->data + consumed, carry->len);
    return true;
}
