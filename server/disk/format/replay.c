/* replay: see replay.h. Applies commands to the store; replay_records.c reads a journal's file. */
#include "server/disk/format/replay.h"

#include <inttypes.h>
#include <stdio.h>

#include "server/disk/effect/effect_brief.h"
#include "server/disk/format/size_mark.h"
#include "store/txn/apply.h"

enum {
    EXPECTS_MOST = 1 << 20,
    AHEAD_FROM = 1 << 20,
    RECLAIM_WORK = 4096,
    REPORT_BYTES = 256 * 1024
};

void replay_init(struct replay *replay, struct store *store, msec now)
{
    *replay = (struct replay){
        .store = store,
        .now = now,
        .until = NEVER,
        .expects_most = EXPECTS_MOST,
        .ahead_from = AHEAD_FROM,
    };
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
    replay->members = 0;
    replay->reads_brief = false;
    replay->carried = (struct request_progress){ 0 };
}

/* ---- effects --------------------------------------------------------------------------------- */

static void show_name(struct bytes from, char name[REPLAY_NAME_MAX + 1])
{
    size_t len = from.len < REPLAY_NAME_MAX ? from.len : REPLAY_NAME_MAX;
    for (size_t i = 0; i < len; i++)
        name[i] = (char)(from.data[i] > ' ' && from.data[i] <= '~' ? from.data[i] : '?');
    name[len] = '\0';
}

static bool apply_one(struct replay *replay, const struct effect *effect, struct bytes name)
{
    if (apply_effect(&replay->txn, effect)) return true;
    if (effect->db >= replay->store->database_count) {
        snprintf(replay->error, sizeof(replay->error),
                 "the data has database %u, but `databases` is %u", effect->db,
                 replay->store->database_count);
        return false;
    }
    char shown[REPLAY_NAME_MAX + 1];
    show_name(name, shown);
    snprintf(replay->error, sizeof(replay->error), "command '%s' does not fit the data before it",
             shown);
    return false;
}

/* Prefetches the keys and members of up to REPLAY_WINDOW effects together, so that the cache misses
 * of their look-ups overlap. */
static void look_ahead(struct replay *replay, const struct parsed *window, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const struct parsed *one = &window[i];
        replay->args[i][0] = one->effect.key;
        replay->args[i][1] = one->effect.a;
        bool has_key = !one->is_text && one->effect.key.len > 0 &&
                       one->effect.db < replay->store->database_count;
        replay->prefetches[i] = (struct prefetch){
            .ks = has_key ? store_database(replay->store, one->effect.db) : NULL,
            .args = has_key ? replay->args[i] : NULL,
            .count = one->effect.a.len > 0 ? 2 : 1, /* perhaps the name of a member */
            .key_hash = one->is_hashed[0] ? &one->hashes[0] : NULL,
            .next_hash = one->is_hashed[1] ? &one->hashes[1] : NULL,
        };
    }
    lookahead(NULL, replay->prefetches, count);
}

/* Applies an effect, number `place` of those that were prefetched. */
static bool apply_prefetched(struct replay *replay, const struct parsed *one, unsigned place)
{
    lookahead_remember(&replay->prefetches[place]);
    bool good = apply_one(replay, &one->effect, one->text);
    if (!good) replay->command_at = one->at;
    return good;
}

static bool apply_waiting(struct replay *replay)
{
    unsigned count = replay->waiting;
    bool good = true;
    replay->waiting = 0;
    if (count == 0) return true;
    look_ahead(replay, replay->window, count);
    for (unsigned i = 0; i < count && good; i++)
        good = apply_prefetched(replay, &replay->window[i], i);
    lookahead_forget();
    return good;
}

/* Does the effect borrow words that the next command overwrites? Then it can't wait in the window
 * with others. */
static bool is_short_lived(const struct effect *effect)
{
    return effect->texts != NULL || effect->policy != NULL || effect->kind == EFFECT_LIBRARY_SET;
}

/* Applies the first effect of a collection whose size was announced, then allocates the
 * collection's table for all of its members. */
static bool begin_collection(struct replay *replay, const struct effect *effect, struct bytes name)
{
    size_t members = replay->members;
    replay->members = 0;
    if (!apply_one(replay, effect, name)) return false;
    struct entry *entry = keyspace_find(replay->txn.ks, effect->key);
    if (entry != NULL) object_expect(&entry->object, members);
    return true;
}

static bool take_effect(void *ctx, const struct effect *effect)
{
    struct replay *replay = ctx;
    replay->effects++;
    if (replay->store == NULL) return true;
    if (replay->waiting == REPLAY_WINDOW || is_short_lived(effect))
        if (!apply_waiting(replay)) return false;
    if (is_short_lived(effect)) return apply_one(replay, effect, replay->name);
    if (replay->members > 0) return begin_collection(replay, effect, replay->name);
    replay->window[replay->waiting++] =
        (struct parsed){ .effect = *effect, .text = replay->name, .at = replay->command_at };
    return true;
}

/* ---- commands -------------------------------------------------------------------------------- */

