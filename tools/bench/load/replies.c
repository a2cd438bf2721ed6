#include "tools/bench/load/replies.h"

#include <stdio.h>
#include <stdlib.h>

static void end_element(struct replies *replies)
{
    if (--replies->pending == 0) replies->whole++;
}

static int64_t length_of(const char *digits)
{
    if (*digits == '-') return -1;
    int64_t length = 0;
    for (; *digits != '\r'; digits++)
        length = 10 * length + (*digits - '0');
    return length;
}

static struct reply_numbers *numbers_of(const struct replies *replies)
{
    return &replies->numbers[replies->whole % replies->numbers_count];
}

static void begin_array(struct replies *replies, int64_t count)
{
    if (count <= 0)
        end_element(replies);
    else
        replies->pending += (uint64_t)count - 1;
}

/* Takes a line without its line break. */
static void take_line(struct replies *replies, const char *line, size_t len)
{
    if (replies->pending == 0) {
        replies->pending = 1;
        replies->has_text = false;
        if (replies->numbers != NULL)
            *numbers_of(replies) = (struct reply_numbers){ NO_NUMBER, NO_NUMBER, NO_NUMBER };
    }
    int64_t length;
    switch (*line) {
    case '-':
        if (replies->errors++ == 0)
            snprintf(replies->error, sizeof(replies->error), "%.*s", (int)len, line);
        /* fall through */
    case '+':
    case '_':
    case ',':
    case '#': end_element(replies); return;
    case ':':
        if (replies->numbers != NULL) {
            struct reply_numbers *numbers = numbers_of(replies);
            numbers->last = (uint64_t)length_of(line + 1);
            if (numbers->first == NO_NUMBER) numbers->first = numbers->last;
        }
        end_element(replies);
        return;
    case '$':
        length = length_of(line + 1);
        if (length < 0) {
            end_element(replies);
            return;
        }
        replies->skip = (uint64_t)length + 2;
        replies->in_text = replies->numbers != NULL && !replies->has_text;
        if (replies->in_text) numbers_of(replies)->text = 0;
        replies->has_text = true;
        return;
    case '*':
    case '~': begin_array(replies, length_of(line + 1)); return;
    case '%': begin_array(replies, 2 * length_of(line + 1)); return;
    }
    fprintf(stderr, "load: not a reply: %.*s\n", (int)(len < 80 ? len : 80), line);
    exit(EXIT_FAILURE);
}

size_t replies_scan(struct replies *replies, const char *data, size_t len)
{
    const char *at = data, *end = data + len;
    while (at < end) {
        if (replies->skip > 0) {
            size_t left = (size_t)(end - at);
            size_t taken = replies->skip < left ? (size_t)replies->skip : left;
            if (replies->in_text) {
                uint64_t *text = &numbers_of(replies)->text;
                for (const char *byte = at; byte < at + taken; byte++)
                    if (*byte >= '0' && *byte <= '9') *text = 10 * *text + (uint64_t)(*byte - '0');
            }
            at += taken;
            replies->skip -= taken;
            if (replies->skip > 0) continue;
            replies->in_text = false;
            end_element(replies);
            continue;
        }
        /* The end is nearly always a few bytes away, where a loop is faster than memchr. */
        const char *line_end = at + 1;
        while (line_end < end && *line_end != '\n')
            line_end++;
        if (line_end >= end) break;
        take_line(replies, at, (size_t)(line_end - 1 - at));
        at = line_end + 1;
    }
    return (size_t)(at - data);
}
