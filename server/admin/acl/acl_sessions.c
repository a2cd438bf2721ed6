/* acl_sessions: see acl_sessions.h. */
#include "server/admin/acl/acl_sessions.h"

/* The sessions to close. They are collected before any is closed, because closing one changes the
 * list of connections. */
struct found {
    struct session **at;
    size_t count, cap;
    const struct acl_user *user; /* NULL for every user */
    bool lost_channels;          /* the user has fewer rules about channels than before */
};

static void add_found(struct found *found, struct session *session)
{
    found->at = mem_grow(found->at, found->count, &found->cap, sizeof(struct session *));
    found->at[found->count++] = session;
}

static void visit_deleted(void *ctx, const struct client_info *info)
{
    const struct acl_user *user = info->session->user;
    if (user != NULL && user->is_deleted) add_found(ctx, info->session);
}

struct listener_check {
    const struct acl_user *user;
    bool is_pattern, refused;
};

static void visit_channel(void *ctx, struct bytes name)
{
    struct listener_check *check = ctx;
    check->refused |= !acl_user_may_subscribe(check->user, name, check->is_pattern);
}

static void visit_prefix(void *ctx, struct bytes prefix)
{
    struct listener_check *check = ctx;
    check->refused |= !acl_user_reads_prefix(check->user, prefix);
}

static void visit_listener(void *ctx, const struct client_info *info)
{
    const struct found *found = ctx;
    struct session *session = info->session;
    struct listener_check check = { .user = session->user };
    if (session->user == NULL || session->user->unrestricted) return;
    if (found->user != NULL && session->user != found->user) return;
    tracking_each_prefix(session, visit_prefix, &check);
    for (enum pubsub_kind kind = 0; kind < PUBSUB_KINDS && found->lost_channels; kind++) {
        check.is_pattern = kind == PUBSUB_PATTERN;
        session_each_subscription(session, kind, visit_channel, &check);
    }
    if (check.refused) add_found(ctx, session);
}

static void close_found(const struct acl_sessions *sessions, struct found *found)
{
    for (size_t i = 0; i < found->count; i++) {
        acl_log_out(sessions->context->acl, found->at[i]);
        clients_kill(sessions->context->clients, found->at[i], sessions->self);
    }
    mem_free(found->at);
}

void acl_sessions_close_deleted(const struct acl_sessions *sessions)
{
    struct found found = { .count = 0 };
    clients_each(sessions->context->clients, visit_deleted, &found);
    close_found(sessions, &found);
    /* A caller without a connection, as in a test. */
    const struct acl_user *user = sessions->self->user;
    if (user != NULL && user->is_deleted) acl_log_out(sessions->context->acl, sessions->self);
}

void acl_sessions_user_changed(const struct acl_sessions *sessions, const struct acl_user *user,
                               const struct acl_user *before)
{
    struct found found = { .user = user, .lost_channels = acl_user_lost_channels(user, before) };
    clients_each(sessions->context->clients, visit_listener, &found);
    close_found(sessions, &found);
}

void acl_sessions_check_channels(struct acl_sessions *sessions)
{
    struct found found = { .lost_channels = true };
    clients_each(sessions->context->clients, visit_listener, &found);
    close_found(sessions, &found);
}
