/* stream_block: see stream_block.h. */
#include "store/type/stream/stream_block.h"

#include "store/base/ensure.h"
#include "store/base/little_endian.h"

enum {
    OWN_NAMES = 1,
    FORM_SHIFT = 1,
    FORM_MASK = 3,
    TIME_SHIFT = 3,
    TIME_LONG = 31, /* the time in a head if the rest follows as a varint */
    VARINT_MORE = 128,
    VARINT_BITS = 7,
    VARINT_MAX = 10,
    WIDE = 8,
    WIDE_BITS = 56, /* bits of the largest number that a varint of 8 bytes holds */
    HEAD_MAX = 1 + 2 * VARINT_MAX,
};

static size_t varint_size(uint64_t value)
{
    size_t size = 1;
    for (; value >= VARINT_MORE; value >>= VARINT_BITS)
        size++;
    return size;
}

static unsigned char *varint_put(unsigned char *to, uint64_t value)
{
    for (; value >= VARINT_MORE; value >>= VARINT_BITS)
        *to++ = (unsigned char)(value | VARINT_MORE);
    *to++ = (unsigned char)value;
    return to;
}

static const unsigned char *varint_get(const unsigned char *from, uint64_t *value)
{
    uint64_t byte = *from++;
    *value = byte & (VARINT_MORE - 1);
    for (unsigned shift = VARINT_BITS; byte >= VARINT_MORE; shift += VARINT_BITS) {
        byte = *from++;
        *value |= (byte & (VARINT_MORE - 1)) << shift;
    }
    return from;
}

static unsigned char *text_put(unsigned char *to, struct bytes text)
{
    to = varint_put(to, text.len);
    if (text.len > 0) memcpy(to, text.data, text.len);
    return to + text.len;
}

static const unsigned char *text_get(const unsigned char *from, struct bytes *text)
{
    uint64_t len;
    from = varint_get(from, &len);
    *text = bytes_of((const char *)from, len);
    return from + len;
}

static const unsigned char *texts_skip(const unsigned char *from, uint64_t count)
{
    for (uint64_t len; count > 0; count--) {
        from = varint_get(from, &len);
        from += len;
    }
    return from;
}

static const unsigned char *names_skip(const unsigned char *from)
{
    uint64_t count;
    from = varint_get(from, &count);
    return texts_skip(from, count);
}

bool stream_entry_next(struct stream_entry *entry, struct bytes *name, struct bytes *value)
{
    if (entry->given == entry->count) return false;
    entry->given++;
    entry->names = text_get(entry->names, name);
    entry->values = text_get(entry->values, value);
    return true;
}

static void plan_id(struct stream_packing *packing, struct stream_id prev, struct stream_id id)
{
    packing->time = id.ms - prev.ms;
    packing->sequence = packing->time == 0 ? id.seq - prev.seq : id.seq;
    if (packing->time == 0 && packing->sequence == 1)
        packing->form = STREAM_ID_NEXT;
    else if (packing->time > 0 && packing->sequence == 0)
        packing->form = STREAM_ID_START;
    else
        packing->form = packing->sequence >> WIDE_BITS > 0 ? STREAM_ID_WIDE : STREAM_ID_GIVEN;
}

static unsigned char *head_put(unsigned char *to, const struct stream_packing *packing)
{
    uint64_t time = packing->time < TIME_LONG ? packing->time : TIME_LONG;
    *to++ = (unsigned char)(time << TIME_SHIFT | (unsigned)packing->form << FORM_SHIFT |
                            (packing->own_names ? OWN_NAMES : 0));
    if (time == TIME_LONG) to = varint_put(to, packing->time - TIME_LONG);
    if (packing->form == STREAM_ID_GIVEN) to = varint_put(to, packing->sequence);
    if (packing->form != STREAM_ID_WIDE) return to;
    little_put(to, WIDE, packing->sequence);
    return to + WIDE;
}

/* Reads a head. *id is the previous entry's ID at the call, and this entry's ID afterwards. */
static const unsigned char *head_get(const unsigned char *from, struct stream_id *id, bool *own)
{
    unsigned head = *from++;
    uint64_t time = head >> TIME_SHIFT, sequence;
    unsigned form = head >> FORM_SHIFT & FORM_MASK;
    *own = head & OWN_NAMES;
    if (time == TIME_LONG) {
        from = varint_get(from, &time);
        time += TIME_LONG;
    }
    switch (form) {
    case STREAM_ID_NEXT: id->seq++; break;
    case STREAM_ID_START: id->seq = 0; break;
    default:
        if (form == STREAM_ID_WIDE) {
            sequence = little_unsigned(from, WIDE);
            from += WIDE;
        } else {
            from = varint_get(from, &sequence);
        }
        id->seq = time == 0 ? id->seq + sequence : sequence;
        break;
    }
    id->ms += time;
    return from;
}

