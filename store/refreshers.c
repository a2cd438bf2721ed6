/* refreshers: each database has a hash whose fields are keys with empty values. The deadline of a
 * field is the end of the right. */
#include "store/refreshers.h"

msec refresher_until(const struct keyspace *ks, struct bytes key, msec now)
{
    msec until;
    if (ks->refreshers == NULL || !hash_deadline(ks->refreshers, key, &until)) return 0;
    return instant_due(until, now) ? 0 : until;
}

void refresher_begin(struct keyspace *ks, struct bytes key, msec until)
{
    if (ks->refreshers == NULL) ks->refreshers = hash_new();
    if (hash_count(ks->refreshers) >= REFRESHERS_MOST &&
        !hash_deadline(ks->refreshers, key, &(msec){ 0 }))
        return;
    hash_set(ks->refreshers, key, LIT(""), until);
}

bool refresher_end(struct keyspace *ks, struct bytes key)
{
    if (ks->refreshers == NULL || !hash_remove(ks->refreshers, key)) return false;
    if (hash_count(ks->refreshers) > 0) return true;
    hash_free(ks->refreshers);
    ks->refreshers = NULL;
    return true;
}

/* Finds the right of the database that ends first. Returns false if there is none. */
static bool first_of(const struct keyspace *ks, struct bytes *key, msec *until)
{
    return ks->refreshers != NULL && expiring_first(hash_expiring(ks->refreshers), key, until);
}

msec refreshers_next(const struct store *store)
{
    msec next = NEVER, until;
    struct bytes key;
    for (unsigned db = 0; db < store->database_count; db++)
        if (first_of(&store->databases[db], &key, &until) && until < next) next = until;
    return next;
}

size_t refreshers_run(struct store *store, msec now, size_t most)
{
    size_t done = 0;
    msec until;
    struct bytes key;
    for (unsigned db = 0; db < store->database_count; db++) {
        struct keyspace *ks = &store->databases[db];
        while (done < most && first_of(ks, &key, &until) && instant_due(until, now)) {
            refresher_end(ks, key);
            done++;
        }
    }
    return done;
}

void refreshers_shift(struct store *store, msec by)
{
    for (unsigned db = 0; db < store->database_count; db++) {
        struct keyspace *ks = &store->databases[db];
        struct hash *old = ks->refreshers;
        struct hash_iter iter;
        struct bytes key, none;
        if (old == NULL) continue;
        /* Add the moved rights to a new hash. Changing deadlines while iterating over the old one
         * is not possible, because a change may move a field in memory. */
        ks->refreshers = NULL;
        hash_iter_begin(&iter, old);
        while (hash_iter_next(&iter, &key, &none))
            refresher_begin(ks, key, instant_moved(iter.at, by));
        hash_free(old);
    }
}
