/* imported_slots: see imported_slots.h. */
#include "server/module/api/imported_slots.h"

#include "server/cmd/call/slot.h"

static struct {
    bool is_imported[SLOTS];
    int count;
    void (*on_taken)(void);
} here;

static void on_migration(RedisModuleCtx *ctx, struct api_event event, uint64_t what, void *data)
{
    (void)ctx;
    (void)event;
    const struct api_slot_migration *migration = data;
    bool begins = what == MIGRATION_IMPORT_STARTS, taken = what == MIGRATION_IMPORT_COMPLETED;
    if (!begins && !taken && what != MIGRATION_IMPORT_ABORTED) return;
    for (uint32_t i = 0; i < migration->range_count; i++) {
        const struct api_slot_range *range = &migration->ranges[i];
        for (int slot = range->first; slot <= range->last && slot < SLOTS; slot++) {
            here.count += begins - here.is_imported[slot];
            here.is_imported[slot] = begins;
        }
    }
    if (taken) here.on_taken();
}

void imported_slots_start(RedisModuleCtx *ctx, void (*on_taken)(void))
{
    const struct api_event event = { .id = EVENT_ID_SLOT_MIGRATION, .data_version = 1 };
    here.on_taken = on_taken;
    /* In Redis 8.4 this number denotes another event. Before Valkey 9 it is refused. */
    if (api_host_is_valkey()) redis.SubscribeToServerEvent(ctx, event, on_migration);
}

bool imported_slots_has(struct bytes key)
{
    return here.count > 0 && here.is_imported[slot_of(key)];
}
