/* rdb_read: reads RDB files and payloads of DUMP and FUNCTION DUMP, of Redis and Valkey, and passes
 * their contents to a visitor. Supports RDB versions 1 to 16 (Redis up to 8.10, Valkey up to 8) and
 * 80 to 81 (Valkey 9), with every encoding of strings, lists, sets, hashes, sorted sets and
 * streams, and dehydrators of the ReDe module. From type 22 on, Redis and Valkey number their types
 * differently; the version tells which program wrote a file or payload.
 *
 * Safe for any input: memory for a string grows as its bytes arrive, and a compressed string is
 * rejected if its length exceeds 88 times the packed length (RDB_LZF_MAX_RATIO).
 *
 * The source of Redis defines the format. */
#pragma once

#include "proto/rdb/rdb_visitor.h"
#include "proto/rdb/source.h"
#include "store/base/bytes.h"

enum { RDB_FOOTER = 10 /* of a payload: version and checksum */ };

/* Writes which versions can be read: "1 to 16 of Redis (up to 8.10), ...". */
void rdb_versions(char *to, size_t size);

/* Reads a whole file with its checksum, which RDB versions before 5 lack, and which is 0 if the
 * writer computed none. Bytes after the file, such as the commands of an AOF with an RDB preamble,
 * are left in the source. */
enum rdb_status rdb_read(struct rdb_source *source, const struct rdb_visitor *visitor,
                         struct rdb_error *error);

/* Reads a payload of DUMP: one value, which is visited as a key without a name. Returns RDB_OK,
 * RDB_STOPPED, RDB_TOO_LARGE, or
 *
 *     RDB_FOREIGN    the version or checksum in the footer is wrong, or a pre-release of Redis 4.0
 *                    wrote the value of a module, whose end only the module can find
 *     RDB_DAMAGED    the footer is right, but the value is damaged or of an unknown type */
enum rdb_status rdb_read_payload(struct bytes payload, const struct rdb_visitor *visitor,
                                 struct rdb_error *error);

/* Reads a payload of FUNCTION DUMP and calls visitor->function for each library. Returns RDB_OK,
 * RDB_STOPPED, RDB_TOO_LARGE, or one of these, with Redis' message as the error's text:
 *
 *     RDB_FOREIGN    the version or checksum in the footer is wrong
 *     RDB_DAMAGED    the footer is right, but a part is damaged or is no library; the visitor has
 *                    already received the libraries before that part */
enum rdb_status rdb_read_functions(struct bytes payload, const struct rdb_visitor *visitor,
                                   struct rdb_error *error);

/* Checks only the footer, and sets *body to the payload without it. Returns false if the payload is
 * too short for a footer, its version is not supported, or the checksum is wrong. Accepts the
 * checksum 0 from RDB version 15 of Redis on, because Redis 8.10 may leave the checksum out. */
bool rdb_payload_open(struct bytes payload, struct bytes *body, int *version);