void stream_block_plan(const struct stream_block *block, struct stream_id id,
                       const struct bytes *texts, size_t count, struct stream_packing *packing)
{
    *packing = (struct stream_packing){ .own_names = true };
    if (block != NULL) {
        plan_id(packing, block->last, id);
        uint64_t have;
        const unsigned char *names = varint_get(block->data + block->own_names, &have);
        bool are_equal = have == count / 2;
        for (size_t i = 0; are_equal && i < count; i += 2) {
            struct bytes name;
            names = text_get(names, &name);
            are_equal = bytes_equal(name, texts[i]);
        }
        packing->own_names = !are_equal;
    }
    size_t size = 1; /* the byte of the head */
    if (packing->time >= TIME_LONG) size += varint_size(packing->time - TIME_LONG);
    if (packing->form == STREAM_ID_GIVEN) size += varint_size(packing->sequence);
    if (packing->form == STREAM_ID_WIDE) size += WIDE;
    if (packing->own_names) {
        size += varint_size(count / 2);
        for (size_t i = 0; i < count; i += 2)
            size += varint_size(texts[i].len) + texts[i].len;
    }
    for (size_t i = 1; i < count; i += 2)
        size += varint_size(texts[i].len) + texts[i].len;
    packing->size = size;
}

void stream_block_put(struct stream_block *block, struct stream_id id, const struct bytes *texts,
                      size_t count, const struct stream_packing *packing)
{
    unsigned char *to = block->data + block->used;
    to = head_put(to, packing);
    if (packing->own_names) {
        block->own_names = (uint32_t)(to - block->data);
        to = varint_put(to, count / 2);
        for (size_t i = 0; i < count; i += 2)
            to = text_put(to, texts[i]);
    }
    for (size_t i = 1; i < count; i += 2)
        to = text_put(to, texts[i]);
    block->used += packing->size;
    if (block->node.total == 0) block->first = id;
    block->last = id;
    block->node.total++;
    block->added++;
}

void stream_block_compact(struct stream_block *block)
{
    unsigned char *data = block->data, *from = data + block->begin;
    size_t names_len = 0, gap;
    if (block->names < block->begin) {
        names_len = (size_t)(names_skip(data + block->names) - (data + block->names));
        memmove(data, data + block->names, names_len);
    }
    gap = block->begin - names_len;
    memmove(data + names_len, from, block->used - block->begin);
    block->own_names = block->own_names >= block->begin ? block->own_names - (uint32_t)gap : 0;
    block->used -= gap;
    block->begin = (uint32_t)names_len;
    block->names = 0;
}

void stream_cursor_begin(struct stream_cursor *cursor, const struct stream_block *block)
{
    cursor->block = block;
    cursor->next = block->data + block->begin;
    cursor->names = block->data + block->names;
    cursor->id = block->first;
    cursor->index = 0;
}

bool stream_cursor_next(struct stream_cursor *cursor, struct stream_entry *entry)
{
    const struct stream_block *block = cursor->block;
    if (cursor->index == block->node.total) return false;
    bool own;
    uint64_t count;
    const unsigned char *values = head_get(cursor->next, &cursor->id, &own);
    if (cursor->index++ == 0) cursor->id = block->first;
    if (own) {
        cursor->names = values;
        values = names_skip(values);
    }
    entry->names = varint_get(cursor->names, &count);
    entry->id = cursor->id;
    entry->count = count;
    entry->values = values;
    entry->given = 0;
    cursor->next = texts_skip(values, count);
    return true;
}

void stream_cursor_seek(struct stream_cursor *cursor, const struct stream_block *block,
                        struct stream_id id)
{
    struct stream_cursor before;
    struct stream_entry entry;
    stream_cursor_begin(cursor, block);
    do
        before = *cursor;
    while (stream_cursor_next(cursor, &entry) && stream_id_before(entry.id, id));
    *cursor = before;
}

struct stream_note stream_cursor_note(const struct stream_cursor *cursor)
{
    const unsigned char *data = cursor->block->data;
    return (struct stream_note){ .id = cursor->id,
                                 .next = (uint32_t)(cursor->next - data),
                                 .names = (uint32_t)(cursor->names - data) };
}

void stream_cursor_return(struct stream_cursor *cursor, const struct stream_note *note,
                          uint32_t index)
{
    cursor->next = cursor->block->data + note->next;
    cursor->names = cursor->block->data + note->names;
    cursor->id = note->id;
    cursor->index = index;
}

