/* watch: see watch.h. Each database has a table of its watched keys. A watcher is one session that
 * watches one key, and is in two lists: that of the key, and that of the session, oldest first.
 * Invariant: a key is in its table exactly while it has watchers. */
#include "server/engine/react/watch.h"

#include <sys/queue.h>

#include "store/base/ensure.h"
#include "store/mem/mem.h"

struct watched {
    LIST_HEAD(, watcher) watchers;
    unsigned db;
    size_t key_len;
    char key[];
};

struct watcher {
    LIST_ENTRY(watcher) of_key;
    STAILQ_ENTRY(watcher) of_session;
    struct watched *watched;
    struct session *session;
    bool existed;
};

struct watching {
    STAILQ_HEAD(, watcher) watchers;
    size_t bytes;
};

struct watch {
    struct dict *tables; /* by database, of struct watched */
    unsigned table_count;
    size_t watchers;
    size_t sessions; /* number of sessions that watch keys */
};

static struct bytes watched_key(const void *element)
{
    const struct watched *watched = element;
    return bytes_of(watched->key, watched->key_len);
}

static const struct dict_type watched_type = { .key = watched_key };

struct watch *watch_new(void)
{
    return mem_zalloc(sizeof(struct watch));
}

void watch_free(struct watch *watch)
{
    ensure(watch->watchers == 0, "%zu watchers are left", watch->watchers);
    mem_free(watch->tables);
    mem_free(watch);
}

void watch_add(struct watch *watch, struct session *session, unsigned db, struct bytes key,
               bool exists)
{
    if (db >= watch->table_count) {
        watch->tables = mem_realloc(watch->tables, (db + 1) * sizeof(*watch->tables));
        while (watch->table_count <= db)
            dict_init(&watch->tables[watch->table_count++], &watched_type);
    }
    struct dict *table = &watch->tables[db];

    struct watched *watched = dict_find(table, key);
    if (watched == NULL) {
        watched = mem_alloc(sizeof(*watched) + key.len);
        LIST_INIT(&watched->watchers);
        watched->db = db;
        watched->key_len = key.len;
        if (key.len > 0) memcpy(watched->key, key.data, key.len);
        dict_add(table, watched);
    }
    if (session->watching != NULL) {
        /* Walk the key's list and the session's together, because either of them may be long. */
        const struct watcher *of_key = LIST_FIRST(&watched->watchers);
        const struct watcher *of_session = STAILQ_FIRST(&session->watching->watchers);
        for (; of_key != NULL && of_session != NULL;
             of_key = LIST_NEXT(of_key, of_key), of_session = STAILQ_NEXT(of_session, of_session))
            if (of_key->session == session || of_session->watched == watched) return;
    }
    struct watcher *watcher = mem_alloc(sizeof(*watcher));
    watcher->watched = watched;
    watcher->session = session;
    watcher->existed = exists;
    LIST_INSERT_HEAD(&watched->watchers, watcher, of_key);
    if (session->watching == NULL) {
        watch->sessions++;
        session->watching = mem_alloc(sizeof(*session->watching));
        STAILQ_INIT(&session->watching->watchers);
        session->watching->bytes = sizeof(*session->watching);
    }
    STAILQ_INSERT_TAIL(&session->watching->watchers, watcher, of_session);
    session->watching->bytes += sizeof(*watcher) + sizeof(*watched) + key.len;
    watch->watchers++;
}

void watch_forget(struct watch *watch, struct session *session)
{
    session->watch_touched = false;
    struct watching *watching = session->watching;
    if (watching == NULL) return;
    struct watcher *watcher;
    while ((watcher = STAILQ_FIRST(&watching->watchers)) != NULL) {
        struct watched *watched = watcher->watched;
        STAILQ_REMOVE_HEAD(&watching->watchers, of_session);
        LIST_REMOVE(watcher, of_key);
        mem_free(watcher);
        watch->watchers--;
        if (!LIST_EMPTY(&watched->watchers)) continue;
        dict_remove(&watch->tables[watched->db], watched_key(watched));
        mem_free(watched);
    }
    mem_free(watching);
    session->watching = NULL;
    watch->sessions--;
}

size_t watch_bytes(const struct session *session)
{
    return session->watching != NULL ? session->watching->bytes : 0;
}

bool watch_active(const struct watch *watch)
{
    return watch->watchers > 0;
}

struct watch_totals watch_totals(const struct watch *watch)
{
    struct watch_totals totals = { .sessions = watch->sessions };
    for (unsigned db = 0; db < watch->table_count; db++)
        totals.keys += dict_count(&watch->tables[db]);
    return totals;
}

/* Returns the database's table of watched keys, or NULL if it is empty. */
static const struct dict *watched_in(const struct watch *watch, int64_t db)
{
    if (db < 0 || (size_t)db >= watch->table_count) return NULL;
    const struct dict *table = &watch->tables[db];
    return dict_count(table) > 0 ? table : NULL;
}

static void touch_key(const struct watch *watch, int64_t db, struct bytes key)
{
    const struct dict *table = watched_in(watch, db);
    const struct watched *watched = table != NULL ? dict_find(table, key) : NULL;
    struct watcher *watcher;
    if (watched == NULL) return;
    LIST_FOREACH(watcher, &watched->watchers, of_key)
    watcher->session->watch_touched = true;
}

/* Marks the sessions that watch a key of the database. After a flush, only_existing spares those
 * whose key was missing at the time of WATCH: if it exists now, its creation has marked them.
 *
 * DIFFERS: Redis spares sessions whose key is missing in both databases of SWAPDB.
 * (doc/differs.md) */
static void touch_database(const struct watch *watch, int64_t db, bool only_existing)
{
    const struct dict *table = watched_in(watch, db);
    if (table == NULL) return;
    struct dict_iter iter;
    const struct watched *watched;
    dict_iter_begin(&iter, table);
    while ((watched = dict_iter_next(&iter)) != NULL) {
        struct watcher *watcher;
        LIST_FOREACH(watcher, &watched->watchers, of_key)
        if (watcher->existed || !only_existing) watcher->session->watch_touched = true;
    }
}

void watch_effect(struct watch *watch, const struct effect *effect)
{
    switch (effect->kind) {
    case EFFECT_FLUSH: touch_database(watch, effect->db, true); return;
    case EFFECT_SWAP:
        touch_database(watch, effect->db, false);
        touch_database(watch, effect->to, false);
        return;
    case EFFECT_COPY: touch_key(watch, effect->to, effect->a); return;
    case EFFECT_RENAME: touch_key(watch, effect->db, effect->a); break;
    case EFFECT_MOVE: touch_key(watch, effect->to, effect->key); break;
    default: break;
    }
    touch_key(watch, effect->db, effect->key);
}

void watch_each(const struct session *session,
                void (*visit)(void *ctx, unsigned db, struct bytes key, bool existed), void *ctx)
{
    if (session->watching == NULL) return;
    const struct watcher *watcher;
    STAILQ_FOREACH(watcher, &session->watching->watchers, of_session)
    visit(ctx, watcher->watched->db, watched_key(watcher->watched), watcher->existed);
}
