/* backlog: see backlog.h. A ring of pointers to chunks. */
#include "server/replica/stream/backlog.h"

#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum {
    CHUNK = 64 * 1024,
    RING_MIN = 16,     /* the ring's size is always a power of two */
    FETCH_AHEAD = 256, /* bytes after the end that are prefetched for the next writes */
};

struct backlog {
    char **ring;         /* chunk n is in slot_of(n), for first <= n < first + count */
    uint64_t first;      /* number of the first chunk: its bytes begin at first * CHUNK + shift */
    size_t count, size;  /* number of chunks, and of slots in the ring */
    uint64_t shift;      /* offset of the first byte of chunk 0 */
    uint64_t begin, end; /* offsets of the first byte kept, and after the last */
};

static inline char **slot_of(const struct backlog *backlog, uint64_t chunk)
{
    return &backlog->ring[chunk & (backlog->size - 1)];
}

struct backlog *backlog_new(void)
{
    return mem_zalloc(sizeof(struct backlog));
}

static void drop_chunks(struct backlog *backlog)
{
    for (; backlog->count > 0; backlog->count--, backlog->first++)
        mem_free(*slot_of(backlog, backlog->first));
}

void backlog_free(struct backlog *backlog)
{
    if (backlog == NULL) return;
    drop_chunks(backlog);
    mem_free(backlog->ring);
    mem_free(backlog);
}

void backlog_restart(struct backlog *backlog, uint64_t offset)
{
    drop_chunks(backlog);
    backlog->first = 0;
    backlog->shift = backlog->begin = backlog->end = offset;
}

static char *address_of(const struct backlog *backlog, uint64_t offset)
{
    uint64_t at = offset - backlog->shift;
    return *slot_of(backlog, at / CHUNK) + at % CHUNK;
}

static size_t left_in_chunk(const struct backlog *backlog, uint64_t offset)
{
    return CHUNK - (size_t)((offset - backlog->shift) % CHUNK);
}

/* Makes room for at least one byte after the end. */
static void make_room(struct backlog *backlog)
{
    uint64_t chunks = (backlog->end - backlog->shift) / CHUNK;
    if (chunks < backlog->first + backlog->count) return;
    if (backlog->count == backlog->size) {
        size_t size = backlog->size > 0 ? 2 * backlog->size : RING_MIN;
        char **ring = mem_alloc(size * sizeof(*ring));
        for (uint64_t n = backlog->first; n < backlog->first + backlog->count; n++)
            ring[n & (size - 1)] = *slot_of(backlog, n);
        mem_free(backlog->ring);
        backlog->ring = ring;
        backlog->size = size;
    }
    *slot_of(backlog, backlog->first + backlog->count++) = mem_alloc(CHUNK);
}

void backlog_append(struct backlog *backlog, const void *data, size_t len)
{
    const char *from = data;
    while (len > 0) {
        make_room(backlog);
        size_t room = left_in_chunk(backlog, backlog->end), part = len < room ? len : room;
        memcpy(address_of(backlog, backlog->end), from, part);
        backlog->end += part;
        from += part;
        len -= part;
    }
}

char *backlog_reserve(struct backlog *backlog, size_t *room)
{
    make_room(backlog);
    char *address = address_of(backlog, backlog->end);
    *room = left_in_chunk(backlog, backlog->end);
    /* A chunk is seldom in the CPU's cache, and a write that waits for memory delays others. */
    if (*room > FETCH_AHEAD) __builtin_prefetch(address + FETCH_AHEAD, 1);
    return address;
}

void backlog_commit(struct backlog *backlog, size_t used)
{
    ensure(used <= left_in_chunk(backlog, backlog->end), "%zu bytes", used);
    backlog->end += used;
}

void backlog_trim(struct backlog *backlog, uint64_t before)
{
    if (before > backlog->end) before = backlog->end;
    while (backlog->count > 0 && (backlog->first + 1) * CHUNK + backlog->shift <= before) {
        mem_free(*slot_of(backlog, backlog->first));
        backlog->first++;
        backlog->count--;
        backlog->begin = backlog->first * CHUNK + backlog->shift;
    }
}

uint64_t backlog_begin(const struct backlog *backlog)
{
    return backlog->begin;
}

uint64_t backlog_end(const struct backlog *backlog)
{
    return backlog->end;
}

struct bytes backlog_view(const struct backlog *backlog, uint64_t offset)
{
    ensure(offset >= backlog->begin && offset <= backlog->end, "offset %llu of %llu to %llu",
           (unsigned long long)offset, (unsigned long long)backlog->begin,
           (unsigned long long)backlog->end);
    if (offset == backlog->end) return bytes_of("", 0);
    size_t room = left_in_chunk(backlog, offset);
    uint64_t len = backlog->end - offset;
    return bytes_of(address_of(backlog, offset), len < room ? (size_t)len : room);
}

size_t backlog_bytes(const struct backlog *backlog)
{
    return sizeof(*backlog) + backlog->size * sizeof(*backlog->ring) + backlog->count * CHUNK;
}

void backlog_check(const struct backlog *backlog)
{
    ensure(backlog->begin <= backlog->end, "begin %llu, end %llu",
           (unsigned long long)backlog->begin, (unsigned long long)backlog->end);
    ensure(backlog->count <= backlog->size, "%zu of %zu chunks", backlog->count, backlog->size);
    uint64_t room = (backlog->first + backlog->count) * CHUNK + backlog->shift;
    ensure(backlog->end <= room && room - backlog->end <= CHUNK, "end %llu of %llu",
           (unsigned long long)backlog->end, (unsigned long long)room);
}
