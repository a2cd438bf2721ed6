/* lolwut: LOLWUT: draws the next deadlines: a row for each span of time from now, with a mark for
 * each key that expires in it. Depends on the keyspace. */
#include "server/admin/lolwut.h"

#include <stdio.h>

#include "server/admin/admin.h"
#include "server/admin/compat.h"
#include "server/base/version.h"
#include "server/cmd/call/args.h"
#include "server/cmd/call/reply_text.h"

enum { WIDTH = 48, LINE_MAX_CHARS = 128, LOOKED_AT_MAX = 100000 };

static const struct row {
    const char *name;
    msec within;
} rows[] = {
    { "a second", 1000 },
    { "ten seconds", 10 * 1000 },
    { "a minute", 60 * 1000 },
    { "ten minutes", 10 * 60 * 1000 },
    { "an hour", 60 * 60 * 1000 },
    { "a day", 24 * 60 * 60 * 1000 },
    { "a year", 365LL * 24 * 60 * 60 * 1000 },
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

struct picture {
    msec now;
    size_t counts[ROWS];
    size_t looked_at;
};

static bool count_deadline(void *ctx, const struct entry *entry, struct due_at due)
{
    struct picture *picture = ctx;
    (void)entry;
    unsigned row = 0;
    while (row < ROWS - 1 && due.at - picture->now > rows[row].within)
        row++;
    picture->counts[row]++;
    return ++picture->looked_at < LOOKED_AT_MAX;
}

static void draw_deadlines(const struct picture *picture, struct outbuf *text)
{
    static const char marks[] = "................................................";
    size_t high = 1;
    for (unsigned row = 0; row < ROWS; row++)
        if (picture->counts[row] > high) high = picture->counts[row];
    for (unsigned row = 0; row < ROWS; row++) {
        size_t count = picture->counts[row];
        size_t width = high <= WIDTH ? count : (count * WIDTH + high - 1) / high;
        char line[LINE_MAX_CHARS];
        int len = snprintf(line, sizeof(line), "within %-12s |%-*.*s| %zu\n", rows[row].name, WIDTH,
                           (int)width, marks, count);
        outbuf_append(text, line, (size_t)len);
    }
}

/* Redis' pictures of versions 5 and 6 take up to three and two sizes; ours has a fixed size. */
static bool check_arguments(struct call *call)
{
    int64_t version, size;
    if (call->argc < 3 || !arg_is(call, 1, "VERSION")) return true;
    if (!arg_int64(call, 2, &version)) return false;
    int sizes = version == 5 ? 3 : version == 6 ? 2 : 0;
    for (int i = 3; i < call->argc && i < 3 + sizes; i++)
        if (!arg_int64(call, i, &size)) return false;
    return true;
}

void cmd_lolwut(struct call *call)
{
    if (!check_arguments(call)) return;
    struct picture picture = { .now = call->txn->now };
    keyspace_each_until(call->txn->ks, INSTANT_MAX, count_deadline, &picture);
    struct outbuf text;
    outbuf_init(&text);
    draw_deadlines(&picture, &text);
    const struct server_context *context = call->context;
    char title[96];
    int len = snprintf(title, sizeof(title), "\nThe next deadlines. expired ver. %s, as %s\n",
                       EXPIRED_VERSION, compat_of(context->conf)->title);
    outbuf_append(&text, title, (size_t)len);
    reply_text(call, &text);
}
