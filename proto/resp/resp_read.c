/* resp_read: the parser of requests. Two quirks of Redis' parser are kept, because clients can
 * observe them:
 *
 * - A header line ends at the first CR. The byte after the CR is skipped unchecked, and so are the
 *   two bytes after an argument.
 * - A NUL in a line hides the line end after it, because Redis searches with C string functions.
 *   Such a line never ends, and fails once it is too long.
 *
 * Whether a line is too long depends on its own length and not on the amount of input, so that the
 * result does not depend on how the network splits the input. */
#include "proto/resp/resp_read.h"

#include <stdio.h>
#include <string.h>

#include "store/base/number.h"
#include "store/base/quoted.h"
#include "store/mem/mem.h"

enum {
    MAX_ARGS_ANON = 10,  /* Redis' limit on arguments before authentication */
    FIRST_ARGS = 8,      /* arguments in the first allocation */
    TRUSTED_ARGS = 1024, /* allocate at most this many before arguments have arrived */
    KEPT_ARGS = 1024,    /* a larger array is freed after the request */
    SHORT_DIGITS = 4,    /* digits of a length that is parsed without looking for its end */
};

void resp_reader_init(struct resp_reader *reader)
{
    *reader = (struct resp_reader){ .args_expected = -1, .bulk_expected = -1 };
}

void resp_reader_drop(struct resp_reader *reader)
{
    mem_free(reader->args);
    mem_free(reader->unquoted);
    resp_reader_init(reader);
}

static enum resp_status malformed(struct resp_reader *reader, const char *why)
{
    snprintf(reader->error, sizeof(reader->error), "Protocol error: %s", why);
    return RESP_MALFORMED;
}

static enum resp_status finish(struct resp_reader *reader, size_t consumed)
{
    reader->consumed = consumed;
    reader->parsed = reader->scanned = 0;
    reader->args_expected = reader->bulk_expected = -1;
    return RESP_REQUEST;
}

static void resize_args(struct resp_reader *reader, int64_t cap)
{
    reader->args = mem_realloc(reader->args, (size_t)cap * sizeof(*reader->args));
    reader->args_cap = (int)cap;
}

static void grow_args(struct resp_reader *reader)
{
    int64_t cap = reader->args_cap == 0 ? FIRST_ARGS : 2 * (int64_t)reader->args_cap;
    resize_args(reader, cap > INT32_MAX ? INT32_MAX : cap);
}

static void add_arg(struct resp_reader *reader, size_t offset, size_t len)
{
    if (reader->argc == reader->args_cap) grow_args(reader);
    reader->args[reader->argc++] = (struct resp_slice){ offset, len };
}

/* Finds the byte `end` of the line that begins at `parsed`. Remembers in `scanned` how far it has
 * searched, so that a line that arrives in pieces is searched once.
 *
 *     RESP_REQUEST      *found is the position of `end`
 *     RESP_PARTIAL      not found yet
 *     RESP_MALFORMED    the line is too long */
static enum resp_status find_line_end(struct resp_reader *reader, const char *input, size_t len,
                                      size_t max_line, char end, size_t *found)
{
    size_t from = reader->scanned > reader->parsed ? reader->scanned : reader->parsed;
    size_t limit = len;
    if (len - reader->parsed > max_line) limit = reader->parsed + max_line + 1;
    const char *hit = from < limit ? memchr(input + from, end, limit - from) : NULL;
    size_t searched = hit == NULL ? limit : (size_t)(hit - input);
    const char *nul = from < searched ? memchr(input + from, '\0', searched - from) : NULL;
    if (nul != NULL) {
        /* Stop before the NUL, so that it also hides a line end that arrives later. */
        hit = NULL;
        searched = (size_t)(nul - input);
    }
    reader->scanned = searched;
    *found = searched;
    if (hit != NULL) return RESP_REQUEST;
    return len - reader->parsed > max_line ? RESP_MALFORMED : RESP_PARTIAL;
}

/* Reads a header of the common form, such as "$3\r\n": at most SHORT_DIGITS digits in a complete
 * line. Returns the size of the header including its type byte, or 0 if the header has another form
 * or is incomplete. */
static inline size_t read_short_header(const char *header, size_t available, size_t *value)
{
    unsigned digit = available < 4 ? 10 : (unsigned)(unsigned char)header[1] - '0';
    if (digit > 9) return 0;
    if (header[2] == '\r') {
        *value = digit;
        return 4;
    }
    if (digit == 0) return 0;
    size_t sum = digit;
    size_t most = available - 2 < SHORT_DIGITS + 1 ? available - 2 : SHORT_DIGITS + 1;
    for (size_t i = 2; i <= most; i++) {
        digit = (unsigned)(unsigned char)header[i] - '0';
        if (digit > 9) {
            if (header[i] != '\r') return 0;
            *value = sum;
            return i + 2;
        }
        sum = sum * 10 + digit;
    }
    return 0;
}

