/* command_info: see command_info.h. */
#include "server/admin/command/command_info.h"

#include <stdio.h>

#include "server/cmd/call/category.h"

enum { NAME_MAX_LEN = 64 };

struct label {
    unsigned bit;
    const char *name;
};

static const struct label flag_names[] = {
    { WRITE, "write" },
    { READONLY, "readonly" },
    { GROWS, "denyoom" },
    { ADMIN, "admin" },
    { PUBSUB, "pubsub" },
    { NOSCRIPT, "noscript" },
    { BLOCKING, "blocking" },
    { LOADING, "loading" },
    { STALE, "stale" },
    { SKIP_MONITOR, "skip_monitor" },
    { SKIP_SLOWLOG, "skip_slowlog" },
    { FAST, "fast" },
    { NO_AUTH, "no_auth" },
    { NO_MANDATORY_KEYS, "no_mandatory_keys" },
    { NO_ASYNC_LOADING, "no_async_loading" },
    { NO_MULTI, "no_multi" },
    { MOVABLE_KEYS, "movablekeys" },
    { ALLOW_BUSY, "allow_busy" },
};

static void reply_labels(struct call *call, unsigned bits, const struct label *labels, size_t most)
{
    size_t count = 0;
    for (size_t i = 0; i < most; i++)
        count += (bits & labels[i].bit) != 0;
    resp_set(call->out, count);
    for (size_t i = 0; i < most; i++)
        if (bits & labels[i].bit) resp_status(call->out, labels[i].name);
}

void command_info_reply_key_flags(struct call *call, unsigned flags)
{
    static const struct label names[] = {
        { KEY_RO, "RO" },
        { KEY_RW, "RW" },
        { KEY_OW, "OW" },
        { KEY_RM, "RM" },
        { KEY_ACCESS, "access" },
        { KEY_UPDATE, "update" },
        { KEY_INSERT, "insert" },
        { KEY_DELETE, "delete" },
        { KEY_NOT, "not_key" },
        { KEY_INCOMPLETE, "incomplete" },
        { KEY_VARIABLE, "variable_flags" },
    };
    reply_labels(call, flags, names, sizeof(names) / sizeof(names[0]));
}

/* Replies "type" and the number of fields of "spec". */
static void begin_spec(struct call *call, const char *type, size_t fields)
{
    resp_map(call->out, 2);
    resp_bulk_text(call->out, "type");
    resp_bulk_text(call->out, type);
    resp_bulk_text(call->out, "spec");
    resp_map(call->out, fields);
}

static void reply_key_specs(struct call *call, const struct command *row)
{
    struct key_spec specs[KEY_SPECS_MAX];
    int count = command_specs(row, specs);
    resp_set(call->out, (size_t)count);
    for (int i = 0; i < count; i++) {
        resp_map(call->out, 3);
        resp_bulk_text(call->out, "flags");
        command_info_reply_key_flags(call, specs[i].flags);
        resp_bulk_text(call->out, "begin_search");
        const struct key_spec *spec = &specs[i];
        if (spec->find == KEYS_ANYWHERE) {
            begin_spec(call, "unknown", 0);
        } else if (spec->keyword == NULL) {
            begin_spec(call, "index", 1);
            reply_named_integer(call, "index", spec->first);
        } else {
            begin_spec(call, "keyword", 2);
            resp_bulk_text(call->out, "keyword");
            resp_bulk_text(call->out, spec->keyword);
            reply_named_integer(call, "startfrom", spec->first);
        }

        resp_bulk_text(call->out, "find_keys");
        if (spec->find == KEYS_ANYWHERE) {
            begin_spec(call, "unknown", 0);
        } else if (spec->find == KEYS_RANGE) {
            begin_spec(call, "range", 3);
            reply_named_integer(call, "lastkey", spec->last);
            reply_named_integer(call, "keystep", spec->step);
            reply_named_integer(call, "limit", spec->limit);
        } else {
            begin_spec(call, "keynum", 3);
            reply_named_integer(call, "keynumidx", 0);
            reply_named_integer(call, "firstkey", 1);
            reply_named_integer(call, "keystep", spec->step);
        }
    }
}

size_t command_info_subcommand_count(const struct command *row)
{
    size_t count = 0;
    if (row->subcommands != NULL)
        while (row->subcommands[count].name != NULL)
            count++;
    return count;
}

void command_info_reply_name(struct call *call, struct command_ref ref)
{
    char name[NAME_MAX_LEN];
    size_t len = command_full_name(ref, name, sizeof(name));
    resp_bulk(call->out, name, len);
}

void command_info_reply(struct call *call, struct command_ref ref)
{
    const struct command *row = ref.row;
    resp_array(call->out, 10);
    command_info_reply_name(call, ref);
    resp_integer(call->out, row->arity);
    reply_labels(call, row->flags, flag_names, sizeof(flag_names) / sizeof(flag_names[0]));
    resp_integer(call->out, row->keys.first);
    resp_integer(call->out, row->keys.last);
    resp_integer(call->out, row->keys.step);
    uint32_t categories = category_bits(ref);
    resp_set(call->out, (size_t)__builtin_popcount(categories));
    for (unsigned i = 0; i < category_count(); i++) {
        char label[NAME_MAX_LEN];
        int len = snprintf(label, sizeof(label), "@%s", category_name(i));
        if (categories >> i & 1) resp_status_bytes(call->out, label, (size_t)len);
    }
    size_t tips = 0;
    for (const char *at = row->tips; at != NULL && *at != '\0'; at += strspn(at, " "), tips++)
        at += strcspn(at, " ");
    resp_set(call->out, tips);
    for (const char *at = row->tips; tips > 0; tips--, at += strspn(at, " ")) {
        size_t len = strcspn(at, " ");
        resp_bulk(call->out, at, len);
        at += len;
    }
    reply_key_specs(call, row);
    size_t count = command_info_subcommand_count(row);
    /* As in Redis: an empty set, or an array of subcommands. */
    (count == 0 ? resp_set : resp_array)(call->out, count);
    for (size_t i = 0; i < count; i++)
        command_info_reply(call, commands_subcommand(ref, i));
}
