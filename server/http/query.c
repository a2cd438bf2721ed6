/* query: see query.h. */
#include "server/http/query.h"

static int digit_of(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

static struct bytes decode(struct bytes text, char *to)
{
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i] == '+' ? ' ' : text.data[i];
        if (c == '%' && i + 2 < text.len) {
            int high = digit_of(text.data[i + 1]), low = digit_of(text.data[i + 2]);
            if (high >= 0 && low >= 0) {
                c = (char)(high << 4 | low);
                i += 2;
            }
        }
        to[len++] = c;
    }
    return bytes_of(to, len);
}

bool query_find(struct bytes query, struct bytes name, char *to, struct bytes *value)
{
    while (query.len > 0) {
        const char *end = memchr(query.data, '&', query.len);
        size_t len = end != NULL ? (size_t)(end - query.data) : query.len;
        if (len > name.len && memcmp(query.data, name.data, name.len) == 0 &&
            query.data[name.len] == '=') {
            *value = decode(bytes_of(query.data + name.len + 1, len - name.len - 1), to);
            return true;
        }
        if (end == NULL) return false;
        query = bytes_of(end + 1, query.len - len - 1);
    }
    return false;
}
