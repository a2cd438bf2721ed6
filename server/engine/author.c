/* author: see author.h. */
#include "server/engine/author.h"

#include "store/trail/trail.h"

static uint16_t author_of(void *ctx, void *caller, msec now)
{
    const struct engine *engine = ctx;
    struct session *session = caller;
    struct trail *trail = engine->store->trail;
    struct bytes name = session->name != NULL ? blob_view(session->name) : LIT("");
    struct bytes user = session->user != NULL ? blob_view(session->user->name) : LIT("default");
    session->trail = trail;
    return trail_add_author(trail, &session->author, session->id, name, user, now);
}

struct search {
    unsigned number;
    char *to;
    size_t size, len;
};

static void look(void *ctx, struct command_ref ref)
{
    struct search *search = ctx;
    if (ref.stats->id == search->number)
        search->len = command_full_name(ref, search->to, search->size);
}

static size_t command_of(void *ctx, unsigned number, char *to, size_t size)
{
    const struct engine *engine = ctx;
    struct search search = { number, to, size, 0 };
    commands_each_stats(engine->commands, look, &search);
    return search.len;
}

bool author_configure(struct engine *engine)
{
    struct store *store = engine->store;
    size_t wanted = (size_t)engine->conf->why_memory;
    if (wanted > 0 && wanted < TRAIL_MIN_BYTES) wanted = TRAIL_MIN_BYTES;
    if (store->trail != NULL && store->trail->wanted == wanted) return true;
    struct trail *trail = wanted > 0 ? trail_new(wanted, clock_now(engine->clock)) : NULL;
    if (wanted > 0 && trail == NULL) return false;
    trail_free(store->trail);
    store->trail = trail;
    if (trail != NULL)
        trail->asker =
            (struct trail_asker){ .author = author_of, .command = command_of, .ctx = engine };
    return true;
}
