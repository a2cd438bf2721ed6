/* history: see history.h. */
#include "server/replica/history.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

static const char nobody[HISTORY_ID + 1] = "0000000000000000000000000000000000000000";

static bool make_id(char id[HISTORY_ID + 1])
{
    uint8_t bytes[HISTORY_ID / 2];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) return false;
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(id + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

bool history_begin(struct history *history)
{
    memcpy(history->old_id, nobody, sizeof(nobody));
    history->old_end = 0;
    return make_id(history->id);
}

bool history_branch(struct history *history, uint64_t offset)
{
    char id[HISTORY_ID + 1];
    if (!make_id(id)) return false;
    memcpy(history->old_id, history->id, sizeof(id));
    history->old_end = offset;
    memcpy(history->id, id, sizeof(id));
    return true;
}

void history_adopt(struct history *history, const char *id)
{
    if (strcmp(id, history->id) == 0) return;
    snprintf(history->id, sizeof(history->id), "%s", id);
    memcpy(history->old_id, nobody, sizeof(nobody));
    history->old_end = 0;
}

bool history_has(const struct history *history, const char *id, uint64_t offset)
{
    if (strcasecmp(id, history->id) == 0) return true;
    return strcasecmp(id, history->old_id) == 0 && offset <= history->old_end;
}
