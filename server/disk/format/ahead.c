/* ahead: see ahead.h. Who owns what is decided by four numbers, which only grow:
 *
 *     which                                    belong to
 *     parts from `released` to `filled`        the main thread
 *     all other parts                          the reading thread
 *     blocks of a copy, `taken` to `given`     the reading thread
 *     all other blocks of a copy               the main thread
 *
 * The main thread waits if there is no part. The reading thread waits if all parts are filled, if a
 * text is too small or in use, or if it lacks a block of a copy. They can't deadlock: when the
 * reading thread lacks a block, ahead_try returns instead of waiting, so that the main thread can
 * give one. */
#include "server/disk/format/ahead.h"

#include <stdio.h>
#include <time.h>

#include "server/disk/effect/request.h"
#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum {
    PARTS = 8,
    TEXTS = 4,
    BLOCKS = 4, /* blocks of a copy in memory: neither thread waits for the other after each one */
    TEXT = 2 * SNAPSHOT_BLOCK,
    USEC = 1000 * 1000,           /* microseconds in a second */
    RECORD_MOST = TEXT,           /* a longer record is left to the main thread */
    TEXT_LARGE = 4 * 1024 * 1024, /* only one text may be larger */
    THREAD_NEEDS = 64 * 1024,     /* as in file_job.c */
};

struct text {
    char *data;
    size_t cap, len;
    size_t parsed;    /* bytes that are in parts */
    uint64_t used_by; /* the number after that of its last part */
};

struct given_block {
    uint64_t end; /* offset of its end in the copy */
    char bytes[BLOCK_HEADER + BLOCK_RAW];
};

struct ahead {
    struct snapshot_reader *file; /* the file, if a snapshot is read */
    int fd;                       /* the file, if a journal is read */
    uint64_t offset, size;        /* bytes read so far, and in the file */
    struct parsed_place place;
    msec until;
    char *block;                        /* bytes of a journal, or an unpacked block of a copy */
    struct given_block *blocks[BLOCKS]; /* blocks of a copy; those from `taken` to `given` wait */
    uint32_t sum;                       /* checksum of the copy so far */
    pthread_t thread;

    /* Only the reading thread uses these, and the main thread while `resized` is set. */
    struct parser parser;
    struct request_progress measured; /* progress in a command that is longer than its text */
    size_t needed;                    /* bytes that this command has at least; 0: not known */
    struct text texts[TEXTS];
    unsigned current; /* index in texts */

    struct ahead_part *parts[PARTS];
    bool has_part; /* the main thread uses the part `released` */

    pthread_mutex_t lock; /* protects the fields below */
    pthread_cond_t changed;
    uint64_t filled, released;
    uint64_t given, taken; /* numbers of blocks; see above */
    bool lacks_block;      /* the reading thread waits for one */
    struct text *resized;  /* NULL, or a text to which the main thread must give `new_cap` bytes */
    size_t new_cap;
    bool stops;
};

/* ---- the reading thread ---------------------------------------------------------------------- */

/* Waits until all parts before this number are released. Returns false if the thread must stop. */
static bool await_release(struct ahead *ahead, uint64_t number)
{
    pthread_mutex_lock(&ahead->lock);
    while (ahead->released < number && !ahead->stops)
        pthread_cond_wait(&ahead->changed, &ahead->lock);
    bool goes_on = !ahead->stops;
    pthread_mutex_unlock(&ahead->lock);
    return goes_on;
}

static struct ahead_part *next_part(struct ahead *ahead)
{
    if (ahead->filled >= PARTS && !await_release(ahead, ahead->filled - PARTS + 1)) return NULL;
    return ahead->parts[ahead->filled % PARTS];
}

static void pass_part(struct ahead *ahead)
{
    pthread_mutex_lock(&ahead->lock);
    ahead->filled++;
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
}

/* Enlarges a text for `wanted` bytes: to the size of its command and one block more, if that size
 * is known and at most four times as much; otherwise to at least twice its size. Only one text is
 * large at a time: another large text must first be released, and then exchanges its memory with
 * this text. Returns false if the thread must stop. */
