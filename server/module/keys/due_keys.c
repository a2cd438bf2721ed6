/* due_keys: see due_keys.h. */
#include "server/module/keys/due_keys.h"

#include "store/base/ensure.h"
#include "store/base/siphash.h"
#include "store/mem/mem.h"

static struct bytes name_of(const void *key)
{
    return due_key_name(key);
}

static const struct dict_type names = { .key = name_of };

static void database_init(struct due_keys *keys, struct due_database *database)
{
    *database = (struct due_database){ .id = ++keys->last_id };
    dict_init(&database->dict, &names);
    agenda_init(&database->agenda);
}

static struct due_database *database_at(struct due_keys *keys, unsigned db)
{
    if (db >= keys->count) {
        keys->all = mem_realloc(keys->all, (db + 1) * sizeof(*keys->all));
        while (keys->count <= db)
            database_init(keys, &keys->all[keys->count++]);
    }
    return &keys->all[db];
}

/* Returns the size of the length before a long name. */
static size_t len_bytes(uint32_t len)
{
    return len < DUE_LEN_LONG ? 0 : sizeof(len);
}

static size_t key_bytes(size_t len)
{
    return offsetof(struct due_key, name) + len_bytes((uint32_t)len) + len;
}

static void free_key(struct due_keys *keys, struct due_key *key)
{
    name_pages_free(&keys->names, key, key_bytes(due_key_name(key).len));
}

void due_keys_init(struct due_keys *keys)
{
    *keys = (struct due_keys){ 0 };
}

void due_keys_drop(struct due_keys *keys)
{
    due_keys_flush(keys, -1);
    due_keys_reclaim(keys, SIZE_MAX);
    mem_free(keys->all);
    due_keys_init(keys);
}

/* ---- entries --------------------------------------------------------------------------------- */

struct due_key *due_keys_find(const struct due_keys *keys, unsigned db, struct bytes name)
{
    return db < keys->count ? dict_find(&keys->all[db].dict, name) : NULL;
}

struct due_key *due_keys_add(struct due_keys *keys, unsigned db, struct bytes name)
{
    struct due_database *database = database_at(keys, db);
    uint64_t hash = siphash(name.data, name.len);
    struct due_key *key = dict_find_hashed(&database->dict, name, hash);
    if (key != NULL) return key;
    if (name.len > DUE_NAME_MAX) return NULL;
    uint32_t len = (uint32_t)name.len;
    size_t extra = len_bytes(len);
    key = name_pages_alloc(&keys->names, key_bytes(len));
    deadline_init(&key->deadline);
    key->by = UINT32_MAX;
    key->len = (uint8_t)(extra == 0 ? len : DUE_LEN_LONG);
    memcpy(key->name, &len, extra);
    if (len > 0) memcpy(key->name + extra, name.data, len);
    dict_add_hashed(&database->dict, key, hash);
    return key;
}

/* In units of 1024 ms, rounded down; they end in the year 2109. */
static uint32_t coarse(msec at)
{
    return at < 0 ? 0 : at >> 10 < UINT32_MAX ? (uint32_t)(at >> 10) : UINT32_MAX;
}

void due_keys_set(struct due_keys *keys, unsigned db, struct due_key *key, struct due_at due)
{
    uint32_t floor = coarse(due.at);
    key->by = floor < UINT32_MAX ? floor + 1 : UINT32_MAX;
    agenda_move(&keys->all[db].agenda, &key->deadline, due.at);
}

/* Decides from the entry alone, without touching the agenda, which is another cache line. */
static bool is_due_by(const struct due_key *key, struct due_at due)
{
    return key->by <= coarse(due.at) && key->by != UINT32_MAX;
}

void due_keys_advance(struct due_keys *keys, unsigned db, struct due_key *key, struct due_at due)
{
    if (is_due_by(key, due)) return;
    if (due_at_before(due, due_keys_at(keys, db, key))) due_keys_set(keys, db, key, due);
}

void due_keys_forget(struct due_keys *keys, unsigned db, struct due_key *key)
{
    struct due_database *database = &keys->all[db];
    agenda_cancel(&database->agenda, &key->deadline);
    dict_remove(&database->dict, due_key_name(key));
    free_key(keys, key);
}

/* ---- prefetching ----------------------------------------------------------------------------- */

/* Returns NULL if the dict has no table, which its functions for prefetching need. */
static const struct due_database *table_of(const struct due_keys *keys, const struct due_hint *hint)
{
    if (hint->db >= keys->count || dict_count(&keys->all[hint->db].dict) == 0) return NULL;
    return &keys->all[hint->db];
}

void due_hint_table(const struct due_keys *keys, struct due_hint *hint)
{
    const struct due_database *database = table_of(keys, hint);
    hint->maybe = NULL;
    hint->hash = database != NULL ? dict_hint_bucket(&database->dict, hint->name)
                                  : siphash(hint->name.data, hint->name.len);
}