void stream_block_cut(struct stream_block *block, uint32_t count)
{
    struct stream_cursor cursor;
    struct stream_entry entry;
    stream_cursor_begin(&cursor, block);
    for (uint32_t i = 0; i < count; i++)
        stream_cursor_next(&cursor, &entry);
    block->begin = (uint32_t)(cursor.next - block->data);
    block->names = (uint32_t)(cursor.names - block->data);
    stream_cursor_next(&cursor, &entry);
    block->first = entry.id;
    counted_change(&block->node, -(size_t)count);
}

/* Removes the entry after `before`, which is neither the first nor the last one. The entry after it
 * receives a new head, since its ID is now stored as the difference from another one, and also the
 * removed entry's names if it shared them. All this fits into the space that becomes free, because
 * the new head is longer by no more than the size of the removed head and values. */
static void remove_between(struct stream_block *block, const struct stream_cursor *before)
{
    struct stream_cursor cursor = *before;
    struct stream_entry gone, after;
    bool follows = stream_cursor_next(&cursor, &gone) && stream_cursor_next(&cursor, &after);
    ensure(follows, "entry %u is the last of %zu", before->index, block->node.total);
    const unsigned char *end = block->data + block->used, *names_end;
    struct stream_packing packing = { .own_names = cursor.names != before->names };
    unsigned char head[HEAD_MAX], *to = block->data + (before->next - block->data);
    plan_id(&packing, before->id, after.id);
    size_t head_len = (size_t)(head_put(head, &packing) - head), names_len = 0, tail;
    if (packing.own_names) {
        names_end = names_skip(cursor.names);
        names_len = (size_t)(names_end - cursor.names);
    }
    ensure(to + head_len + names_len <= after.values, "an entry of %zu and %zu bytes does not fit",
           head_len, names_len);
    memmove(to + head_len, cursor.names, names_len);
    tail = (size_t)(end - after.values);
    memmove(to + head_len + names_len, after.values, tail);
    memcpy(to, head, head_len);
    block->used = (size_t)(to - block->data) + head_len + names_len + tail;
}

bool stream_block_remove(struct stream_block *block, struct stream_id id)
{
    struct stream_cursor before, cursor;
    struct stream_entry entry;
    stream_cursor_seek(&before, block, id);
    cursor = before;
    if (!stream_cursor_next(&cursor, &entry) || !stream_id_equal(entry.id, id)) return false;
    if (before.index == 0) {
        stream_block_cut(block, 1);
        return true;
    }
    if (before.index == block->node.total - 1) {
        block->used = (size_t)(before.next - block->data);
        block->last = before.id;
    } else {
        remove_between(block, &before);
    }
    counted_change(&block->node, SIZE_MAX);

    /* Find the names of the last entry again. */
    stream_cursor_begin(&cursor, block);
    while (stream_cursor_next(&cursor, &entry))
        continue;
    block->own_names = (uint32_t)(cursor.names - block->data);
    return true;
}

void stream_block_pack(const struct stream_block *block, struct stream_packed *packed)
{
    const unsigned char *data = block->data, *names = data + block->names;
    size_t names_len = 0;
    if ((data[block->begin] & OWN_NAMES) == 0) names_len = (size_t)(names_skip(names) - names);
    *packed = (struct stream_packed){
        .names = bytes_of((const char *)names, names_len),
        .entries = bytes_of((const char *)data + block->begin, block->used - block->begin),
        .count = stream_block_count(block),
        .first = block->first,
        .last = block->last,
    };
    if (block->own_names >= block->begin)
        packed->own_names = block->own_names - block->begin + (uint32_t)names_len;
}

void stream_block_unpack(struct stream_block *block, const struct stream_packed *packed)
{
    size_t names_len = packed->names.len, entries_len = packed->entries.len;
    if (names_len > 0) memcpy(block->data, packed->names.data, names_len);
    memcpy(block->data + names_len, packed->entries.data, entries_len);
    block->used = names_len + entries_len;
    block->begin = (uint32_t)names_len;
    block->names = 0;
    block->own_names = packed->own_names;
    block->first = packed->first;
    block->last = packed->last;
    block->node.total = block->added = packed->count;
}

/* Bytes from a file or a peer, not trusted: nothing may be read from `end` on. */
struct input {
    const unsigned char *at, *end;
};

