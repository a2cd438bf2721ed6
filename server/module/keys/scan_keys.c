/* scan_keys: see scan_keys.h. The scan may miss a key that changes meanwhile; the change then
 * causes an event, which volatile_keys handles. */
#include "server/module/keys/scan_keys.h"

void scan_keys_init(struct scan_keys *scan)
{
    *scan = (struct scan_keys){ .db = -1 };
}

void scan_keys_begin(struct scan_keys *scan)
{
    if (scan->cursor == NULL)
        scan->cursor = redis.ScanCursorCreate();
    else
        redis.ScanCursorRestart(scan->cursor);
    scan->db = 0;
}

static void note_key(RedisModuleCtx *ctx, RedisModuleString *name, RedisModuleKey *key, void *known)
{
    if (key != NULL) volatile_keys_note(known, ctx, name, key);
}

bool scan_keys_step(struct scan_keys *scan, RedisModuleCtx *ctx, struct volatile_keys *known)
{
    if (scan->db < 0) return false;
    if (redis.SelectDb(ctx, scan->db) != API_OK) {
        scan->db = -1;
        return false;
    }
    if (redis.Scan(ctx, scan->cursor, note_key, known) == 0) {
        redis.ScanCursorRestart(scan->cursor);
        scan->db++;
    }
    return true;
}
