/* store_text: writes the contents of a store as commands (effect_text.h), in pieces, for bases and
 * full copies. */
#pragma once

#include "store/store.h"

struct store_text_sink {
    bool (*take)(void *ctx, const char *data, size_t len); /* false to stop writing */
    void (*report)(void *ctx, uint64_t keys); /* after each 128 KiB or so; may be NULL */
    void *ctx;
};

/* Passes the text of the whole store to `take`, with marks of sizes (size_mark.h), and sets *keys
 * to the number of keys. If `take` returns false, stops after the current key and returns false.
 * O(n) */
bool store_text_write(const struct store *store, const struct store_text_sink *sink,
                      uint64_t *keys);
