/* payload: a value as a byte string, for DUMP and RESTORE. Depends on proto/rdb/ and the effects'
 * text.
 *
 * A value that Redis can hold is written in Redis' format (proto/rdb/rdb_write.h). Any other value,
 * such as a dehydrator or a set whose members have deadlines, is written in our own format, which
 * RESTORE of a Redis server refuses with "Bad data format":
 *
 *     bytes  content
 *     1      RDB_OWN_PACKED
 *     ...    the effects that build the value, for the key "" in database 0, as packed commands
 *            (effect_pack.h)
 *     10     footer: RDB version and checksum, as in Redis' payloads
 *
 * Version 0.1 wrote the type RDB_OWN_TEXT and the commands as RESP (effect_text.h). Such payloads
 * are still read.
 *
 * To change the format, use another first byte, RDB_OWN_PACKED + 1, and keep reading the old
 * formats. */
#pragma once

#include "store/base/bytes.h"
#include "store/type/object.h"

struct payload;

/* Makes the payload of a value, which may be empty only if it is a stream. Returns NULL if memory
 * runs out. O(n) */
struct payload *payload_new(const struct object *object);
void payload_free(struct payload *payload);
/* Calls `take` once with the payload of a value, which is valid only during the call; or not at all
 * if memory runs out. O(n) */
void payload_pass(const struct object *object, void (*take)(void *ctx, struct bytes payload),
                  void *ctx);
struct bytes payload_bytes(const struct payload *payload); /* borrowed */

enum payload_status {
    PAYLOAD_WHOLE,
    PAYLOAD_FOREIGN, /* wrong version or checksum */
    PAYLOAD_DAMAGED, /* version and checksum are right, but the value is malformed or of an unknown
                        type */
};

/* Reads a payload. With PAYLOAD_WHOLE, sets *object, which the caller owns and which is empty only
 * if it is a stream. O(n) */
enum payload_status payload_read(struct bytes payload, struct object *object);