static bool enlarge(struct ahead *ahead, struct text *text, size_t wanted)
{
    size_t cap = wanted > 2 * text->cap ? wanted : 2 * text->cap;
    size_t known = ahead->needed + SNAPSHOT_BLOCK;
    if (known >= wanted && known / 4 <= wanted) cap = known;
    for (struct text *large = ahead->texts; large < ahead->texts + TEXTS; large++) {
        if (cap <= TEXT_LARGE || large == text || large->cap <= TEXT_LARGE) continue;
        if (!await_release(ahead, large->used_by)) return false;
        struct text small = *text;
        text->data = memcpy(large->data, text->data, text->len);
        text->cap = large->cap;
        large->data = small.data;
        large->cap = small.cap;
    }
    if (text->cap >= cap) return true;

    /* Have the main thread resize the text, which no part uses, and wait for it. */
    pthread_mutex_lock(&ahead->lock);
    ahead->resized = text;
    ahead->new_cap = cap;
    pthread_cond_signal(&ahead->changed);
    while (ahead->resized != NULL && !ahead->stops)
        pthread_cond_wait(&ahead->changed, &ahead->lock);
    bool goes_on = !ahead->stops;
    pthread_mutex_unlock(&ahead->lock);
    return goes_on;
}

/* Adds a block to a text that can be parsed: to the current text if that contains only the
 * beginning of a command; otherwise to the next one, into which the unparsed rest of the current
 * text is copied first. Returns NULL if the thread must stop. */
static struct text *take_block(struct ahead *ahead, const char *data, size_t len)
{
    struct text *text = &ahead->texts[ahead->current];
    if (text->parsed > 0) {
        /* The parsed bytes end in the last block, so the rest is shorter than a block. */
        struct bytes rest = bytes_of(text->data + text->parsed, text->len - text->parsed);
        ahead->current = (ahead->current + 1) % TEXTS;
        text = &ahead->texts[ahead->current];
        if (!await_release(ahead, text->used_by)) return NULL;
        ensure(rest.len < SNAPSHOT_BLOCK, "%zu bytes are not parsed", rest.len);
        memcpy(text->data, rest.data, rest.len);
        text->len = rest.len;
        text->parsed = 0;
    }
    size_t wanted = text->len + len;
    if (wanted > text->cap && !enlarge(ahead, text, wanted)) return NULL;
    memcpy(text->data + text->len, data, len);
    text->len += len;
    return text;
}

static bool pass_block(struct ahead *ahead, uint64_t begin, uint64_t end, const char *data,
                       size_t len)
{
    struct text *text = take_block(ahead, data, len);
    if (text == NULL) return false;
    /* Is all of the text the beginning of one command? Measure only the new bytes. */
    size_t size;
    bool is_beginning =
        text->data[0] == '*' &&
        request_measure_on(&ahead->measured, text->data, text->len, &size) == REQUEST_PARTIAL;
    ahead->needed = is_beginning ? size : 0;
    for (bool is_full = !is_beginning; is_full;) {
        struct ahead_part *part = next_part(ahead);
        if (part == NULL) return false;
        part->got = SNAPSHOT_BYTES;
        part->begin = begin;
        part->end = end;
        text->parsed += parser_fill(&ahead->parser, text->data + text->parsed,
                                    text->len - text->parsed, &part->batch, &is_full);
        text->used_by = ahead->filled + 1;
        pass_part(ahead);
    }
    return true;
}

static struct ahead_part *end_part(struct ahead *ahead, enum snapshot_got got)
{
    struct ahead_part *part = next_part(ahead);
    if (part != NULL) part->got = got;
    return part;
}

static bool has_rest(const struct ahead *ahead)
{
    const struct text *text = &ahead->texts[ahead->current];
    return text->parsed < text->len;
}

static void *read_snapshot(void *ctx)
{
    struct ahead *ahead = ctx;
    struct snapshot_fault fault;
    const char *data;
    size_t len;
    enum snapshot_got got;
    for (;;) {
        uint64_t begin = snapshot_offset(ahead->file);
        got = snapshot_read(ahead->file, &data, &len, &fault);
        if (got != SNAPSHOT_BYTES) break;
        if (!pass_block(ahead, begin, snapshot_offset(ahead->file), data, len)) return NULL;
    }
    struct ahead_part *part = end_part(ahead, got);
    if (part == NULL) return NULL;
    part->begin = part->end = snapshot_offset(ahead->file);
    part->is_incomplete = has_rest(ahead);
    if (got == SNAPSHOT_FAULT) part->fault = fault;
    pass_part(ahead);
    return NULL;
}

