/* drained: a table by key, and a list in the order in which the dehydrators became empty. This is
 * also the order in which their counts end, unless the clock was set back. */
#include "store/type/drained.h"

#include "store/base/ensure.h"
#include "store/mem/mem.h"
#include "store/struct/dict.h"

struct kept {
    struct kept *older, *newer;
    struct delivery_tally tally;
    msec until;
    uint32_t key_len;
    char key[];
};

struct drained {
    struct dict dict;
    struct kept *oldest, *newest;
};

static struct bytes kept_key(const void *element)
{
    const struct kept *kept = element;
    return bytes_of(kept->key, kept->key_len);
}

static const struct dict_type kept_type = { .key = kept_key };

struct drained *drained_new(void)
{
    struct drained *drained = mem_zalloc(sizeof(*drained));
    dict_init(&drained->dict, &kept_type);
    return drained;
}

/* Removes it; the caller owns its counts. */
static struct delivery_tally take(struct drained *drained, struct kept *kept)
{
    struct delivery_tally tally = kept->tally;
    dict_remove(&drained->dict, kept_key(kept));
    *(kept->older != NULL ? &kept->older->newer : &drained->oldest) = kept->newer;
    *(kept->newer != NULL ? &kept->newer->older : &drained->newest) = kept->older;
    mem_free(kept);
    return tally;
}

static void drop_oldest(struct drained *drained)
{
    ensure(drained->oldest != NULL, "no counts are kept");
    delivery_counts_free(take(drained, drained->oldest).deliveries);
}

void drained_free(struct drained *drained)
{
    if (drained == NULL) return;
    while (drained->oldest != NULL)
        drop_oldest(drained);
    dict_drop(&drained->dict);
    mem_free(drained);
}

void drained_keep(struct drained *drained, struct bytes key, struct delivery_tally tally, msec now)
{
    while (drained->oldest != NULL && instant_due(drained->oldest->until, now))
        drop_oldest(drained);
    if (key.len > DRAINED_NAME_MAX) {
        delivery_counts_free(tally.deliveries);
        return;
    }
    if (dict_count(&drained->dict) == DRAINED_MOST) drop_oldest(drained);

    struct kept *kept = mem_alloc(sizeof(*kept) + key.len);
    *kept = (struct kept){ .older = drained->newest,
                           .tally = tally,
                           .until = instant_moved(now, DRAINED_SPAN),
                           .key_len = (uint32_t)key.len };
    if (key.len > 0) memcpy(kept->key, key.data, key.len);
    *(kept->older != NULL ? &kept->older->newer : &drained->oldest) = kept;
    drained->newest = kept;
    dict_add(&drained->dict, kept);
}

struct delivery_tally drained_take(struct drained *drained, struct bytes key, msec now)
{
    struct kept *kept = dict_find(&drained->dict, key);
    if (kept == NULL) return (struct delivery_tally){ 0 };
    bool has_ended = instant_due(kept->until, now);
    struct delivery_tally tally = take(drained, kept);
    if (!has_ended) return tally;
    delivery_counts_free(tally.deliveries);
    return (struct delivery_tally){ 0 };
}

struct delivery_tally drained_find(const struct drained *drained, struct bytes key, msec now)
{
    const struct kept *kept = dict_find(&drained->dict, key);
    if (kept == NULL || instant_due(kept->until, now)) return (struct delivery_tally){ 0 };
    return kept->tally;
}

struct drained_visit {
    msec now;
    void (*visit)(void *ctx, struct bytes key, const struct delivery_tally *tally);
    void *ctx;
};

static void visit_kept(void *ctx, void *element)
{
    const struct drained_visit *visit = ctx;
    const struct kept *kept = element;
    if (!instant_due(kept->until, visit->now))
        visit->visit(visit->ctx, kept_key(kept), &kept->tally);
}

uint64_t drained_scan(const struct drained *drained, uint64_t cursor, msec now,
                      void (*visit)(void *ctx, struct bytes key,
                                    const struct delivery_tally *tally),
                      void *ctx)
{
    struct drained_visit with = { now, visit, ctx };
    return dict_scan(&drained->dict, cursor, visit_kept, &with);
}

void drained_check(const struct drained *drained)
{
    size_t count = 0;
    const struct kept *older = NULL;
    dict_check(&drained->dict);
    for (const struct kept *kept = drained->oldest; kept != NULL; kept = kept->newer, count++) {
        ensure(kept->older == older, "the list of drained dehydrators is broken after %zu", count);
        ensure(kept->key_len <= DRAINED_NAME_MAX, "a kept key of %u bytes", kept->key_len);
        ensure(kept->tally.pushed > 0 || kept->tally.deliveries != NULL, "kept counts of 0");
        ensure(dict_find(&drained->dict, kept_key(kept)) == kept, "'%.*s' is not in the table",
               (int)kept->key_len, kept->key);
        older = kept;
    }
    ensure(older == drained->newest && count == dict_count(&drained->dict) && count <= DRAINED_MOST,
           "%zu kept counts, %zu in the table", count, dict_count(&drained->dict));
}
