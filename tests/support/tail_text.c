/* tail_text: the plainest reader of tails, behind tail_text.h. */
#include "tests/support/tail_text.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/persist/format/crc32c.h"
#include "tests/support/disk_world.h"

struct tail_text tail_text_of(const char *data, size_t len)
{
    struct tail_text tail = { .text = calloc(1, len + 1) };
    size_t header = strlen(UNIT_FIRST_LINE), text_len = 0;
    if (len < header) {
        ck_assert_mem_eq(data, UNIT_FIRST_LINE, len);
        tail.torn = true;
        return tail;
    }
    ck_assert_mem_eq(data, UNIT_FIRST_LINE, header);
    tail.end = (struct journal_end){ .length = header, .sum = crc32c(0, data, header) };
    size_t unit = header, line = header;
    for (const char *stop; (stop = memchr(data + line, '\n', len - line)) != NULL;) {
        size_t next = (size_t)(stop + 1 - data);
        if (data[line] == '#') {
            char sum[16];
            snprintf(sum, sizeof(sum), "#%08x\r\n", crc32c(0, data, line));
            ck_assert_uint_eq(next - line, 11);
            ck_assert_mem_eq(data + line, sum, 11);
            memcpy(tail.text + text_len, data + unit, line - unit);
            text_len += line - unit;
            tail.units++;
            unit = next;
            tail.end = (struct journal_end){ .length = next, .sum = crc32c(0, data, next) };
        }
        line = next;
    }
    tail.torn = tail.end.length < len;
    return tail;
}

struct tail_text tail_text_read(const char *name)
{
    size_t len;
    char *data = disk_world_read(name, &len);
    struct tail_text tail = tail_text_of(data, len);
    free(data);
    return tail;
}
