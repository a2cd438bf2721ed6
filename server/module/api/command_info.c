/* command_info: see command_info.h. */
#include "server/module/api/command_info.h"

#include <stdio.h>

#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum { NAME_SIZE = 64 };

static struct api_key_spec host_spec_of(const struct key_spec *spec)
{
    struct api_key_spec to = { .flags = spec->flags };
    if (spec->find == KEYS_ANYWHERE) {
        to.search = SEARCH_UNKNOWN;
        to.find = FIND_UNKNOWN;
        return to;
    }
    if (spec->keyword == NULL) {
        to.search = SEARCH_INDEX;
        to.begin.index.at = spec->first;
    } else {
        to.search = SEARCH_KEYWORD;
        to.begin.keyword.word = spec->keyword;
        to.begin.keyword.from = spec->first;
    }
    if (spec->find == KEYS_RANGE) {
        to.find = FIND_RANGE;
        to.keys.range.last = spec->last;
        to.keys.range.step = spec->step;
        to.keys.range.limit = spec->limit;
    } else {
        to.find = FIND_COUNTED;
        to.keys.counted.first = 1;
        to.keys.counted.step = spec->step;
    }
    return to;
}

bool command_info_register(RedisModuleCtx *ctx, const struct command *row, api_command run)
{
    char flags[96], name[NAME_SIZE];
    struct key_range keys = row->keys;
    const char *kind = row->flags & WRITE ? "write" : "readonly";
    if (row->flags & ADMIN) kind = "admin";
    snprintf(flags, sizeof(flags), "%s%s%s%s%s", kind, row->flags & GROWS ? " deny-oom" : "",
             row->flags & FAST ? " fast" : "", row->flags & NOSCRIPT ? " deny-script" : "",
             row->flags & MOVABLE_KEYS ? " getkeys-api" : "");
    /* In lower case, as the host's own names: it shows names as they are registered. */
    size_t len = strlen(row->name);
    ensure(len < NAME_SIZE, "a command of %zu bytes", len);
    for (size_t i = 0; i <= len; i++) {
        char c = row->name[i];
        name[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    if (redis.CreateCommand(ctx, name, run, flags, keys.first, keys.last, keys.step) != API_OK)
        return false;

    static const struct api_command_layout layout = { 1, sizeof(struct api_history),
                                                      sizeof(struct api_key_spec),
                                                      sizeof(struct api_argument) };
    struct key_spec specs[KEY_SPECS_MAX];
    struct api_key_spec host_specs[KEY_SPECS_MAX + 1] = { 0 };
    int count = command_specs(row, specs);
    for (int i = 0; i < count; i++)
        host_specs[i] = host_spec_of(&specs[i]);
    const struct api_command_info info = {
        .layout = &layout,
        .summary = row->summary,
        .complexity = row->complexity,
        .tips = row->tips,
        .arity = row->arity,
        .key_specs = host_specs,
    };
    RedisModuleCommand *command = redis.GetCommand(ctx, name);
    return command != NULL && redis.SetCommandInfo(command, &info) == API_OK;
}

void command_info_report_keys(RedisModuleCtx *ctx, const struct command *row, int argc,
                              const struct bytes *argv)
{
    int *positions = mem_alloc((size_t)argc * sizeof(*positions));
    unsigned *flags = mem_alloc((size_t)argc * sizeof(*flags));
    int count = command_keys(row, argc, argv, positions);
    if (count > 0) command_key_flags(row, argc, argv, positions, count, flags);
    for (int i = 0; i < count; i++)
        redis.KeyAtPosWithFlags(ctx, positions[i], (int)flags[i]);
    mem_free(positions);
    mem_free(flags);
}
