/* segment_text: see segment_text.h. A simple reader, independent of the server's. */
#include "tests/support/segment_text.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/disk/format/crc32c.h"
#include "tests/support/disk_world.h"

/* Reads a mark; a segment is synced up to an offset before its mark. */
static bool read_mark(struct segment_text *segment, const char *line, size_t len, size_t limit)
{
    uint64_t offset;
    uint32_t id;
    struct journal_end before;
    if (segment_mark_read_begin(line, len, &id, &before)) {
        segment->end.id = id;
        segment->before = before;
        return true;
    }
    if (!segment_mark_read_synced(line, len, &offset, &id)) return false;
    ck_assert_uint_eq(id, segment->end.id);
    ck_assert_uint_gt(offset, segment->synced);
    ck_assert_uint_le(offset, limit);
    segment->synced = offset;
    return true;
}

struct segment_text segment_text_of(const char *data, size_t len)
{
    struct segment_text segment = { .text = calloc(1, len + 1) };
    size_t header = strlen(RECORD_FIRST_LINE), text_len = 0;
    if (len < header) {
        ck_assert_mem_eq(data, RECORD_FIRST_LINE, len);
        segment.torn = true;
        return segment;
    }
    ck_assert_mem_eq(data, RECORD_FIRST_LINE, header);
    segment.end = (struct journal_end){ .length = header, .sum = crc32c(0, data, header) };
    /* `copied`: the text before it is copied, or has been a mark. */
    size_t copied = header, line = header, record_text = 0;
    for (const char *stop; (stop = memchr(data + line, '\n', len - line)) != NULL;) {
        size_t next = (size_t)(stop + 1 - data);
        if (data[line] == '#') {
            memcpy(segment.text + text_len, data + copied, line - copied);
            text_len += line - copied;
            copied = next;
            if (!read_mark(&segment, data + line, next - line, line)) {
                char sum[16];
                snprintf(sum, sizeof(sum), "#%08x\r\n", crc32c(0, data, line));
                ck_assert_uint_eq(next - line, 11);
                ck_assert_mem_eq(data + line, sum, 11);
                record_text = text_len;
                segment.records++;
                segment.end.length = next;
                segment.end.sum = crc32c(0, data, next);
            }
        }
        line = next;
    }
    segment.text[record_text] = '\0'; /* without the text of a torn record before its mark */
    segment.torn = segment.end.length < len;
    return segment;
}

struct segment_text segment_text_read(const char *name)
{
    size_t len;
    char *data = disk_world_read(name, &len);
    struct segment_text segment = segment_text_of(data, len);
    free(data);
    return segment;
}
