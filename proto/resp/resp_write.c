/* resp_write: see resp_write.h. Short replies are formatted in place at the end of the outbuf. */
#include "proto/resp/resp_write.h"

#include <string.h>

#include "proto/resp/resp_reply.h"
#include "store/base/bytes.h"
#include "store/base/number.h"
#include "store/mem/mem.h"

enum {
    HEADER_ROOM = 32, /* a type byte, an integer and two line ends */
    SHORT = 64,       /* up to this size, resp_bulk copies a payload without a call */
    SMALL = 1024,     /* up to this size, reserve a payload together with its header and line end */
    ERROR_PIECE = 512,
    FORMAT_CHARS = 3, /* length of a verbatim string's format, by the protocol */
};

static const char line_end[2] = { '\r', '\n' };

/* ---- to a sink ---- */

static void put_text(struct resp_writer *w, enum resp_reply_type type, const char *text, size_t len)
{
    w->sink->put(w->sink, &(struct resp_node){ .type = type, .text = text, .len = len });
}

static void put_number(struct resp_writer *w, enum resp_reply_type type, int64_t number)
{
    w->sink->put(w->sink, &(struct resp_node){ .type = type, .number = number });
}

/* ---- to an outbuf ---- */

/* Returns true if the writer must append nothing. The limit can cut a reply off in the middle: the
 * owner of the output then closes the connection or discards the reply. */
static bool is_silent(const struct resp_writer *w)
{
    return w->mute || (w->limit != 0 && w->out->len > w->limit);
}

static char *put_line_end(char *p)
{
    memcpy(p, line_end, sizeof(line_end));
    return p + sizeof(line_end);
}

static char *put_header(char *p, char type, uint64_t number)
{
    *p++ = type;
    p += number_print_uint64(p, number);
    return put_line_end(p);
}

static void append_header(struct resp_writer *w, char type, uint64_t number)
{
    if (is_silent(w)) return;
    char *start = outbuf_reserve(w->out, HEADER_ROOM);
    outbuf_commit(w->out, (size_t)(put_header(start, type, number) - start));
}

/* Writes a line whose text contains no line end. */
static void append_line(struct resp_writer *w, char type, const char *text, size_t len)
{
    if (is_silent(w)) return;
    if (len <= SMALL) {
        char *start = outbuf_reserve(w->out, len + HEADER_ROOM), *p = start;
        *p++ = type;
        memcpy(p, text, len);
        p = put_line_end(p + len);
        outbuf_commit(w->out, (size_t)(p - start));
        return;
    }
    outbuf_append(w->out, &type, 1);
    outbuf_append(w->out, text, len);
    outbuf_append(w->out, line_end, sizeof(line_end));
}

static inline void append_ready(struct resp_writer *w, const char *line, size_t len)
{
    if (is_silent(w)) return;
    memcpy(outbuf_reserve(w->out, len), line, len);
    outbuf_commit(w->out, len);
}

/* ---- replies ---- */

bool resp_has_push(const struct resp_writer *w)
{
    return w->version >= 3;
}

void resp_status(struct resp_writer *w, const char *text)
{
    size_t len = strlen(text);
    if (w->sink != NULL)
        put_text(w, REPLY_STATUS, text, len);
    else
        append_line(w, '+', text, len);
}

void resp_ok(struct resp_writer *w)
{
    if (w->sink != NULL)
        put_text(w, REPLY_STATUS, "OK", 2);
    else
        append_ready(w, "+OK\r\n", 5);
}

/* Ends a line with this text. Control bytes become spaces: a CR or LF would end the line early and
 * let a client forge replies, and others could upset a terminal that shows the line. DIFFERS: Redis
 * replaces only CR and LF. (doc/differs.md) */
static void append_cleaned(struct resp_writer *w, const char *line, size_t len)
{
    while (len > 0) {
        size_t piece = len < ERROR_PIECE ? len : ERROR_PIECE;
        char *to = outbuf_reserve(w->out, piece);
        for (size_t i = 0; i < piece; i++) {
            unsigned char byte = (unsigned char)line[i];
            to[i] = byte < ' ' || byte == 0x7f ? ' ' : line[i];
        }
        outbuf_commit(w->out, piece);
        line += piece;
        len -= piece;
    }
    outbuf_append(w->out, line_end, sizeof(line_end));
}

static void append_cleaned_line(struct resp_writer *w, char type, const char *line, size_t len)
{
    if (is_silent(w)) return;
    outbuf_append(w->out, &type, 1);
    append_cleaned(w, line, len);
}

