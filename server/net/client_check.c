/* client_check: asserts that the states, lists, counts and deadlines of connections agree. For
 * DEBUG CHECK and random tests. O(connections). */
#include "server/net/client_state.h"

#include <inttypes.h>
#include <string.h>

#include "store/base/ensure.h"

/* Number of connections per list, counted in two ways: from the lists and from the connections. */
struct tally {
    size_t input[INPUT_PLACES], output[OUTPUT_PLACES];
    size_t paused, doomed, all;
};

#define COUNT_LIST(count, list, link)                                                              \
    do {                                                                                           \
        const struct client *listed;                                                               \
        TAILQ_FOREACH(listed, list, link)                                                          \
        (count)++;                                                                                 \
    } while (0)

static void count_lists(struct clients *all, struct tally *tally)
{
    for (int place = 0; place < INPUT_PLACES; place++)
        COUNT_LIST(tally->input[place], &all->input[place], same_input);
    for (int place = 0; place < OUTPUT_PLACES; place++)
        COUNT_LIST(tally->output[place], &all->output[place], same_output);
    COUNT_LIST(tally->paused, &all->paused, paused);
}

static void count_client(const struct client *client, struct tally *tally)
{
    tally->input[client->input_place] += client->input_place != INPUT_AT_REST;
    tally->output[client->output_place] += client->output_place != OUTPUT_AT_REST;
    tally->paused += client->session.waits_for == WAIT_PAUSE;
    tally->doomed += client_is_doomed(client);
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

static void check_client(const struct client *client)
{
    enum session_state state = client->session.state;
    enum wait_reason reason = client->session.waits_for;
    session_check(&client->session);
    ensure(state != SESSION_ENDED || client->output_place != OUTPUT_AT_REST,
           "client %" PRIu64 " has ended, but is not listed to be freed", client->session.id);
    ensure(reason != WAIT_OUTPUT || transport_waits_for_room(&client->transport) ||
               client->output_place != OUTPUT_AT_REST || client_has_arrived(client),
           "client %" PRIu64 " waits to be read, but no write is due", client->session.id);
    ensure(client->input_place != INPUT_ARRIVED || state != SESSION_WAITING ||
               clients_running(client->all) == client,
           "client %" PRIu64 " waits, but its requests are listed to run", client->session.id);
    bool may_forget = state == SESSION_SERVING && client->input_place < INPUT_TO_RUN;
    ensure(!may_forget || !has_request(client),
           "client %" PRIu64 " has a complete request, but is not listed to run",
           client->session.id);
}

void clients_check(struct clients *all)
{
    struct tally lists = { .all = all->count, .doomed = all->doomed };
    struct tally clients = { 0 };
    struct limits_tally counted = { 0 };
    size_t reading_on = 0;
    const struct client *client;
    TAILQ_FOREACH(client, &all->by_age, by_age)
    {
        check_client(client);
        count_client(client, &clients);
        limits_check(&client->limits, &counted);
        reading_on += transport_check(&client->transport);
    }
    count_lists(all, &lists);
    for (int place = 0; place < INPUT_PLACES; place++)
        ensure(lists.input[place] == clients.input[place],
               "input place %d: %zu listed, %zu clients", place, lists.input[place],
               clients.input[place]);
    for (int place = 0; place < OUTPUT_PLACES; place++)
        ensure(lists.output[place] == clients.output[place],
               "output place %d: %zu listed, %zu clients", place, lists.output[place],
               clients.output[place]);
    ensure(memcmp(&lists, &clients, sizeof(lists)) == 0,
           "%zu paused, %zu doomed of %zu; their clients: %zu, %zu of %zu", lists.paused,
           lists.doomed, lists.all, clients.paused, clients.doomed, clients.all);
    ensure(all->paused_count == clients.paused, "%zu paused, not %zu", clients.paused,
           all->paused_count);
    all_transports_check(all->transports, reading_on);
    all_limits_check(all->limits, &counted);
    blocked_check(all->w.engine->blocked);
    if (all->w.engine->settle != NULL) settle_check(all->w.engine->settle);
}