struct header {
    int64_t value; /* the number after the type byte, if good */
    size_t size;   /* bytes of the whole line */
    bool good;
};

/* Reads any header line. RESP_MALFORMED means that it is too long. */
static enum resp_status read_header(struct resp_reader *reader, const char *input, size_t len,
                                    size_t max_line, struct header *header)
{
    size_t end;
    enum resp_status status = find_line_end(reader, input, len, max_line, '\r', &end);
    if (status != RESP_REQUEST) return status;
    if (end + 2 > len) return RESP_PARTIAL;
    header->size = end + 2 - reader->parsed;
    header->good =
        end > reader->parsed &&
        number_parse_int64(input + reader->parsed + 1, end - reader->parsed - 1, &header->value);
    return RESP_REQUEST;
}

/* Parses the most common kind of request in one pass: complete, with at most FIRST_ARGS arguments
 * of at most 99 bytes. Checks no limits, so the caller must know that such a request is within
 * them. Returns false for any other request; args may then be overwritten, but argc is still 0. */
static bool read_at_once(struct resp_reader *reader, const char *input, size_t len)
{
    const char *p = input, *end = input + len;
    if (len < 8 || p[2] != '\r' || (unsigned)(p[1] - '1') >= FIRST_ARGS) return false;
    int count = p[1] - '0';
    p += 4;
    for (int i = 0; i < count; i++) {
        if (end - p < 6 || p[0] != '$') return false;
        unsigned size = (unsigned)(p[1] - '0');
        bool two = p[2] != '\r';
        if (two) {
            unsigned digit = (unsigned)(p[2] - '0');
            if (size == 0 || digit > 9 || p[3] != '\r') return false;
            if (size > 9) return false;
            size = 10 * size + digit;
        } else if (size > 9) {
            return false;
        }
        p += 4 + two;
        if ((size_t)(end - p) < size + 2) return false;
        reader->args[i] = (struct resp_slice){ (size_t)(p - input), size };
        p += size + 2;
    }
    reader->argc = count;
    reader->consumed = (size_t)(p - input);
    return true;
}

/* Parses arguments as long as each is complete and has a short header. */
static void read_short_args(struct resp_reader *reader, const char *input, size_t len,
                            size_t max_bulk)
{
    int64_t room =
        reader->args_expected < reader->args_cap ? reader->args_expected : reader->args_cap;
    struct resp_slice *arg = reader->args + reader->argc, *end = reader->args + room;
    size_t at = reader->parsed;
    while (arg < end) {
        size_t size, left = len - at;
        size_t header = read_short_header(input + at, left, &size);
        if (header == 0 || input[at] != '$' || size > max_bulk) break;
        if (left - header < size + 2) break;
        *arg++ = (struct resp_slice){ at + header, size };
        at += header + size + 2;
    }
    reader->argc = (int)(arg - reader->args);
    reader->parsed = at;
}

/* Are short headers always within the limits? If not, their lengths must be checked. */
static bool short_headers_fit(const struct resp_limits *limits)
{
    return limits->max_line > SHORT_DIGITS + 1;
}

static enum resp_status read_args(struct resp_reader *reader, const char *input, size_t len,
                                  const struct resp_limits *limits)
{
    int64_t most = limits->max_bulk;
    if (limits->anonymous && limits->max_bulk_anon < most) most = limits->max_bulk_anon;
    size_t short_limit = most < 0 ? 0 : (size_t)most;
    bool may_be_short = short_headers_fit(limits);
    while (reader->argc < reader->args_expected) {
        if (reader->bulk_expected < 0) {
            if (reader->argc == reader->args_cap) grow_args(reader);
            if (may_be_short && reader->scanned <= reader->parsed) {
                read_short_args(reader, input, len, short_limit);
                if (reader->argc == reader->args_expected) break;
                if (reader->argc == reader->args_cap) continue;
            }
            struct header header;
            enum resp_status status = read_header(reader, input, len, limits->max_line, &header);
            if (status == RESP_MALFORMED) return malformed(reader, "too big bulk count string");
            if (status != RESP_REQUEST) return status;
            char type = input[reader->parsed];
            if (type != '$') {
                /* DIFFERS: Redis only replaces CR and LF and echoes other control bytes.
                 * (doc/differs.md) */
                unsigned char byte = (unsigned char)type;
                snprintf(reader->error, sizeof(reader->error),
                         "Protocol error: expected '$', got '%c'",
                         byte < ' ' || byte == 0x7f ? ' ' : type);
                return RESP_MALFORMED;
            }
            if (!header.good || header.value < 0 || header.value > limits->max_bulk)
                return malformed(reader, "invalid bulk length");
            if (limits->anonymous && header.value > limits->max_bulk_anon)
                return malformed(reader, "unauthenticated bulk length");
            reader->parsed += header.size;
            reader->bulk_expected = header.value;
        }
        size_t size = (size_t)reader->bulk_expected;
        if (len - reader->parsed < size + 2) return RESP_PARTIAL;
        add_arg(reader, reader->parsed, size);
        reader->parsed += size + 2;
        reader->bulk_expected = -1;
    }
    return finish(reader, reader->parsed);
}

