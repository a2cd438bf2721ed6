/* client_output: client-output-buffer-limit. A client whose unread replies reach the hard limit of
 * its class is closed at once. A timer closes a client that stays above the soft limit for
 * soft_seconds. Expiry waits for a client before its events reach the hard limit (pace.h). */
#include "server/net/client_state.h"

#include "server/base/log.h"

static const struct conf_output_limit *output_limit(const struct client *client)
{
    bool subscribed = session_subscriptions(&client->session) > 0;
    const struct conf *conf = client->all->w.conf;
    return &conf->output_limits[subscribed ? CONF_LIMIT_PUBSUB : CONF_LIMIT_NORMAL];
}

void client_bound_output(struct client *client)
{
    client->session.out.limit = (size_t)output_limit(client)->hard;
}

/* The time at which the soft limit will have been exceeded for soft_seconds, rounded up to a
 * millisecond; NEVER while it is not exceeded. */
static msec soft_end(struct client *client)
{
    const struct conf_output_limit *limit = output_limit(client);
    if (limit->soft == 0 || client->out.len < (size_t)limit->soft) {
        client->over_soft_usec = 0;
        return NEVER;
    }
    if (client->over_soft_usec == 0) client->over_soft_usec = clock_mono_usec();
    msec ttl, at;
    if (__builtin_mul_overflow(limit->soft_seconds, (msec)1000, &ttl)) return NEVER;
    return instant_after(client->over_soft_usec / 1000 + 1, ttl, &at) ? at : NEVER;
}

void clients_arm_timer(const struct agenda *ends, struct loop_timer *timer)
{
    msec next = agenda_next(ends);
    if (next == NEVER) return;
    int64_t left = next * 1000 - clock_mono_usec();
    loop_timer_set(timer, left > 0 ? left : 0);
}

void client_watch_soft(struct client *client)
{
    struct agenda *ends = &client->all->soft_ends;
    msec at = soft_end(client);
    bool armed = deadline_armed(&client->soft_end);
    if (at == NEVER) {
        agenda_cancel(ends, &client->soft_end);
    } else if (!armed || agenda_at(ends, &client->soft_end) != at) {
        agenda_move(ends, &client->soft_end, at);
        if (agenda_first(ends) == &client->soft_end)
            clients_arm_timer(ends, client->all->soft_timer);
    }
}

static void close_unread(struct client *client)
{
    client->all->w.stats->closed_output_buffer++;
    outbuf_drop(&client->out);
    client_doom(client);
}

static void close_over(struct client *client, const char *limit)
{
    log_line(LOG_WARNING,
             "Client %s closed: %zu bytes of unread replies exceed the %s limit of "
             "client-output-buffer-limit. Read the replies sooner, or raise it",
             client_label(client).text, client->out.len, limit);
    close_unread(client);
}

/* Computes each deadline again, because CONFIG SET may have changed the limits. */
void clients_close_lagging(void *ctx)
{
    struct clients *all = ctx;
    msec now = clock_mono_usec() / 1000;
    char *due;
    while ((due = (char *)agenda_pop_due(&all->soft_ends, now)) != NULL) {
        struct client *client = (struct client *)(due - offsetof(struct client, soft_end));
        msec at = soft_end(client);
        if (client_is_doomed(client) || client_has_arrived(client))
            continue; /* checked again after its request */
        if (at <= now)
            close_over(client, "soft");
        else if (at != NEVER)
            agenda_add(&all->soft_ends, &client->soft_end, at);
    }
    clients_arm_timer(&all->soft_ends, all->soft_timer);
}

void client_check_output(struct client *client)
{
    if (client_is_doomed(client)) {
        outbuf_drop(&client->out); /* bytes appended after client_doom */
        return;
    }
    if (client->out.lost) {
        log_line(
            LOG_WARNING,
            "Client %s closed: out of memory for its replies (%zu bytes unread). Set maxmemory "
            "and client-output-buffer-limit to less than this machine has",
            client_label(client).text, client->out.len);
        close_unread(client);
        return;
    }
    peak_note(&client->all->w.stats->output, client->out.bytes);
    size_t hard = (size_t)output_limit(client)->hard;
    if (hard > 0 && client->out.len >= hard) {
        close_over(client, "hard");
        return;
    }
    client_watch_soft(client);
    struct engine *engine = client->all->w.engine;
    if (engine->pace.publishes && hard > 0 && client->out.len >= hard - hard / 4)
        pace_filled(&engine->pace, &client->lag, clock_now(client->all->w.clock));
}

void client_check_lag(struct client *client)
{
    size_t hard = (size_t)output_limit(client)->hard;
    if (hard == 0 || client->out.len == 0)
        pace_forget(&client->lag);
    else if (client->out.len <= hard / 2)
        pace_halved(&client->lag);
}