void resp_error(struct resp_writer *w, const char *line, size_t len)
{
    while (len > 0 && (line[len - 1] == '\r' || line[len - 1] == '\n'))
        len--;
    if (w->sink != NULL)
        put_text(w, REPLY_ERROR, line, len);
    else
        append_cleaned_line(w, '-', line, len);
}

void resp_status_bytes(struct resp_writer *w, const char *text, size_t len)
{
    if (w->sink != NULL)
        put_text(w, REPLY_STATUS, text, len);
    else
        append_cleaned_line(w, '+', text, len);
}

void resp_integer(struct resp_writer *w, int64_t value)
{
    if (w->sink != NULL) {
        put_number(w, REPLY_INTEGER, value);
        return;
    }
    if (value >= 0 && value <= 9) {
        const char line[] = { ':', (char)('0' + value), '\r', '\n' };
        append_ready(w, line, sizeof(line));
        return;
    }
    if (is_silent(w)) return;
    char *start = outbuf_reserve(w->out, HEADER_ROOM), *p = start;
    *p++ = ':';
    p += number_print_int64(p, value);
    p = put_line_end(p);
    outbuf_commit(w->out, (size_t)(p - start));
}

/* The general case of resp_bulk. Not inlined, so that resp_bulk calls nothing for a short text, and
 * saves no registers. */
__attribute__((noinline)) static void bulk_any(struct resp_writer *w, const void *data, size_t len)
{
    if (w->sink != NULL) {
        put_text(w, REPLY_BULK, data, len);
        return;
    }
    if (is_silent(w)) return;
    if (len <= SMALL) {
        char *start = outbuf_reserve(w->out, len + HEADER_ROOM);
        char *p = put_header(start, '$', len);
        if (len > 0) memcpy(p, data, len);
        p = put_line_end(p + len);
        outbuf_commit(w->out, (size_t)(p - start));
        return;
    }
    append_header(w, '$', len);
    outbuf_append(w->out, data, len);
    outbuf_append(w->out, line_end, sizeof(line_end));
}

void resp_bulk(struct resp_writer *w, const void *data, size_t len)
{
    char *start = NULL;
    bool is_short = len - 1 < SHORT && w->sink == NULL && !is_silent(w);
    if (!is_short || (start = outbuf_tail(w->out, SHORT + HEADER_ROOM)) == NULL) {
        bulk_any(w, data, len);
        return;
    }
    char *p = start;
    *p++ = '$';
    if (len >= 10) *p++ = (char)('0' + len / 10);
    *p++ = (char)('0' + len % 10);
    p = put_line_end(p);
    p = put_line_end(bytes_copy(p, bytes_of(data, len)));
    outbuf_extend(w->out, (size_t)(p - start));
}

void resp_bulk_shared(struct resp_writer *w, const void *data, size_t len,
                      void (*release)(void *owner), void *owner)
{
    if (w->sink != NULL || is_silent(w)) {
        resp_bulk(w, data, len);
        release(owner);
        return;
    }
    append_header(w, '$', len);
    outbuf_append_shared(w->out, data, len, release, owner);
    outbuf_append(w->out, line_end, sizeof(line_end));
}

void resp_bulk_text(struct resp_writer *w, const char *text)
{
    resp_bulk(w, text, strlen(text));
}

void resp_bulk_int64(struct resp_writer *w, int64_t value)
{
    char text[NUMBER_INT64_MAX_CHARS];
    resp_bulk(w, text, number_print_int64(text, value));
}

void resp_bulk_double(struct resp_writer *w, double value)
{
    char text[NUMBER_DOUBLE_MAX_CHARS];
    resp_bulk(w, text, number_print_double(text, value));
}

static void write_double(struct resp_writer *w, const char *text, size_t len, double value)
{
    if (w->version < 3)
        resp_bulk(w, text, len);
    else if (w->sink != NULL)
        w->sink->put(w->sink, &(struct resp_node){
                                  .type = REPLY_DOUBLE, .text = text, .len = len, .real = value });
    else
        append_line(w, ',', text, len);
}

void resp_double(struct resp_writer *w, double value)
{
    if (is_silent(w)) return;
    char text[NUMBER_DOUBLE_MAX_CHARS];
    write_double(w, text, number_print_double(text, value), value);
}

void resp_long_double(struct resp_writer *w, long double value)
{
    if (is_silent(w)) return;
    char text[NUMBER_FIXED_MAX_CHARS];
    write_double(w, text, number_print_long_double(text, value), (double)value);
}

void resp_bool(struct resp_writer *w, bool value)
{
    if (w->version < 3)
        resp_integer(w, value);
    else if (w->sink != NULL)
        put_number(w, REPLY_BOOL, value);
    else
        append_line(w, '#', value ? "t" : "f", 1);
}

