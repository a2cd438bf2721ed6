/* scan_keys: finds the existing volatile keys of the host, in slices. Depends on volatile_keys. */
#pragma once

#include "server/module/keys/volatile_keys.h"

struct scan_keys {
    RedisModuleScanCursor *cursor; /* NULL before the first scan */
    int db;                        /* being scanned; -1 if no scan runs */
};

void scan_keys_init(struct scan_keys *scan);
void scan_keys_begin(struct scan_keys *scan); /* all databases, from the first on */
/* Notes the volatile keys of a few buckets. Returns false when the scan has ended. */
bool scan_keys_step(struct scan_keys *scan, RedisModuleCtx *ctx, struct volatile_keys *known);
