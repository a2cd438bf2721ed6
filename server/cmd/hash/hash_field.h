/* hash_field: look-up and reply of a field, shared by the commands of hashes. */
#pragma once

#include "server/cmd/call/args.h"
#include "store/type/hash.h"

/* Does the entry, a hash or NULL for a missing key, have the field? */
static inline bool has_field(const struct entry *entry, struct bytes field)
{
    struct bytes value;
    return entry != NULL && hash_get(entry->object.hash, field, &value);
}

/* Replies with the value of the field, or null. */
static inline void reply_field_value(struct call *call, const struct entry *entry,
                                     struct bytes field)
{
    struct bytes value;
    if (entry != NULL && hash_get(entry->object.hash, field, &value))
        reply_bytes(call, value);
    else
        resp_null(call->out);
}