void resp_null(struct resp_writer *w)
{
    if (w->sink != NULL)
        put_number(w, REPLY_NULL, 0);
    else if (w->version < 3)
        append_ready(w, "$-1\r\n", 5);
    else
        append_line(w, '_', "", 0);
}

void resp_null_array(struct resp_writer *w)
{
    if (w->sink != NULL)
        put_number(w, REPLY_NULL, NULL_OF_ARRAY);
    else if (w->version < 3)
        append_line(w, '*', "-1", 2);
    else
        append_line(w, '_', "", 0);
}

void resp_big_number(struct resp_writer *w, const char *digits, size_t len)
{
    if (w->sink != NULL) {
        put_text(w, w->version < 3 ? REPLY_BULK : REPLY_BIGNUM, digits, len);
    } else if (w->version >= 3) {
        append_cleaned_line(w, '(', digits, len);
    } else if (!is_silent(w)) {
        append_header(w, '$', len);
        append_cleaned(w, digits, len);
    }
}

void resp_verbatim(struct resp_writer *w, const char *format, const char *text, size_t len)
{
    if (w->version < 3) {
        resp_bulk(w, text, len);
        return;
    }
    char prefix[FORMAT_CHARS + 1] = { ' ', ' ', ' ', ':' };
    for (int i = 0; i < FORMAT_CHARS && format[i] != '\0'; i++)
        prefix[i] = format[i];
    if (w->sink != NULL) {
        char *whole = mem_alloc(sizeof(prefix) + len);
        memcpy(whole, prefix, sizeof(prefix));
        if (len > 0) memcpy(whole + sizeof(prefix), text, len);
        put_text(w, REPLY_VERBATIM, whole, sizeof(prefix) + len);
        mem_free(whole);
        return;
    }
    if (is_silent(w)) return;
    append_header(w, '=', len + sizeof(prefix));
    outbuf_append(w->out, prefix, sizeof(prefix));
    outbuf_append(w->out, text, len);
    outbuf_append(w->out, line_end, sizeof(line_end));
}

/* Begins an aggregate. `count` is the number in the header on the wire. `children` is the number of
 * values that follow; in a map each pair is two. */
static void aggregate(struct resp_writer *w, enum resp_reply_type type, size_t children, char byte,
                      size_t count)
{
    if (w->sink != NULL)
        put_number(w, type, (int64_t)children);
    else
        append_header(w, byte, count);
}

void resp_array(struct resp_writer *w, size_t count)
{
    aggregate(w, REPLY_ARRAY, count, '*', count);
}

void resp_set(struct resp_writer *w, size_t count)
{
    if (w->version < 3)
        resp_array(w, count);
    else
        aggregate(w, REPLY_SET, count, '~', count);
}

void resp_map(struct resp_writer *w, size_t pairs)
{
    if (w->version < 3)
        resp_array(w, 2 * pairs);
    else
        aggregate(w, REPLY_MAP, 2 * pairs, '%', pairs);
}

void resp_push(struct resp_writer *w, size_t count)
{
    if (w->version < 3)
        resp_array(w, count);
    else
        aggregate(w, REPLY_PUSH, count, '>', count);
}

void resp_pairs(struct resp_writer *w, size_t count)
{
    resp_array(w, w->version < 3 ? 2 * count : count);
}

void resp_pair(struct resp_writer *w)
{
    if (w->version >= 3) resp_array(w, 2);
}

void resp_named(struct resp_writer *w, size_t count)
{
    if (w->version < 3)
        resp_array(w, count);
    else
        resp_map(w, count);
}

void resp_named_next(struct resp_writer *w)
{
    if (w->version < 3) resp_array(w, 2);
}

/* ---- replies in a separate buffer ---- */

struct resp_writer resp_writer_to(const struct resp_writer *w, struct outbuf *part)
{
    struct resp_writer writer = *w;
    writer.out = part;
    writer.sink = NULL;
    part->optional = w->out != NULL && w->out->optional;
    return writer;
}

void resp_splice(struct resp_writer *w, struct outbuf *part)
{
    if (w->sink != NULL) {
        struct resp_reply reply;
        char *text = mem_alloc(part->len + 1);
        outbuf_copy(part, text);
        resp_reply_init(&reply);
        for (size_t at = 0; at < part->len; at += reply.consumed) {
            if (resp_reply_parse(&reply, text + at, part->len - at) != REPLY_WHOLE) break;
            for (size_t i = 0; i < reply.count; i++)
                w->sink->put(w->sink, &reply.nodes[i]);
        }
        resp_reply_drop(&reply);
        mem_free(text);
    }
    if (w->sink != NULL || is_silent(w))
        outbuf_drop(part);
    else
        outbuf_splice(w->out, part);
}
