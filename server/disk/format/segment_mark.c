/* segment_mark: see segment_mark.h. */
#include "server/disk/format/segment_mark.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/disk/format/record.h"
#include "store/base/random.h"

#define BEGIN  "#segment "
#define SYNCED "#synced "

uint32_t segment_id_new(void)
{
    uint32_t id = 0;
    while (id == 0)
        random_fill(&id, sizeof(id));
    return id;
}

struct journal_end journal_end_to_follow(const struct journal_end *end,
                                         const struct journal_end *before)
{
    bool is_empty = end->length == sizeof(RECORD_FIRST_LINE) - 1;
    return is_empty && before->length > 0 ? *before : *end;
}

size_t segment_mark_begin(char to[SEGMENT_MARK_MAX], uint32_t id, const struct journal_end *before)
{
    int len = before->length == 0
                  ? snprintf(to, SEGMENT_MARK_MAX, BEGIN "%08" PRIx32 "\r\n", id)
                  : snprintf(to, SEGMENT_MARK_MAX,
                             BEGIN "%08" PRIx32 " after %" PRIu64 " %08" PRIx32 "\r\n", id,
                             before->length, before->sum);
    return (size_t)len;
}

size_t segment_mark_synced(char to[SEGMENT_MARK_MAX], uint64_t offset, uint32_t id)
{
    return (size_t)snprintf(to, SEGMENT_MARK_MAX, SYNCED "%" PRIu64 " %08" PRIx32 "\r\n", offset,
                            id);
}

/* Is `line` what the writer would have printed? This also refuses other spellings of a number. */
static bool is_printed(const char *line, size_t len, const char *printed, size_t printed_len)
{
    return printed_len <= len && memcmp(line, printed, printed_len) == 0;
}

static bool copy_head(char to[SEGMENT_MARK_MAX], const char *line, size_t len, const char *head)
{
    size_t head_len = strlen(head), most = SEGMENT_MARK_MAX - 1;
    if (len < head_len || memcmp(line, head, head_len) != 0) return false;
    if (len > most) len = most;
    memcpy(to, line, len);
    to[len] = '\0';
    return true;
}

bool segment_mark_read_begin(const char *line, size_t len, uint32_t *id, struct journal_end *before)
{
    char text[SEGMENT_MARK_MAX], printed[SEGMENT_MARK_MAX];
    *before = (struct journal_end){ 0 };
    if (!copy_head(text, line, len, BEGIN)) return false;
    int found = sscanf(text, BEGIN "%8" SCNx32 " after %20" SCNu64 " %8" SCNx32, id,
                       &before->length, &before->sum);
    if (found != 1 && found != 3) return false;
    return is_printed(line, len, printed, segment_mark_begin(printed, *id, before));
}

bool segment_mark_read_synced(const char *line, size_t len, uint64_t *offset, uint32_t *id)
{
    char text[SEGMENT_MARK_MAX], printed[SEGMENT_MARK_MAX];
    if (!copy_head(text, line, len, SYNCED)) return false;
    if (sscanf(text, SYNCED "%20" SCNu64 " %8" SCNx32, offset, id) != 2) return false;
    return is_printed(line, len, printed, segment_mark_synced(printed, *offset, *id));
}
