/* history: see history.h. */
#include "server/replica/history.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "server/base/process.h"

static const char no_id[HISTORY_ID + 1] = "0000000000000000000000000000000000000000";

bool history_begin(struct history *history)
{
    memcpy(history->old_id, no_id, sizeof(no_id));
    history->old_end = 0;
    return process_random_hex(history->id, HISTORY_ID);
}

bool history_branch(struct history *history, uint64_t offset)
{
    char id[HISTORY_ID + 1];
    if (!process_random_hex(id, HISTORY_ID)) return false;
    memcpy(history->old_id, history->id, sizeof(id));
    history->old_end = offset;
    memcpy(history->id, id, sizeof(id));
    return true;
}

void history_adopt(struct history *history, const char *id)
{
    if (strcmp(id, history->id) == 0) return;
    snprintf(history->id, sizeof(history->id), "%s", id);
    memcpy(history->old_id, no_id, sizeof(no_id));
    history->old_end = 0;
}

bool history_had(const struct history *history, const char *id, uint64_t offset)
{
    return strcasecmp(id, history->old_id) == 0 && offset <= history->old_end;
}

bool history_has(const struct history *history, const char *id, uint64_t offset)
{
    return strcasecmp(id, history->id) == 0 || history_had(history, id, offset);
}
