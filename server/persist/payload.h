/* payload: a value as one run of bytes, as DUMP gives it and RESTORE takes it.
 * Knows forms of values; refuses to know keys, commands and now.
 *
 * What Redis can be told is in Redis' own form (proto/rdb/rdb_write.h). What ends by itself inside,
 * which it has no words for, is in one of ours, and RESTORE there answers "Bad data format":
 *
 *     RDB_OWN_TYPE      one byte
 *     commands          the effects that build the value (persist/effect_text.h), of the key ""
 *                       in database 0
 *     footer            RDB version and checksum, as of Redis' payloads
 *
 * To change it: another first byte, RDB_OWN_TYPE + 1, and the old one stays for reading. */
#ifndef SERVER_PERSIST_PAYLOAD_H
#define SERVER_PERSIST_PAYLOAD_H

#include "store/base/bytes.h"
#include "store/type/object.h"

struct payload;

/* Of a value that is not empty, owned; NULL: no memory for it. O(n) */
struct payload *payload_new(const struct object *object);
void payload_free(struct payload *payload);
struct bytes payload_bytes(const struct payload *payload); /* borrowed */

enum payload_status {
    PAYLOAD_WHOLE,
    PAYLOAD_FOREIGN, /* its version or its checksum is wrong */
    PAYLOAD_DAMAGED, /* they are right; the value is not, or of a type that is not known here */
};

/* The value, owned and not empty. Unless it is whole, there is none. O(n) */
enum payload_status payload_read(struct bytes payload, struct object *object);

#endif
