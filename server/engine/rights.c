/* rights: see rights.h. */
#include "server/engine/rights.h"

enum { NAME_SIZE = 128 };

enum error rights_error(enum acl_verdict verdict)
{
    switch (verdict) {
    case ACL_NO_KEY: return ERR_NOPERM_KEY;
    case ACL_NO_CHANNEL: return ERR_NOPERM_CHANNEL;
    default: return ERR_NOPERM_COMMAND;
    }
}

enum acl_verdict rights_check(struct engine *engine, struct call *call, enum acl_where where)
{
    const struct acl_user *user = call->session->user;
    int at;
    if (!rights_are_limited(call->session)) return ACL_ALLOWED;
    enum acl_verdict verdict = acl_user_check(user, call->command, call->argc, call->argv, &at);
    if (verdict != ACL_ALLOWED) {
        char name[NAME_SIZE];
        struct acl_refusal refusal = { .where = where,
                                       .session = call->session,
                                       .user_name = blob_view(user->name),
                                       .now = clock_now(engine->clock) };
        switch (verdict) {
        case ACL_NO_KEY:
            refusal.reason = ACL_LOG_KEY;
            engine->stats->denied_key++;
            break;
        case ACL_NO_CHANNEL:
            refusal.reason = ACL_LOG_CHANNEL;
            engine->stats->denied_channel++;
            break;
        default: refusal.reason = ACL_LOG_COMMAND; engine->stats->denied_command++;
        }
        size_t len = command_full_name(call->command, name, sizeof(name));
        refusal.object = verdict == ACL_NO_COMMAND ? bytes_of(name, len) : call->argv[at];
        acl_log_add(&engine->acl->log, &refusal, (size_t)engine->conf->acllog_max_len);
        return verdict;
    }
    bool follows_patterns = false; /* to keys that the call does not name, as SORT does */
    for (int i = 0; i < KEY_SPECS_MAX; i++) {
        const struct key_spec *spec = &call->command.row->specs[i];
        follows_patterns |= spec->flags != 0 && spec->find == KEYS_ANYWHERE;
    }
    if (follows_patterns)
        call->limits_keys = !acl_user_reads_all(user, call->command, call->argc, call->argv);
    return ACL_ALLOWED;
}
