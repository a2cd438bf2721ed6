/* held_file: values of our types in the host's RDB files, DUMP payloads and append-only file.
 *
 * In an RDB file or payload, encoding 2: the number of records, then the records in the order of
 * walk_object.
 *
 *     set            deadline, member
 *     hash           deadline, field, value
 *     sorted set     deadline, score (a double), member
 *     dehydrator     a kind (enum held_record), then
 *                    of an element: instant, deliveries, 1 if it is claimed or else 0, id, payload
 *                    of other kinds: from, to, at and stage.at of their effect, id, payload
 *
 * A deadline is stored plus one, so that 0 can mean none. In encoding 1 a dehydrator contains only
 * elements, written without a kind. To change the format, raise the encoding and keep reading the
 * old ones. */
#pragma once

#include "server/module/api/redis_api.h"
#include "store/type/object.h"

enum { HELD_FILE_ENCODING = 2 };

void held_file_save(RedisModuleIO *io, const struct object *object);
/* Returns false if the file ended or is damaged, or if the encoding is unknown. */
bool held_file_load(RedisModuleIO *io, int encoding, enum type type, struct object *object);
/* Writes the commands that create the value. */
void held_file_rewrite(RedisModuleIO *io, RedisModuleString *key, const struct object *object);
