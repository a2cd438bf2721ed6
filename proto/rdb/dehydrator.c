/* dehydrator: reads values of the ReDe module (2016), type "dehy-type", version 0. As in ReDe, an
 * id that occurs twice in a value is damage.
 *
 * Layout, in the numbers and strings of modules (rdb_get_module_number in reader.h):
 *
 *     name
 *     number of queues; for each queue:
 *         TTL, an int written as an unsigned number
 *         number of elements; for each element:
 *             the instant at which it is due
 *             its id
 *             its payload */
#include "proto/rdb/reader.h"

bool rdb_read_dehydrator(struct rdb_reader *reader, bool annotated)
{
    uint64_t queues, ttl, count, at;
    struct bytes name;
    /* Ignore the name, the key at which the value was created: RENAME does not change it. */
    if (!rdb_begin_key(reader, RDB_DEHYDRATOR) ||
        !rdb_get_module_string(reader, annotated, &reader->first, &name) ||
        !rdb_get_module_number(reader, annotated, &queues))
        return false;
    for (; queues > 0; queues--) {
        if (!rdb_get_module_number(reader, annotated, &ttl) ||
            !rdb_get_module_number(reader, annotated, &count))
            return false;
        for (; count > 0; count--) {
            struct rdb_element element = { .ttl = (int64_t)ttl };
            if (!rdb_get_module_number(reader, annotated, &at) ||
                !rdb_get_module_string(reader, annotated, &reader->first, &element.id) ||
                !rdb_unique(reader, element.id) ||
                !rdb_get_module_string(reader, annotated, &reader->second, &element.payload))
                return false;
            if (at > RDB_LATEST) return rdb_damaged(reader, "an invalid deadline of an element");
            element.at = (int64_t)at;
            if (!RDB_VISIT(reader, dehydrator_element, &element)) return false;
        }
    }
    return rdb_get_module_end(reader, annotated);
}