static void *read_copy(void *ctx)
{
    struct ahead *ahead = ctx;
    const struct given_block *block;
    const char *reason = NULL;
    for (;;) {
        pthread_mutex_lock(&ahead->lock);
        while (ahead->taken == ahead->given && !ahead->stops) {
            ahead->lacks_block = true;
            pthread_cond_signal(&ahead->changed);
            pthread_cond_wait(&ahead->changed, &ahead->lock);
        }
        bool goes_on = !ahead->stops;
        pthread_mutex_unlock(&ahead->lock);
        if (!goes_on) return NULL;
        block = ahead->blocks[ahead->taken % BLOCKS];
        struct block_sizes sizes = block_sizes(block->bytes);
        if (!block_sum_ok(block->bytes, &sizes, &ahead->sum))
            reason = "wrong checksum of the block";
        if (reason != NULL || sizes.raw == 0) break;
        const char *raw = block_unpack(block->bytes, &sizes, ahead->block);
        if (raw == NULL) reason = "block is not valid LZ4";
        if (reason != NULL) break;
        if (!pass_block(ahead, 0, block->end, raw, sizes.raw)) return NULL;
        pthread_mutex_lock(&ahead->lock);
        ahead->taken++;
        pthread_mutex_unlock(&ahead->lock);
    }
    struct ahead_part *part = end_part(ahead, reason == NULL ? SNAPSHOT_END : SNAPSHOT_FAULT);
    if (part == NULL) return NULL;
    part->end = part->fault.offset = block->end;
    part->is_incomplete = has_rest(ahead);
    if (reason != NULL) snprintf(part->fault.reason, sizeof(part->fault.reason), "%s", reason);
    pass_part(ahead);
    return NULL;
}

static void *read_journal(void *ctx)
{
    struct ahead *ahead = ctx;
    while (ahead->offset < ahead->size) {
        uint64_t left = ahead->size - ahead->offset;
        size_t got, most = left < SNAPSHOT_BLOCK ? (size_t)left : SNAPSHOT_BLOCK;
        if (disk_read(ahead->fd, ahead->block, most, ahead->offset, &got) != 0 || got == 0) break;
        ahead->offset += got;
        struct text *text = take_block(ahead, ahead->block, got);
        if (text == NULL) return NULL;
        enum parsed_end why;
        do {
            struct ahead_part *part = next_part(ahead);
            if (part == NULL) return NULL;
            part->got = SNAPSHOT_BYTES;
            text->parsed += parser_fill_records(&ahead->parser, &ahead->place, ahead->until,
                                                text->data + text->parsed, text->len - text->parsed,
                                                &part->batch, &why);
            if (part->batch.record_count == 0) break;
            text->used_by = ahead->filled + 1;
            pass_part(ahead);
        } while (why == PARSED_FULL);
        if (why == PARSED_STOP || (text->parsed == 0 && text->len > RECORD_MOST)) break;
    }
    if (end_part(ahead, SNAPSHOT_END) != NULL) pass_part(ahead);
    return NULL;
}

/* ---- the main thread ------------------------------------------------------------------------- */

static void drop(struct ahead *ahead)
{
    for (unsigned i = 0; i < PARTS; i++)
        mem_free(ahead->parts[i]);
    for (unsigned i = 0; i < TEXTS; i++)
        mem_free(ahead->texts[i].data);
    for (unsigned i = 0; i < BLOCKS; i++)
        mem_free(ahead->blocks[i]);
    mem_free(ahead->block);
    pthread_cond_destroy(&ahead->changed);
    pthread_mutex_destroy(&ahead->lock);
    mem_free(ahead);
}

/* Allocates everything that the thread will use, including a block for a journal or a copy (file is
 * NULL). Returns NULL unless memory has space for this and for `more` bytes. */
static struct ahead *prepare(struct snapshot_reader *file, size_t more)
{
    if (!mem_has_room(PARTS * sizeof(struct ahead_part) + (TEXTS + 1) * TEXT + THREAD_NEEDS + more))
        return NULL;
    struct ahead *ahead = mem_zalloc(sizeof(*ahead));
    ahead->file = file;
    parser_init(&ahead->parser);
    for (unsigned i = 0; i < PARTS; i++)
        ahead->parts[i] = mem_alloc(sizeof(struct ahead_part));
    for (unsigned i = 0; i < TEXTS; i++)
        ahead->texts[i] = (struct text){ .data = mem_alloc(TEXT), .cap = TEXT };
    if (file == NULL) ahead->block = mem_alloc(SNAPSHOT_BLOCK);
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    return ahead;
}

