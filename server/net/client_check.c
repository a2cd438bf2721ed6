/* client_check: asserts that everything that is kept of connections agrees. For DEBUG CHECK and
 * tests of random steps. O(connections). */
#include "server/net/client_state.h"

#include <inttypes.h>
#include <string.h>

#include "store/base/ensure.h"

/* How many connections are in each list: first as the lists say, then as the connections do. */
struct tally {
    size_t to_write, held, to_run, to_read, to_read_on, arrived, paused, classed, doomed, all;
    size_t counted;
};

#define COUNT_LIST(count, list, link)                                                              \
    do {                                                                                           \
        const struct client *listed;                                                               \
        TAILQ_FOREACH(listed, list, link)                                                          \
        (count)++;                                                                                 \
    } while (0)

static void count_lists(struct clients *all, struct tally *tally)
{
    COUNT_LIST(tally->to_write, &all->to_write, to_write);
    COUNT_LIST(tally->held, &all->held, to_write);
    COUNT_LIST(tally->to_run, &all->to_run, to_run);
    COUNT_LIST(tally->to_read, &all->to_read, to_read);
    COUNT_LIST(tally->to_read_on, &all->to_read_on, to_read_on);
    COUNT_LIST(tally->arrived, &all->arrived, arrived);
    COUNT_LIST(tally->paused, &all->paused, paused);
    for (int class = 0; class < CLIENT_CLASSES; class ++)
        COUNT_LIST(tally->classed, &all->by_memory[class], same_class);
}

static void count_client(const struct client *client, struct tally *tally)
{
    tally->to_write += client->listed_to_write && !client->held;
    tally->held += client->held;
    tally->to_run += client->listed_to_run;
    tally->to_read += client->listed_to_read;
    tally->to_read_on += client->listed_to_read_on;
    tally->arrived += client->arrival.waits;
    tally->paused += client->session.waits_for == WAIT_PAUSE;
    tally->classed += client->is_classed;
    tally->doomed += client_is_doomed(client);
    tally->counted += client->counted;
    tally->all++;
}

static bool has_request(const struct client *client)
{
    static const struct resp_limits any = { .max_bulk = INT64_MAX,
                                            .max_args = INT32_MAX,
                                            .max_line = SIZE_MAX };
    const struct client_input *input = &client->input;
    struct resp_reader reader;
    if (input->len == 0 || input->big != NULL) return false;
    resp_reader_init(&reader);
    enum resp_status status = resp_read(&reader, input->data + input->start, input->len, &any);
    resp_reader_drop(&reader);
    return status == RESP_REQUEST;
}

/* Nothing would ever run such a request. */
static void check_not_forgotten(const struct client *client)
{
    bool will_run = client->arrival.waits || client->listed_to_run;
    if (client->session.state != SESSION_SERVING || will_run) return;
    ensure(!has_request(client), "client %" PRIu64 " has a request that nothing runs",
           client->session.id);
}

static void check_client(const struct client *client)
{
    enum session_state state = client->session.state;
    enum wait_reason reason = client->session.waits_for;
    bool penalty = deadline_armed(&client->penalty_end);
    session_check(&client->session);
    ensure(state != SESSION_ENDED || client->listed_to_write, "nothing frees client %" PRIu64,
           client->session.id);
    ensure(!client->held || client->listed_to_write, "client %" PRIu64 " is held for no output",
           client->session.id);
    ensure(reason != WAIT_PENALTY || penalty, "a penalty has no end");
    ensure(!penalty || reason == WAIT_PENALTY || session_is_over(&client->session),
           "client %" PRIu64 " has a penalty in state %d", client->session.id, state);
    ensure(reason != WAIT_OUTPUT || client->write_blocked || client->listed_to_write ||
               client->arrival.waits,
           "nothing writes to client %" PRIu64, client->session.id);
    bool shakes = client->in_handshake || client->listed_to_shake;
    ensure(!shakes || client->lane != NULL, "client %" PRIu64 " is in no lane", client->session.id);
    ensure(!shakes || state == SESSION_SHAKING || state == SESSION_ENDED,
           "client %" PRIu64 " shakes hands in state %d", client->session.id, state);
    check_not_forgotten(client);
}

void clients_check(struct clients *all)
{
    struct tally lists = { .all = all->count, .doomed = all->doomed, .counted = all->counted };
    struct tally clients = { 0 };
    const struct client *client;
    if (all->aside != NULL) return; /* a client is set aside, out of all lists */
    TAILQ_FOREACH(client, &all->by_age, by_age)
    {
        check_client(client);
        count_client(client, &clients);
    }
    count_lists(all, &lists);
    ensure(memcmp(&lists, &clients, sizeof(lists)) == 0,
           "lists: %zu %zu %zu %zu %zu %zu %zu %zu, their clients: %zu %zu %zu %zu %zu %zu %zu %zu",
           lists.to_write, lists.held, lists.to_run, lists.to_read, lists.to_read_on, lists.arrived,
           lists.paused, lists.classed, clients.to_write, clients.held, clients.to_run,
           clients.to_read, clients.to_read_on, clients.arrived, clients.paused, clients.classed);
    ensure(all->paused_count == clients.paused, "%zu paused, not %zu", clients.paused,
           all->paused_count);
    agenda_check(&all->soft_ends);
    agenda_check(&all->penalty_ends);
    blocked_check(all->w.engine->blocked);
    if (all->w.engine->settle != NULL) settle_check(all->w.engine->settle);
}
