/* rdb_read: reads RDB files and DUMP payloads of Redis and Valkey and passes their contents to a
 * visitor. Supports RDB versions 1 to 16 (Redis up to 8.10, Valkey up to 8) and 80 to 81 (Valkey
 * 9), with every encoding of strings, lists, sets, hashes, sorted sets and streams, and dehydrators
 * of the ReDe module. From type 22 on, Redis and Valkey number their types differently; the version
 * tells which program wrote a file or payload.
 *
 * Safe for any input: no length is trusted before its bytes have arrived. Memory is therefore at
 * most proportional to the bytes received (88 times that for compressed strings).
 *
 * Redis' rdb.h defines the format; each file here describes the layouts that it reads. */
#ifndef PROTO_RDB_RDB_READ_H
#define PROTO_RDB_RDB_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/rdb/rdb_visitor.h"
#include "proto/rdb/source.h"
#include "store/base/bytes.h"

enum { RDB_FOOTER = 10 /* of a payload: version and checksum */ };

/* Writes which versions can be read: "1 to 16 of Redis (up to 8.10), ...". */
void rdb_versions(char *to, size_t size);

/* Reads a whole file up to its checksum. Bytes after it (as in an AOF with an RDB preamble) stay in
 * the source, at rdb_source_offset. */
enum rdb_status rdb_read(struct rdb_source *source, const struct rdb_visitor *visitor,
                         struct rdb_error *error);

/* Reads a payload of DUMP: one value, visited as a key without a name. RDB_FOREIGN means that the
 * version or checksum in its footer is wrong; RDB_DAMAGED, that both are right but the value is
 * damaged or of an unknown type. */
enum rdb_status rdb_read_payload(struct bytes payload, const struct rdb_visitor *visitor,
                                 struct rdb_error *error);

/* Reads a payload of FUNCTION DUMP and calls visitor->function for each library. RDB_FOREIGN is as
 * above; RDB_DAMAGED means that the footer is right, but the rest is damaged or contains something
 * other than libraries. The error's text is Redis' message. */
enum rdb_status rdb_read_functions(struct bytes payload, const struct rdb_visitor *visitor,
                                   struct rdb_error *error);

/* Checks only the footer. Returns false unless its version can be read and its checksum is right,
 * or was left out by Redis 8.10. *body is the payload without the footer. */
bool rdb_payload_open(struct bytes payload, struct bytes *body, int *version);

#endif