struct ahead *ahead_of_snapshot(struct snapshot_reader *file, thread_starter *start)
{
    struct ahead *ahead = prepare(file, 0);
    if (ahead == NULL || start(&ahead->thread, read_snapshot, ahead) == 0) return ahead;
    drop(ahead);
    return NULL;
}

struct ahead *ahead_of_journal(int fd, uint64_t size, const struct parsed_place *place, msec until,
                               thread_starter *start)
{
    struct ahead *ahead = prepare(NULL, 0);
    if (ahead == NULL) return NULL;
    ahead->fd = fd;
    ahead->offset = place->good;
    ahead->size = size;
    ahead->place = *place;
    ahead->until = until;
    if (start(&ahead->thread, read_journal, ahead) == 0) return ahead;
    drop(ahead);
    return NULL;
}

struct ahead *ahead_of_copy(uint32_t sum, thread_starter *start)
{
    struct ahead *ahead = prepare(NULL, BLOCKS * sizeof(struct given_block));
    if (ahead == NULL) return NULL;
    ahead->sum = sum;
    for (unsigned i = 0; i < BLOCKS; i++)
        ahead->blocks[i] = mem_alloc(sizeof(struct given_block));
    if (start(&ahead->thread, read_copy, ahead) == 0) return ahead;
    drop(ahead);
    return NULL;
}

void ahead_stop(struct ahead *ahead)
{
    pthread_mutex_lock(&ahead->lock);
    ahead->stops = true;
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
    pthread_join(ahead->thread, NULL);
    drop(ahead);
}

/* Waits until `until`, or without a limit if `until` is NULL. */
static enum ahead_got take_part(struct ahead *ahead, const struct timespec *until,
                                const struct ahead_part **part)
{
    bool waits = true;
    pthread_mutex_lock(&ahead->lock);
    if (ahead->has_part) {
        ahead->released++;
        /* Wake the thread only once half of the parts are free: one wake-up serves several parts.
         */
        if (ahead->filled - ahead->released <= PARTS / 2) pthread_cond_signal(&ahead->changed);
    }
    while (ahead->filled == ahead->released && !ahead->lacks_block && waits) {
        struct text *text = ahead->resized;
        if (text != NULL) {
            text->data = mem_realloc(text->data, ahead->new_cap);
            text->cap = ahead->new_cap;
            ahead->resized = NULL;
            pthread_cond_signal(&ahead->changed);
        } else if (until == NULL) {
            pthread_cond_wait(&ahead->changed, &ahead->lock);
        } else {
            waits =
                pthread_cond_clockwait(&ahead->changed, &ahead->lock, CLOCK_MONOTONIC, until) == 0;
        }
    }
    ahead->has_part = ahead->filled > ahead->released;
    enum ahead_got got = ahead->has_part      ? AHEAD_PART
                         : ahead->lacks_block ? AHEAD_LACKS_BLOCK
                                              : AHEAD_NOT_YET;
    *part = ahead->has_part ? ahead->parts[ahead->released % PARTS] : NULL;
    pthread_mutex_unlock(&ahead->lock);
    return got;
}

const struct ahead_part *ahead_next(struct ahead *ahead)
{
    const struct ahead_part *part;
    take_part(ahead, NULL, &part);
    return part;
}

enum ahead_got ahead_try(struct ahead *ahead, int64_t until_usec, const struct ahead_part **part)
{
    struct timespec until = { .tv_sec = until_usec / USEC, .tv_nsec = until_usec % USEC * 1000 };
    return take_part(ahead, &until, part);
}

char *ahead_block(struct ahead *ahead)
{
    pthread_mutex_lock(&ahead->lock);
    bool is_free = ahead->given - ahead->taken < BLOCKS;
    pthread_mutex_unlock(&ahead->lock);
    return is_free ? ahead->blocks[ahead->given % BLOCKS]->bytes : NULL;
}

void ahead_give(struct ahead *ahead, uint64_t end)
{
    pthread_mutex_lock(&ahead->lock);
    ahead->blocks[ahead->given % BLOCKS]->end = end;
    ahead->given++;
    ahead->lacks_block = false;
    pthread_cond_signal(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
}
