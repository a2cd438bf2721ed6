/* effect_brief: writes effects in brief form and reads them; store/brief.h defines the bytes.
 * Effects that have no brief form are commands (effect_text.h). Replicas and snapshots use commands
 * only. expired-check --show prints brief effects as commands. */
#pragma once

#include "server/disk/effect/request.h"
#include "store/brief.h"
#include "store/effect.h"

/* Writes the brief form of the effect to `to` and returns its length; 0 if the effect has none. The
 * effect's texts have at most BRIEF_TEXTS_MAX bytes in total; `to` needs space for them and
 * BRIEF_HEAD further bytes. *last is as for brief_print, and unchanged if nothing was written. */
size_t effect_brief_print(char *to, const struct effect *effect, struct bytes *last);

static inline bool effect_brief_begins(char first)
{
    return (first & BRIEF_MARK) != 0;
}

/* Parses the effect at `data`, whose first byte passes effect_brief_begins. Returns REQUEST_WHOLE
 * and sets *size, or fails as request_read does. The effect borrows from `data`, and its key
 * perhaps from *last, which is used as in effect_brief_print; its database is left unchanged. */
enum request_status effect_brief_read(const char *data, size_t len, struct bytes *last,
                                      struct effect *effect, size_t *size);
/* Does the part of effect_brief_read that finds the size: reads neither texts nor numbers, so it
 * accepts invalid numbers and a missing key. */
enum request_status effect_brief_measure(const char *data, size_t len, size_t *size);
