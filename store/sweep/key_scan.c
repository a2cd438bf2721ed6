/* key_scan: see key_scan.h. */
#include "store/sweep/key_scan.h"

#include "store/mem/mem.h"

void key_scan_begin(struct key_scan *scan, const struct keyspace *ks,
                    const struct key_visitor *visitor, void *ctx)
{
    *scan = (struct key_scan){ .ks = ks, .visitor = visitor, .ctx = ctx };
}

void key_scan_end(struct key_scan *scan)
{
    while (scan->deferred_count > 0)
        blob_free(scan->deferred[--scan->deferred_count]);
    mem_free(scan->deferred);
    key_scan_begin(scan, scan->ks, scan->visitor, scan->ctx);
}

void key_scan_defer(struct key_scan *scan, const struct entry *entry)
{
    scan->deferred = mem_grow(scan->deferred, scan->deferred_count, &scan->deferred_cap,
                              sizeof(*scan->deferred));
    scan->deferred[scan->deferred_count++] = blob_new(entry_key(entry));
}

/* Prefetches the values of all entries before it reads the first. */
static size_t visit_batch(struct key_scan *scan)
{
    size_t steps = 0;
    for (size_t i = 0; i < scan->batch_count; i++)
        if (type_may_have_expiry(scan->batch[i]->object.type))
            __builtin_prefetch(scan->batch[i]->object.any);
    for (size_t i = 0; i < scan->batch_count; i++)
        steps += scan->visitor->visit(scan->ctx, scan->batch[i]);
    scan->batch_count = 0;
    return steps;
}

static void add_to_batch(void *ctx, struct entry *entry)
{
    struct key_scan *scan = ctx;
    if (scan->batch_count == KEY_SCAN_BATCH) visit_batch(scan);
    __builtin_prefetch(entry);
    scan->batch[scan->batch_count++] = entry;
}

bool key_scan_run(struct key_scan *scan, size_t *budget)
{
    while (*budget > 0 && (scan->deferred_count > 0 || !scan->scanned)) {
        size_t steps = 0;
        if (scan->deferred_count > 0) { /* continue with the last one */
            struct blob *key = scan->deferred[scan->deferred_count - 1];
            const struct entry *entry = keyspace_find(scan->ks, blob_view(key));
            if (scan->visitor->go_on(scan->ctx, entry, *budget, &steps)) {
                scan->deferred_count--;
                blob_free(key);
            }
        } else {
            do {
                scan->cursor = keyspace_scan(scan->ks, scan->cursor, add_to_batch, scan);
                scan->scanned = scan->cursor == 0;
            } while (!scan->scanned && scan->batch_count < KEY_SCAN_BATCH / 2);
            steps = visit_batch(scan);
        }
        steps++; /* for the key or the batch itself */
        *budget -= steps < *budget ? steps : *budget;
    }
    return scan->deferred_count == 0 && scan->scanned;
}
