/* segment_text: see segment_text.h. A simple reader, independent of the server's. */
#include "tests/support/segment_text.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/disk/format/crc32c.h"
#include "tests/support/disk_world.h"

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
    size_t record = header, line = header;
    for (const char *stop; (stop = memchr(data + line, '\n', len - line)) != NULL;) {
        size_t next = (size_t)(stop + 1 - data);
        if (data[line] == '#') {
            char sum[16];
            snprintf(sum, sizeof(sum), "#%08x\r\n", crc32c(0, data, line));
            ck_assert_uint_eq(next - line, 11);
            ck_assert_mem_eq(data + line, sum, 11);
            memcpy(segment.text + text_len, data + record, line - record);
            text_len += line - record;
            segment.records++;
            record = next;
            segment.end = (struct journal_end){ .length = next, .sum = crc32c(0, data, next) };
        }
        line = next;
    }
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
