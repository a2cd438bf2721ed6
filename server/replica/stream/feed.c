/* feed: see feed.h. Collects the text of a unit, as runs of known and unknown commands, and copies
 * it into the backlog when the transaction commits.
 *
 * Most units consist of one command. The first command is therefore written into reserved space
 * behind the backlog's end, and if it stays alone, the commit only moves the end. */
#include "server/replica/stream/feed.h"

#include "server/disk/effect/effect_text.h"
#include "store/base/number.h"
#include "store/mem/mem.h"
#include "store/mem/outbuf.h"
#include "store/txn/effect_row.h"

#define EMPTY_LINE LIT("\r\n")
#define MULTI      LIT("*1\r\n$5\r\nMULTI\r\n")
#define EXEC       LIT("*1\r\n$4\r\nEXEC\r\n")

enum { TEXT_KEPT = 32 * 1024 };

/* Consecutive commands that Redis knows, or consecutive ones that it does not know. */
struct run {
    bool known;
    uint64_t commands;
    size_t len; /* bytes of text */
};

struct feed {
    struct backlog *backlog;
    const char *first; /* the unit's only command so far, in the backlog's reserved bytes */
    size_t first_len;  /* 0 if there is no such command */
    bool first_known;
    /* The text of the current unit, after that of earlier units, which was copied to the backlog
     * already. The old text is dropped for many units at a time, which costs less than allocating
     * memory for each unit. */
    struct outbuf text;
    struct outbuf_cursor copied; /* the text before it is in the backlog, except for `piece` */
    struct iovec piece;          /* the next part to be copied */
    struct effect_writer writer;
    struct run *runs; /* the last one is open: its counts are taken when it ends */
    size_t count, cap;
    uint64_t commands_before; /* the writer's count of commands, and the bytes of text, */
    size_t len_before;        /* when the open run began */
};

struct feed *feed_new(struct backlog *backlog)
{
    struct feed *feed = mem_zalloc(sizeof(*feed));
    feed->backlog = backlog;
    outbuf_init(&feed->text);
    effect_writer_init(&feed->writer, &feed->text);
    return feed;
}

void feed_free(struct feed *feed)
{
    if (feed == NULL) return;
    outbuf_drop(&feed->text);
    mem_free(feed->runs);
    mem_free(feed);
}

/* ---- a unit ---------------------------------------------------------------------------------- */

static void end_run(struct feed *feed)
{
    effect_writer_end(&feed->writer);
    if (feed->count == 0) return;
    struct run *run = &feed->runs[feed->count - 1];
    run->commands = feed->writer.commands - feed->commands_before;
    run->len = feed->text.len - feed->len_before;
}

static void begin_run(struct feed *feed, bool known)
{
    end_run(feed);
    feed->runs = mem_grow(feed->runs, feed->count, &feed->cap, sizeof(*feed->runs));
    feed->runs[feed->count++] = (struct run){ .known = known };
    feed->commands_before = feed->writer.commands;
    feed->len_before = feed->text.len;
}

/* Moves the unit's first command from the backlog's reserved space into the text. Call before the
 * unit receives another command, because an empty line or MULTI must then precede both; and before
 * anything is appended to the backlog, which would overwrite the reserved space. */
static void take_first(struct feed *feed)
{
    if (feed->first_len == 0) return;
    begin_run(feed, feed->first_known);
    outbuf_append(&feed->text, feed->first, feed->first_len);
    feed->writer.commands++;
    feed->first_len = 0;
}

static void put(struct feed *feed, const struct effect *effect)
{
    if (!feed_pending(feed)) {
        size_t room;
        char *to = backlog_reserve(feed->backlog, &room);
        feed->first_len = effect_writer_print(&feed->writer, effect, to, room);
        feed->first = to;
        feed->first_known = effect_text_is_redis(effect);
        if (feed->first_len > 0) return;
    }
    take_first(feed);
    bool known = effect_text_is_redis(effect);
    if (feed->count == 0 || feed->runs[feed->count - 1].known != known) begin_run(feed, known);
    effect_writer_put(&feed->writer, effect);
}