void due_hint_key(const struct due_keys *keys, struct due_hint *hint)
{
    const struct due_database *database = table_of(keys, hint);
    if (database != NULL) hint->maybe = dict_hint_element(&database->dict, hint->hash);
}

void due_hint_instant(const struct due_keys *keys, const struct due_hint *hint, struct due_at due)
{
    if (hint->maybe != NULL && !is_due_by(hint->maybe, due))
        agenda_hint(&keys->all[hint->db].agenda, &hint->maybe->deadline);
}

/* ---- instants -------------------------------------------------------------------------------- */

struct due_at due_keys_at(const struct due_keys *keys, unsigned db, const struct due_key *key)
{
    if (!deadline_armed(&key->deadline)) return DUE_AT_NEVER;
    return (struct due_at){ agenda_at(&keys->all[db].agenda, &key->deadline) };
}

/* Returns the database with the earliest instant; *due becomes the instant. */
static unsigned earliest(const struct due_keys *keys, struct due_at *due)
{
    unsigned found = 0;
    *due = DUE_AT_NEVER;
    for (unsigned db = 0; db < keys->count; db++) {
        struct due_at next = { agenda_next(&keys->all[db].agenda) };
        if (!due_at_before(next, *due)) continue;
        *due = next;
        found = db;
    }
    return found;
}

struct due_at due_keys_next(const struct due_keys *keys)
{
    struct due_at due;
    earliest(keys, &due);
    return due;
}

struct due_key *due_keys_first(const struct due_keys *keys, msec now, unsigned *db)
{
    struct due_at due;
    *db = earliest(keys, &due);
    if (due_at_is_never(due) || !due_at_come(due, now)) return NULL;
    struct deadline *first = agenda_first(&keys->all[*db].agenda);
    return (struct due_key *)(void *)((char *)first - offsetof(struct due_key, deadline));
}

/* ---- whole databases ------------------------------------------------------------------------- */

void due_keys_flush(struct due_keys *keys, int db)
{
    for (unsigned i = 0; i < keys->count; i++) {
        struct due_database *database = &keys->all[i];
        if (db >= 0 && i != (unsigned)db) continue;
        if (dict_count(&database->dict) == 0) {
            database->id = ++keys->last_id;
            continue;
        }
        struct due_database *flushed = mem_alloc(sizeof(*flushed));
        *flushed = *database;
        flushed->next = keys->flushed;
        keys->flushed = flushed;
        database_init(keys, database);
    }
}

bool due_keys_reclaim(struct due_keys *keys, size_t work)
{
    while (keys->flushed != NULL && work > 0) {
        struct due_database *flushed = keys->flushed;
        for (; dict_count(&flushed->dict) > 0 && work > 0; work--)
            free_key(keys, dict_take(&flushed->dict));
        if (dict_count(&flushed->dict) > 0 || !agenda_drop_some(&flushed->agenda, &work)) break;
        keys->flushed = flushed->next;
        dict_drop(&flushed->dict);
        mem_free(flushed);
    }
    return keys->flushed != NULL;
}

void due_keys_swap(struct due_keys *keys, unsigned a, unsigned b)
{
    database_at(keys, a > b ? a : b);
    struct due_database kept = keys->all[a];
    keys->all[a] = keys->all[b];
    keys->all[b] = kept;
}

uint32_t due_keys_database(struct due_keys *keys, unsigned db)
{
    return database_at(keys, db)->id;
}

bool due_keys_has_database(const struct due_keys *keys, uint32_t id, unsigned *db)
{
    for (*db = 0; *db < keys->count; ++*db)
        if (keys->all[*db].id == id) return true;
    return false;
}

/* ---- figures --------------------------------------------------------------------------------- */

size_t due_keys_count(const struct due_keys *keys)
{
    size_t count = 0;
    for (unsigned db = 0; db < keys->count; db++)
        count += dict_count(&keys->all[db].dict);
    return count;
}

static size_t database_bytes(const struct due_database *database)
{
    return dict_bytes(&database->dict) + agenda_bytes(&database->agenda);
}

size_t due_keys_bytes(const struct due_keys *keys)
{
    size_t bytes = keys->names.bytes + mem_size(keys->all);
    for (unsigned db = 0; db < keys->count; db++)
        bytes += database_bytes(&keys->all[db]);
    for (const struct due_database *flushed = keys->flushed; flushed != NULL;
         flushed = flushed->next)
        bytes += database_bytes(flushed) + mem_size(flushed);
    return bytes;
}

void due_keys_check(const struct due_keys *keys)
{
    for (unsigned db = 0; db < keys->count; db++) {
        const struct due_database *database = &keys->all[db];
        dict_check(&database->dict);
        agenda_check(&database->agenda);
        ensure(agenda_count(&database->agenda) <= dict_count(&database->dict),
               "%u instants of %zu names", agenda_count(&database->agenda),
               dict_count(&database->dict));
    }
}