static enum resp_status begin_multibulk(struct resp_reader *reader, const char *input, size_t len,
                                        const struct resp_limits *limits)
{
    size_t count, header = 0;
    if (reader->scanned == 0 && short_headers_fit(limits))
        header = read_short_header(input, len, &count);
    if (header != 0 && count <= MAX_ARGS_ANON && (int64_t)count <= limits->max_args) {
        reader->parsed = header;
        reader->args_expected = (int64_t)count;
    } else {
        struct header line;
        enum resp_status status = read_header(reader, input, len, limits->max_line, &line);
        if (status == RESP_MALFORMED) return malformed(reader, "too big mbulk count string");
        if (status != RESP_REQUEST) return status;
        int64_t most =
            limits->anonymous || limits->max_args > INT32_MAX ? INT32_MAX : limits->max_args;
        int64_t most_anon = limits->max_args < MAX_ARGS_ANON ? limits->max_args : MAX_ARGS_ANON;
        if (!line.good || line.value > most) return malformed(reader, "invalid multibulk length");
        if (limits->anonymous && line.value > most_anon)
            return malformed(reader, "unauthenticated multibulk length");
        reader->parsed = line.size;
        reader->args_expected = line.value > 0 ? line.value : 0;
    }
    int64_t cap = reader->args_expected < TRUSTED_ARGS ? reader->args_expected : TRUSTED_ARGS;
    if (cap < FIRST_ARGS) cap = FIRST_ARGS;
    if (cap > reader->args_cap) resize_args(reader, cap);
    return RESP_REQUEST;
}

static enum resp_status read_inline(struct resp_reader *reader, const char *input, size_t len,
                                    const struct resp_limits *limits)
{
    size_t found;
    enum resp_status status = find_line_end(reader, input, len, limits->max_line, '\n', &found);
    if (status == RESP_MALFORMED) return malformed(reader, "too big inline request");
    if (status == RESP_PARTIAL) return RESP_PARTIAL;

    size_t line = found > 0 && input[found - 1] == '\r' ? found - 1 : found;
    const char *at = input, *end = input + line;
    char *to = NULL;
    if (memchr(input, '"', line) != NULL || memchr(input, '\'', line) != NULL) {
        /* The arguments share one buffer of the line's length, which is enough because unquoting
         * never makes a text longer. */
        reader->unquoted = to = mem_alloc(line);
        reader->args_unquoted = true;
    }
    for (;;) {
        while (at < end && quoted_is_space(*at))
            at++;
        if (at == end) return finish(reader, found + 1);
        const char *start = at, *word = to;
        if (to != NULL) {
            if (!quoted_take(&at, end, &to))
                return malformed(reader, "unbalanced quotes in request");
            add_arg(reader, (size_t)(word - reader->unquoted), (size_t)(to - word));
            continue;
        }
        while (at < end && !quoted_ends_word(*at))
            at++;
        add_arg(reader, (size_t)(start - input), (size_t)(at - start));
    }
}

enum resp_status resp_read(struct resp_reader *reader, const char *input, size_t len,
                           const struct resp_limits *limits)
{
    if (reader->args_expected < 0) {
        reader->argc = 0;
        if (reader->args_unquoted) {
            mem_free(reader->unquoted);
            reader->unquoted = NULL;
            reader->args_unquoted = false;
        }
        if (reader->args_cap > KEPT_ARGS) {
            mem_free(reader->args);
            reader->args = NULL;
            reader->args_cap = 0;
        }
        if (len == 0) return RESP_PARTIAL;
        if (input[0] != '*') return read_inline(reader, input, len, limits);
        if (reader->scanned == 0 && reader->args_cap >= FIRST_ARGS && !limits->anonymous &&
            limits->max_bulk >= 100 && limits->max_args >= FIRST_ARGS &&
            short_headers_fit(limits) && read_at_once(reader, input, len))
            return RESP_REQUEST;
        enum resp_status status = begin_multibulk(reader, input, len, limits);
        if (status != RESP_REQUEST) return status;
    }
    return read_args(reader, input, len, limits);
}

size_t resp_reader_wants(const struct resp_reader *reader, size_t len)
{
    if (reader->bulk_expected < 0) return 0;
    size_t whole = reader->parsed + (size_t)reader->bulk_expected + 2;
    return whole > len ? whole - len : 0;
}

struct resp_lifted resp_reader_lift(struct resp_reader *reader)
{
    struct resp_lifted lifted = { .arg = reader->argc,
                                  .offset = reader->parsed,
                                  .len = (size_t)reader->bulk_expected };
    reader->bulk_expected = 0;
    return lifted;
}
