/* size_mark: see size_mark.h. */
#include "server/disk/format/size_mark.h"

#include <stdio.h>

#include "store/base/number.h"

#define KEYS    LIT("#KEYS ")
#define MEMBERS LIT("#MEMBERS ")

size_t size_mark_print(const struct store_size *size, char to[SIZE_MARK_MAX])
{
    if (!size->is_database)
        return (size_t)snprintf(to, SIZE_MARK_MAX, "#MEMBERS %zu\r\n", size->count);
    return (size_t)snprintf(to, SIZE_MARK_MAX, "#KEYS %u %zu\r\n", size->db, size->count);
}

/* Parses a number that is followed by the byte `end`, and moves *text behind that byte. Returns
 * false if there is none. */
static bool take_number(struct bytes *text, char end, int64_t *number)
{
    const char *at = memchr(text->data, end, text->len);
    if (at == NULL) return false;
    size_t len = (size_t)(at - text->data);
    if (!number_parse_int64(text->data, len, number) || *number < 0) return false;
    *text = bytes_of(at + 1, text->len - len - 1);
    return true;
}

bool size_mark_read(const char *line, size_t len, struct store_size *size)
{
    struct bytes text = bytes_of(line, len);
    int64_t db = 0, count;
    size->is_database = bytes_begin_with(text, KEYS);
    if (!size->is_database && !bytes_begin_with(text, MEMBERS)) return false;
    size_t skip = size->is_database ? KEYS.len : MEMBERS.len;
    text = bytes_of(text.data + skip, text.len - skip);
    if (size->is_database && (!take_number(&text, ' ', &db) || db > UINT32_MAX)) return false;
    if (!take_number(&text, '\r', &count) || !bytes_equal(text, LIT("\n"))) return false;
    size->db = (unsigned)db;
    size->count = (size_t)count;
    return true;
}