/* Refuses a varint that could be shorter. */
static bool read_varint(struct input *from, uint64_t *value)
{
    const unsigned char *last = from->at, *end = from->end;
    if (end - last > VARINT_MAX) end = last + VARINT_MAX;
    while (last < end && *last >= VARINT_MORE)
        last++;
    if (last == end || (*last == 0 && last > from->at)) return false;
    if (last - from->at == VARINT_MAX - 1 && *last > 1) return false; /* more than 64 bits */
    from->at = varint_get(from->at, value);
    return true;
}

static bool read_texts(struct input *from, uint64_t count)
{
    for (uint64_t len; count > 0; count--) {
        if (!read_varint(from, &len) || len > (size_t)(from->end - from->at)) return false;
        from->at += len;
    }
    return true;
}

/* An entry has at least one name. */
static bool read_names(struct input *from, uint64_t *count)
{
    return read_varint(from, count) && *count > 0 && read_texts(from, *count);
}

bool stream_packed_check(struct stream_packed *packed)
{
    const unsigned char *names = (const unsigned char *)packed->names.data;
    const unsigned char *entries = (const unsigned char *)packed->entries.data;
    struct input from = { names, names + packed->names.len };
    size_t names_len = packed->names.len, entries_len = packed->entries.len;
    if (names_len > STREAM_PACKED_MAX || entries_len > STREAM_PACKED_MAX - names_len) return false;
    uint64_t fields = 0; /* number of names in force */
    if (names_len > 0 && (!read_names(&from, &fields) || from.at < from.end)) return false;

    struct stream_id id = STREAM_ID_MIN;
    packed->own_names = 0;
    from = (struct input){ entries, entries + entries_len };
    for (uint32_t i = 0; i < packed->count; i++) {
        const unsigned char *begin = from.at;
        struct stream_id prev = id;
        bool own;
        uint64_t ignored;
        if (from.at == from.end) return false;
        unsigned head = *from.at++, form = head >> FORM_SHIFT & FORM_MASK;
        if (head >> TIME_SHIFT == TIME_LONG && !read_varint(&from, &ignored)) return false;
        if (form == STREAM_ID_GIVEN && !read_varint(&from, &ignored)) return false;
        if (form == STREAM_ID_WIDE) {
            if (from.end - from.at < WIDE) return false;
            from.at += WIDE;
        }
        head_get(begin, &id, &own);
        if (i == 0) {
            id = packed->first;
        } else {
            /* Refuse other heads with the same meaning, because remove_between relies on heads that
             * are as short as possible. */
            unsigned char shortest[HEAD_MAX];
            struct stream_packing packing = { .own_names = own };
            if (!stream_id_before(prev, id)) return false;
            plan_id(&packing, prev, id);
            size_t len = (size_t)(head_put(shortest, &packing) - shortest);
            if (len != (size_t)(from.at - begin) || memcmp(shortest, begin, len) != 0) return false;
        }
        if (own) {
            if (i == 0 && names_len > 0) return false;
            packed->own_names = (uint32_t)(names_len + (size_t)(from.at - entries));
            if (!read_names(&from, &fields)) return false;
        }
        if (fields == 0 || !read_texts(&from, fields)) return false;
    }
    packed->last = id;
    return packed->count > 0 && from.at == from.end;
}

void stream_block_check(const struct stream_block *block)
{
    struct stream_cursor cursor;
    struct stream_entry entry;
    struct stream_id prev = STREAM_ID_MIN;
    uint32_t count = 0;
    ensure(block->used <= block->cap, "%zu bytes in %zu", block->used, block->cap);
    ensure(block->begin < block->used, "begins at %u of %zu", block->begin, block->used);
    ensure(block->node.total > 0 && block->node.total <= block->added, "%zu entries of %u",
           block->node.total, block->added);
    stream_cursor_begin(&cursor, block);
    for (; stream_cursor_next(&cursor, &entry); prev = entry.id, count++) {
        ensure(count == 0 || stream_id_before(prev, entry.id), "entry %u of %zu", count,
               block->node.total);
        ensure(cursor.names < cursor.next && entry.count > 0, "entry %u: its names", count);
        ensure(cursor.next <= block->data + block->used, "entry %u ends at %zu of %zu", count,
               (size_t)(cursor.next - block->data), block->used);
    }
    ensure(count == block->node.total, "%u entries, count %zu", count, block->node.total);
    ensure(cursor.next == block->data + block->used, "entries end at %zu of %zu",
           (size_t)(cursor.next - block->data), block->used);
    ensure(stream_id_equal(prev, block->last), "the last is %zu-%zu", (size_t)prev.ms,
           (size_t)prev.seq);
    ensure(cursor.names == block->data + block->own_names, "names at %u", block->own_names);
}
