/* resp_write: writes replies by their meaning, so that commands need not distinguish RESP2 from
 * RESP3. A reply goes to a sink if there is one, otherwise to an outbuf, unless the writer is mute
 * or over its limit; no function fails. A function that begins an aggregate announces the number of
 * elements; the caller must then write exactly that many. */
#pragma once

#include <stdint.h>

#include "store/mem/outbuf.h"

struct resp_node;

/* Receives replies inside the server, node by node in the order of the wire. The text of a node is
 * valid only during the call, and may contain control bytes: they are replaced only on the way to
 * an outbuf. */
struct resp_sink {
    void (*put)(struct resp_sink *sink, const struct resp_node *node);
};

struct resp_writer {
    struct outbuf *out;
    struct resp_sink *sink; /* NULL if replies go to `out` */
    int version;            /* 2 or 3 */
    bool mute;              /* CLIENT REPLY OFF or SKIP: append nothing */
    size_t limit;           /* append nothing while `out` holds more bytes; 0 for no limit */
};

/* Returns true if push messages may come between the client's replies, which RESP2 can't mark. */
bool resp_has_push(const struct resp_writer *w);

void resp_ok(struct resp_writer *w);                       /* +OK */
void resp_status(struct resp_writer *w, const char *text); /* +PONG; without control bytes */
/* Writes a status of any bytes: replaces CR, LF and other control bytes with spaces. */
void resp_status_bytes(struct resp_writer *w, const char *text, size_t len);
/* Writes "-line", a code and a text. Drops CR and LF at its end, and replaces all other control
 * bytes with spaces. */
void resp_error(struct resp_writer *w, const char *line, size_t len);
void resp_integer(struct resp_writer *w, int64_t value);
void resp_bulk(struct resp_writer *w, const void *data, size_t len);
/* Appends the bytes without a copy. outbuf_append_shared says when release(owner) is called; with a
 * sink, or if nothing is appended, it is called before this function returns. */
void resp_bulk_shared(struct resp_writer *w, const void *data, size_t len,
                      void (*release)(void *owner), void *owner);
void resp_bulk_text(struct resp_writer *w, const char *text); /* NUL-terminated */
void resp_bulk_int64(struct resp_writer *w, int64_t value);   /* as text in a bulk */
void resp_bulk_double(struct resp_writer *w, double value);   /* as text in a bulk */
void resp_double(struct resp_writer *w, double value);        /* 2: bulk; 3: `,` */
/* Writes a double as resp_double does, but with the digits of number_print_long_double: for
 * coordinates. */
void resp_long_double(struct resp_writer *w, long double value);
void resp_bool(struct resp_writer *w, bool value); /* 0 or 1 in RESP2, #t or #f in RESP3 */
void resp_null(struct resp_writer *w);             /* 2: $-1; 3: _ */
void resp_null_array(struct resp_writer *w);       /* 2: *-1; 3: _ */
/* Writes a bulk string in RESP2, `(` in RESP3. Replaces control bytes with spaces. */
void resp_big_number(struct resp_writer *w, const char *digits, size_t len);
/* Writes the text as a bulk string in RESP2; `=` in RESP3, with its format, such as "txt". */
void resp_verbatim(struct resp_writer *w, const char *format, const char *text, size_t len);

void resp_array(struct resp_writer *w, size_t count);
void resp_set(struct resp_writer *w, size_t count);  /* 2: an array */
void resp_map(struct resp_writer *w, size_t pairs);  /* an array of twice as many in RESP2 */
void resp_push(struct resp_writer *w, size_t count); /* 2: an array */
/* Begins `count` pairs of values: flat in RESP2, an array of arrays in RESP3. resp_pair must
 * precede each pair. */
void resp_pairs(struct resp_writer *w, size_t count);
void resp_pair(struct resp_writer *w);

/* Begins `count` names with values: an array of arrays in RESP2, a map in RESP3. resp_named_next
 * must precede each name. */
void resp_named(struct resp_writer *w, size_t count);
void resp_named_next(struct resp_writer *w);

/* Returns a writer of the same version that appends to `part`, which must be empty: for elements
 * whose number is known only after they are written. Then write their header to `w` and call
 * resp_splice. If w's output is `optional` (may be lost when memory runs out), so is the part. */
struct resp_writer resp_writer_to(const struct resp_writer *w, struct outbuf *part);
/* Writes the contents of `part` to `w`, and empties it. */
void resp_splice(struct resp_writer *w, struct outbuf *part);
