/* request: see request.h. One parser serves request_read and request_measure. */
#include "server/disk/effect/request.h"

#include "store/mem/mem.h"

enum { DIGITS_MAX = 10, LINE_END = 2, FIRST_CAP = 16 };

void request_init(struct request *request)
{
    *request = (struct request){ 0 };
}

void request_drop(struct request *request)
{
    mem_free(request->argv);
    request_init(request);
}

struct cursor {
    const char *data;
    size_t at, len;
};

/* Parses a type byte, a number up to `most` and a line end. */
static inline enum request_status read_count(struct cursor *cursor, char type, uint64_t most,
                                             uint64_t *value)
{
    const char *p = cursor->data + cursor->at, *end = cursor->data + cursor->len;
    if (p == end) return REQUEST_PARTIAL;
    if (*p++ != type) return REQUEST_MALFORMED;
    const char *first = p;
    uint64_t sum = 0;
    for (;; p++) {
        if (p == end) return REQUEST_PARTIAL;
        unsigned digit = (unsigned)(unsigned char)*p - '0';
        if (digit > 9) break;
        sum = sum * 10 + digit;
        if (p - first >= DIGITS_MAX) return REQUEST_MALFORMED;
    }
    if (p == first || (*first == '0' && p - first > 1) || sum > most) return REQUEST_MALFORMED;
    if (*p != '\r') return REQUEST_MALFORMED;
    if (p + 1 == end) return REQUEST_PARTIAL;
    if (p[1] != '\n') return REQUEST_MALFORMED;
    cursor->at = (size_t)(p - cursor->data) + LINE_END;
    *value = sum;
    return REQUEST_WHOLE;
}

/* Reads one argument. If the argument is incomplete but its length is known, moves the cursor to
 * where the argument will end, so that the caller learns how many bytes are needed. */
static inline enum request_status read_argument(struct cursor *cursor, struct bytes *argument)
{
    uint64_t len;
    enum request_status status = read_count(cursor, '$', UINT32_MAX, &len);
    if (status != REQUEST_WHOLE) return status;
    const char *text = cursor->data + cursor->at;
    size_t left = cursor->len - cursor->at;
    cursor->at += len;
    if (left < len + LINE_END) {
        cursor->at += LINE_END;
        return REQUEST_PARTIAL;
    }
    if (text[len] != '\r' || text[len + 1] != '\n') return REQUEST_MALFORMED;
    cursor->at += LINE_END;
    *argument = bytes_of(text, len);
    return REQUEST_WHOLE;
}

/* Stores no arguments if `request` is NULL. */
static inline enum request_status read_request(struct request *request,
                                               struct request_progress *progress, const char *data,
                                               size_t len, size_t *size)
{
    struct cursor cursor = { data, progress->at, len };
    struct bytes argument;
    enum request_status status = REQUEST_WHOLE;
    if (progress->at == 0) status = read_count(&cursor, '*', REQUEST_ARGS_MAX, &progress->left);
    if (status == REQUEST_WHOLE && progress->left == 0) status = REQUEST_MALFORMED;
    if (status == REQUEST_WHOLE) progress->at = cursor.at;
    while (progress->left > 0 && status == REQUEST_WHOLE) {
        status = read_argument(&cursor, &argument);
        if (status != REQUEST_WHOLE) break;
        progress->at = cursor.at;
        progress->left--;
        if (request == NULL) continue;
        if (request->argc == request->cap && request->is_fixed) {
            request->is_cut = true;
            continue;
        }
        if (request->argc == request->cap) {
            request->cap = request->cap > 0 ? 2 * request->cap : FIRST_CAP;
            request->argv =
                mem_realloc(request->argv, (size_t)request->cap * sizeof(*request->argv));
        }
        request->argv[request->argc++] = argument;
    }
    bool is_unknown = status == REQUEST_PARTIAL && cursor.at <= len;
    *size = is_unknown ? len + 1 : cursor.at;
    return status;
}

enum request_status request_read(struct request *request, const char *data, size_t len,
                                 size_t *size)
{
    struct request_progress progress = { 0 };
    request->argc = 0;
    request->is_cut = false;
    return read_request(request, &progress, data, len, size);
}

enum request_status request_measure(const char *data, size_t len, size_t *size)
{
    struct request_progress progress = { 0 };
    return read_request(NULL, &progress, data, len, size);
}

enum request_status request_measure_on(struct request_progress *progress, const char *data,
                                       size_t len, size_t *size)
{
    enum request_status status = read_request(NULL, progress, data, len, size);
    if (status != REQUEST_PARTIAL) *progress = (struct request_progress){ 0 };
    return status;
}