void feed_add(struct feed *feed, const struct effect *effect)
{
    if (effect->kind == EFFECT_NONE) return;
    if (effect->kind == EFFECT_HASH_EXPIRE && effect->at == NEVER) {
        struct effect set = *effect;
        set.kind = EFFECT_HASH_PUT;
        put(feed, &set);
        return;
    }
    enum effect_kind expire = effect_rows[effect->kind].expire;
    if (expire == EFFECT_NONE || effect->at == NEVER) {
        put(feed, effect);
        return;
    }
    struct effect part = *effect;
    part.at = NEVER;
    put(feed, &part);
    part.kind = expire;
    part.at = effect->at;
    put(feed, &part);
}

static void write_header(struct outbuf *out, char type, size_t value)
{
    char text[NUMBER_INT64_MAX_CHARS + 3];
    size_t len = 0;
    text[len++] = type;
    len += number_print_uint64(text + len, value);
    text[len++] = '\r';
    text[len++] = '\n';
    outbuf_append(out, text, len);
}

static void write_words(struct outbuf *out, const struct bytes *words, int count)
{
    write_header(out, '*', (size_t)count);
    for (int i = 0; i < count; i++) {
        write_header(out, '$', words[i].len);
        outbuf_append(out, words[i].data, words[i].len);
        outbuf_append(out, "\r\n", 2);
    }
}

void feed_message(struct feed *feed, const struct bytes *words, int count)
{
    take_first(feed);
    if (feed->count == 0 || !feed->runs[feed->count - 1].known) begin_run(feed, true);
    effect_writer_end(&feed->writer);
    write_words(&feed->text, words, count);
    feed->writer.commands++;
}

bool feed_pending(const struct feed *feed)
{
    return feed->count > 0 || feed->first_len > 0;
}

/* ---- into the backlog ------------------------------------------------------------------------ */

static void append(struct feed *feed, struct bytes text)
{
    backlog_append(feed->backlog, text.data, text.len);
}

static void drop_text(struct feed *feed)
{
    outbuf_drop(&feed->text);
    feed->copied = (struct outbuf_cursor){ 0 };
    feed->piece = (struct iovec){ 0 };
}

void feed_commit(struct feed *feed)
{
    if (feed->first_len > 0) backlog_commit(feed->backlog, feed->first_len);
    feed->first_len = 0;
    if (feed->count == 0) return;
    end_run(feed);
    bool bracket = feed->count > 1 || (!feed->runs[0].known && feed->runs[0].commands > 1);
    if (bracket) append(feed, EMPTY_LINE);
    for (size_t i = 0; i < feed->count; i++) {
        const struct run *run = &feed->runs[i];
        bool multi = run->known && run->commands > 1;
        if (multi) append(feed, MULTI);
        for (size_t left = run->len; left > 0;) {
            if (feed->piece.iov_len == 0 && !outbuf_next(&feed->text, &feed->copied, &feed->piece))
                break;
            size_t part = feed->piece.iov_len < left ? feed->piece.iov_len : left;
            backlog_append(feed->backlog, feed->piece.iov_base, part);
            feed->piece.iov_base = (char *)feed->piece.iov_base + part;
            feed->piece.iov_len -= part;
            left -= part;
        }
        if (multi) append(feed, EXEC);
    }
    if (bracket) append(feed, EMPTY_LINE);
    feed->count = 0;
    if (feed->text.len >= TEXT_KEPT) drop_text(feed); /* all of it is in the backlog */
}

/* Appends directly to the backlog and not to feed->text, where a running script may have an open
 * unit. */
void feed_command(struct feed *feed, const struct bytes *words, int count)
{
    struct outbuf text;
    struct outbuf_cursor cursor = { 0 };
    struct iovec piece;
    outbuf_init(&text);
    take_first(feed);
    write_words(&text, words, count);
    while (outbuf_next(&text, &cursor, &piece))
        backlog_append(feed->backlog, piece.iov_base, piece.iov_len);
    outbuf_drop(&text);
}

void feed_restart(struct feed *feed)
{
    effect_writer_restart(&feed->writer);
    feed->first_len = feed->count = 0;
    drop_text(feed);
}

unsigned feed_db(const struct feed *feed)
{
    return feed->writer.db > 0 ? (unsigned)feed->writer.db : 0;
}

uint64_t feed_offset(const struct feed *feed)
{
    return backlog_end(feed->backlog);
}