static bool read_effects(struct replay *replay)
{
    const struct request *request = &replay->request;
    replay->error[0] = '\0';
    replay->name = request->argv[0];
    if (effect_text_read(request->argc, request->argv, &replay->reader, take_effect, replay)) {
        replay->commands++;
        return true;
    }
    /* An effect that did not fit has set the error; an effect that waits may not fit, either. */
    if (replay->error[0] != '\0' || !apply_waiting(replay)) return false;
    char shown[REPLAY_NAME_MAX + 1];
    show_name(request->argv[0], shown);
    snprintf(replay->error, sizeof(replay->error),
             "'%s' with %d arguments is not a journal command", shown, request->argc - 1);
    return false;
}

/* Reads a line that begins with #. Returns false for a mark that does not agree with the manifest
 * or with the segment before. */
static bool read_comment(struct replay *replay, const char *line, size_t len)
{
    const struct journal_end *there = &replay->before;
    struct journal_end before;
    uint32_t id;
    struct store_size size;
    if (size_mark_read(line, len, &size)) {
        struct store *store = replay->store;
        size_t most = replay->expects_most, count = size.count < most ? size.count : most;
        if (store == NULL) return true;
        if (!apply_waiting(replay)) return false;
        if (!size.is_database)
            replay->members = count;
        else if (size.db < store->database_count)
            store_expect(store, size.db, count);
        return true;
    }
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

/* Reads the commands. *consumed ends before one that is incomplete or malformed. */
static bool read_commands(struct replay *replay, const char *data, size_t len, size_t *consumed)
{
    const struct replay_progress *progress = replay->progress;
    size_t reported = 0;
    for (size_t at = 0, size; at < len; at += size) {
        *consumed = replay->command_at = at;
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
        enum request_status status;
        if (replay->reads_brief && effect_brief_begins(data[at])) {
            struct effect effect = { .db = replay->reader.db };
            status = effect_brief_read(data + at, len - at, &replay->last_key, &effect, &size);
            if (status == REQUEST_WHOLE) {
                replay->name = effect_form_of(&effect)->name;
                if (!take_effect(replay, &effect)) return false;
                replay->commands++;
            }
        } else {
            status = request_read(&replay->request, data + at, len - at, &size);
            if (status == REQUEST_WHOLE && !read_effects(replay)) return false;
        }
        if (status == REQUEST_PARTIAL) return true;
        if (status == REQUEST_MALFORMED) {
            if (!apply_waiting(replay)) return false;
            snprintf(replay->error, sizeof(replay->error),
                     "command is malformed %zu bytes after its start", size);
            return false;
        }
    }
    *consumed = len;
    return true;
}

static bool apply_commands(struct replay *replay, const char *data, size_t len, size_t *consumed)
{
    bool good = read_commands(replay, data, len, consumed) && apply_waiting(replay);
    if (!good) *consumed = replay->command_at;
    replay->waiting = 0;
    return good;
}

static void begin_changes(struct replay *replay)
{
    if (replay->store != NULL) txn_begin(&replay->txn, replay->store, replay->now, FROM_REPLAY);
}

static void end_changes(struct replay *replay)
{
    struct store *store = replay->store;
    if (store == NULL) return;
    txn_commit(&replay->txn);
    /* Free overwritten values here, because no background work runs on the store during a load. */
    if (reclaim_pending(&store->reclaim)) reclaim_run(&store->reclaim, RECLAIM_WORK);
}

bool replay_feed(struct replay *replay, const char *data, size_t len, size_t *consumed)
{
    begin_changes(replay);
    replay->last_key = (struct bytes){ 0 };
    bool good = apply_commands(replay, data, len, consumed);
    end_changes(replay);
    return good;
}

/* Applies item i. If it was not prefetched yet, first prefetches it together with the next items,
 * including those of later records. */
static bool apply_item(struct replay *replay, const struct parsed_batch *batch, unsigned i)
{
    const struct parsed *item = &batch->items[i];
    if (item->is_text) {
        lookahead_forget();
        replay->looked_to = 0; /* the text may have used the window */
        size_t consumed;
        replay->reader.db = item->effect.db;
        if (apply_commands(replay, item->text.data, item->text.len, &consumed)) return true;
        replay->command_at += item->at;
        return false;
    }
    replay->effects++;
    if (replay->store == NULL) return true;
    if (replay->members > 0) {
        replay->command_at = item->at;
        return begin_collection(replay, &item->effect, item->text);
    }
    if (i >= replay->looked_to) {
        unsigned left = batch->count - i, count = left < REPLAY_WINDOW ? left : REPLAY_WINDOW;
        look_ahead(replay, item, count);
        replay->looked_from = i;
        replay->looked_to = i + count;
    }
    return apply_prefetched(replay, item, i - replay->looked_from);
}

bool replay_parsed(struct replay *replay, const struct parsed_batch *batch, unsigned from,
                   unsigned to, uint64_t commands)
{
    bool good = true;
    begin_changes(replay);
    replay->commands += commands;
    if (from == 0) replay->looked_to = 0;
    for (unsigned i = from; i < to && good; i++)
        good = apply_item(replay, batch, i);
    lookahead_forget();
    end_changes(replay);
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
