/* client_run: runs the requests that arrived in a turn. Parses a window of requests from all
 * connections, prefetches their keys together, so that the waits for memory overlap (lookahead.c),
 * and runs them in order of arrival. Depends on the parser and the engine; client_io.c has the
 * sockets.
 *
 * A request that can't run now stays in its connection's input buffer, with everything that came
 * after it, and is parsed again later. */
#include "server/net/client_state.h"

#include <stdio.h>

#include "server/base/log.h"
#include "server/net/lookahead.h"
#include "store/base/ensure.h"
#include "store/mem/blob.h"
#include "store/mem/mem.h"

enum {
    REQUESTS_PER_TURN = 1024,       /* per connection */
    ANON_PER_TURN = 16,             /* unauthenticated, whose requests do not share a window */
    MAX_LINE = 64 * 1024,           /* bytes of an inline request or a header line */
    MAX_BULK_ANON = 16 * 1024,      /* bytes of an argument before AUTH */
    KEPT_ARGS = 64,                 /* a longer argument list is freed after use, */
    WINDOW_KEPT_ARGS = 1024,        /* and one of the window with more for each request */
    OUTPUT_CHECK_BYTES = 64 * 1024, /* bytes of replies after which a turn checks the limits */
    TICK_USEC = 200, /* a longer time since the last reading makes the turn read the clock again */
    PAUSE_CHECK_MSEC = 60 * 1000, /* milliseconds between checks of a pause */
};

/* ---- whether a connection may be read and run ------------------------------------------------ */

/* A client that waits is still read, so that the end of file is noticed, unless it waits for its
 * peer to read replies. Its requests run later. */
bool client_may_read(const struct client *client)
{
    switch (client->session.state) {
    case SESSION_SERVING: return true;
    case SESSION_WAITING: return client->session.waits_for != WAIT_OUTPUT;
    case SESSION_SHAKING: return !transport_waits_to_shake(&client->transport);
    default: return false;
    }
}

static bool may_run_requests(const struct client *client)
{
    return client->session.state == SESSION_SERVING;
}

void client_list_to_run(struct client *client)
{
    /* finish_arrival lists the client if requests are left. */
    if (client_has_arrived(client) || client->input_place == INPUT_TO_RUN) return;
    client_place_input(client, INPUT_TO_RUN);
    loop_timer_set(client->all->run_timer, 0);
}

void client_continue(struct client *client)
{
    session_end_wait(&client->session);
    client_list_to_run(client);
}

/* ---- pauses ---------------------------------------------------------------------------------- */

static void forget_pause(struct session *session)
{
    struct client *client = client_of(session);
    client->all->paused_count--;
    TAILQ_REMOVE(&client->all->paused, client, paused);
}

void clients_check_pause(struct clients *all)
{
    if (all->paused_count == 0) return;
    struct pause *pause = &all->w.engine->pause;
    /* Tick, because a turn without requests has not read the clock. */
    msec now = clock_tick(all->w.clock);
    if (pause_now(pause, now) != PAUSE_NONE) {
        /* A held clock does not advance by itself; moving it starts a turn. So does the end of a
         * failover. */
        if (all->w.clock->stepped || pause->failover) return;
        msec left = pause->until - clock_now(all->w.clock) + 1;
        loop_timer_set(all->pause_timer,
                       (left < PAUSE_CHECK_MSEC ? left : PAUSE_CHECK_MSEC) * 1000);
        return;
    }
    struct client *client;
    while ((client = TAILQ_FIRST(&all->paused)) != NULL)
        client_continue(client);
}

/* ---- parsing --------------------------------------------------------------------------------- */

/* A complete request. */
struct request {
    struct client *client; /* NULL: given back to the client's input */
    struct command_ref command;
    size_t end;
    int argc;
    size_t first; /* index of its first argument in window.argv */
};

void window_init(struct window *window)
{
    *window = (struct window){ .requests = mem_alloc(WINDOW * sizeof(struct request)),
                               .prefetches = mem_alloc(WINDOW * sizeof(struct prefetch)),
                               .argv = mem_alloc(WINDOW * sizeof(struct bytes)),
                               .args_cap = WINDOW };
}

void window_drop(struct window *window)
{
    mem_free(window->requests);
    mem_free(window->prefetches);
    mem_free(window->argv);
}

static const char *arrived_at(const struct client *client, size_t offset)
{
    const struct arrival *arrival = &client->arrival;
    const char *data = arrival->data;
    if (data == NULL) data = client->input.data + client->input.start;
    return data + offset;
}

/* Tries the previous request's command first, because pipelines often repeat one command. */
static struct command_ref command_of(struct clients *all, int argc, const struct bytes *argv)
{
    const struct window *window = &all->window;
    if (window->count > 0) {
        const struct request *before = &window->requests[window->count - 1];
        bool alone = before->command.row != NULL && before->command.row->subcommands == NULL &&
                     before->command.parent == NULL;
        if (alone && bytes_equal(window->argv[before->first], argv[0])) return before->command;
    }
    return commands_match(all->w.engine->commands, argc, argv);
}

static void take_request(struct client *client)
{
    struct clients *all = client->all;
    struct window *window = &all->window;
    const struct resp_reader *reader = &client->reader;
    struct arrival *arrival = &client->arrival;
    const char *input = arrived_at(client, arrival->parsed);
    bool is_first = arrival->parsed == 0;
    arrival->parsed += reader->consumed;
    arrival->left--;
    if (window->args + (size_t)reader->argc > window->args_cap) {
        window->args_cap = 2 * (window->args + (size_t)reader->argc);
        window->argv = mem_realloc(window->argv, window->args_cap * sizeof(*window->argv));
    }
    struct bytes *argv = window->argv + window->args;
    for (int i = 0; i < reader->argc; i++)
        argv[i] = bytes_of(resp_reader_arg(reader, input, i), reader->args[i].len);
    if (client->input.big != NULL && is_first)
        argv[client->input.big_arg] = blob_view(client->input.big);
    struct request *request = &window->requests[window->count];
    *request = (struct request){
        .client = client, .end = arrival->parsed, .argc = reader->argc, .first = window->args
    };
    if (reader->argc > 0) request->command = command_of(all, reader->argc, argv);
    window->count++;
    window->args += (size_t)reader->argc;
    /* Do not parse further until these have run: an AUTH may lift the limits, and unquoted
     * arguments of an inline request are in the reader's buffer, which the next request overwrites.
     */
    arrival->holds = client_is_anon(client) || reader->args_unquoted;
}

static void parse_one(struct client *client)
{
    const struct conf *conf = client->all->w.conf;
    struct arrival *arrival = &client->arrival;
    struct resp_limits limits = { .max_bulk = conf->proto_max_bulk_len,
                                  .max_args = INT32_MAX,
                                  .max_line = MAX_LINE,
                                  .max_bulk_anon = MAX_BULK_ANON,
                                  .anonymous = client_is_anon(client) };
    enum resp_status status = resp_read(&client->reader, arrived_at(client, arrival->parsed),
                                        arrival->len - arrival->parsed, &limits);
    if (status == RESP_REQUEST)
        take_request(client);
    else
        arrival->ended = true;
    arrival->malformed = status == RESP_MALFORMED;
}

/* Parses as many requests as fit into the window. */
static void parse_requests(struct client *client)
{
    struct arrival *arrival = &client->arrival;
    arrival->holds = false;
    while (!arrival->ended && !arrival->holds && client->all->window.count < WINDOW) {
        if (!may_run_requests(client))
            arrival->cut = true; /* the rest is parsed when the client may run again */
        if (arrival->left == 0 || arrival->parsed == arrival->len || arrival->cut)
            arrival->ended = true;
        else
            parse_one(client);
    }
}

/* ---- looking ahead --------------------------------------------------------------------------- */

static void look_ahead(struct clients *all)
{
    struct window *window = &all->window;
    for (unsigned i = 0; i < window->count; i++) {
        const struct request *request = &window->requests[i];
        const struct command *row = request->command.row;
        struct prefetch *prefetch = &window->prefetches[i];
        *prefetch = (struct prefetch){ .args = NULL };
        if (row == NULL) continue;
        bool likely = row->keys.first <= 0;
        int key = likely ? row->likely_key : row->keys.first;
        if (key <= 0 || key >= request->argc) continue;
        prefetch->ks = store_database(all->w.engine->store, request->client->session.db);
        prefetch->args = window->argv + request->first + key;
        prefetch->count = likely ? 1 : request->argc - key;
        prefetch->writes = row->flags & WRITE;
    }
    lookahead(window->prefetches, window->count);
}

/* Reads the clock: before the first request of a turn and after slow ones. The requests between
 * share one reading, which is cheaper. */
static void tick_turn(struct clients *all)
{
    if (all->suspended == NULL) clock_tick(all->w.clock);
    all->turn_usec = clock_mark(all->w.clock);
    observe_turn(all->w.engine->observer, all->turn_usec);
}

/* ---- after running --------------------------------------------------------------------------- */

static void refuse_malformed(struct client *client)
{
    char line[sizeof(client->reader.error) + 8];
    int len = snprintf(line, sizeof(line), "ERR %s", client->reader.error);
    log_line(LOG_VERBOSE, "Client %s closed: %s", label_of(&client->session).text,
             client->reader.error);
    resp_error(&client->session.out, line, (size_t)len);
    session_close(&client->session);
}

void client_check_input(struct client *client)
{
    size_t len = client_input_bytes(client);
    if (client->reader.args_cap > KEPT_ARGS) len += mem_size(client->reader.args);
    limits_check_input(&client->limits, len);
}

static void finish_arrival(struct client *client)
{
    struct arrival *arrival = &client->arrival;
    bool behind = arrival->used < arrival->parsed;
    if (client->out.len > 0 || client->out.lost) limits_check_unread(&client->limits);
    if (arrival->malformed && !behind && may_run_requests(client)) refuse_malformed(client);
    peak_note(&client->all->w.stats->input,
              client->input.cap + client->input.big_len + client_bytes_being_run(client));
    if (arrival->data == NULL)
        client_drop_input(client, arrival->used);
    else
        client_keep_input(client, arrival->data + arrival->used, arrival->len - arrival->used);
    client_check_input(client);
    client_place_input(client, INPUT_AT_REST);
    if ((arrival->cut || arrival->left == 0) && client->input.len > 0 && may_run_requests(client))
        client_list_to_run(client);
    if (behind) client_join_input(client);
    bool is_large = client->reader.args_cap > KEPT_ARGS || client->reader.args_unquoted;
    if (behind || (client->input.len == 0 && is_large)) {
        resp_reader_drop(&client->reader);
        resp_reader_init(&client->reader);
    }
    limits_count(&client->limits);
    if (client->session.state == SESSION_CLOSING || client->session.waits_for == WAIT_OUTPUT ||
        limits_anon_is_full(&client->limits) ||
        (client->out.len > 0 && !transport_waits_for_room(&client->transport)))
        client_list_to_write(client);
}

/* ---- running --------------------------------------------------------------------------------- */

static void run_request(const struct window *window, const struct request *request)
{
    struct client *client = request->client;
    struct clients *all = client->all;
    if (request->argc > 0) {
        bool done = engine_request(all->w.engine, &client->session, request->command, request->argc,
                                   window->argv + request->first);
        limits_count(&client->limits);
        if (!done) { /* it is parsed again when the session is woken or the pause is over */
            if (!may_run_requests(client)) return;
            all->paused_count++;
            TAILQ_INSERT_TAIL(&all->paused, client, paused);
            session_wait(&client->session, WAIT_PAUSE, forget_pause);
            return;
        }
    }
    client->arrival.used = request->end;
    if (client->out.len > OUTPUT_CHECK_BYTES || client->out.lost)
        limits_check_unread(&client->limits);
}

/* Drops the client's remaining requests, which are adjacent in the window, because the client waits
 * or closes. This happens at once and not at the end of the window, so that clients woken meanwhile
 * continue in the order in which they were woken. */
static void cut_off(struct client *client, unsigned next)
{
    struct window *window = &client->all->window;
    for (; next < window->count && window->requests[next].client == client; next++)
        window->requests[next].client = NULL;
    client->arrival.cut = true;
    finish_arrival(client);
}

static void run_window(struct clients *all)
{
    const struct observer *observer = all->w.engine->observer;
    const struct client *before = NULL;
    for (unsigned i = 0; i < all->window.count; i++) {
        struct client *client = all->window.requests[i].client;
        if (client == NULL) continue;
        all->window.running = i;
        all->request += all->suspended == NULL;
        if (client != before) limits_bound_output(&client->limits);
        before = client;
        if (may_run_requests(client)) {
            lookahead_remember(&all->window.prefetches[i]);
            run_request(&all->window, &all->window.requests[i]);
            lookahead_forget();
        }
        if (!may_run_requests(client)) cut_off(client, i + 1);
        if (observer->last_usec - all->turn_usec >= TICK_USEC) tick_turn(all);
    }
    all->window.running = all->window.count;
}

struct client *clients_running(const struct clients *all)
{
    const struct window *window = &all->window;
    return window->running < window->count ? window->requests[window->running].client : NULL;
}

size_t client_running_bytes(const struct client *client)
{
    const struct window *window = &client->all->window;
    if (clients_running(client->all) != client) return 0;
    const struct request *request = &window->requests[window->running];
    size_t bytes = 0;
    for (int i = 0; i < request->argc; i++)
        bytes += window->argv[request->first + (size_t)i].len;
    return bytes;
}

void clients_give_back(struct clients *all, const struct client *but)
{
    for (unsigned i = all->window.running; i < all->window.count; i++)
        if (all->window.requests[i].client != but) all->window.requests[i].client = NULL;
    struct client *client, *next;
    for (client = TAILQ_FIRST(&all->input[INPUT_ARRIVED]); client != NULL; client = next) {
        next = TAILQ_NEXT(client, same_input);
        if (client == but) continue;
        client->arrival.cut = true;
        finish_arrival(client);
    }
}

/* ---- a turn ---------------------------------------------------------------------------------- */

void client_arrived(struct client *client, const char *data, size_t len)
{
    if (!may_run_requests(client)) {
        ensure(data == NULL, "client %llu may not run requests",
               (unsigned long long)client->session.id);
        client_check_input(client);
        limits_count(&client->limits);
        return;
    }
    client->arrival = (struct arrival){
        .data = data,
        .len = data != NULL ? len : client->input.len,
        .left = client_is_anon(client) ? ANON_PER_TURN : REQUESTS_PER_TURN,
    };
    client_place_input(client, INPUT_ARRIVED);
}

static void run_arrived(struct clients *all)
{
    if (TAILQ_EMPTY(&all->input[INPUT_ARRIVED])) return;
    tick_turn(all);
    struct client *client;
    TAILQ_FOREACH(client, &all->input[INPUT_ARRIVED], same_input)
    client->active_usec = all->turn_usec;
    while (!TAILQ_EMPTY(&all->input[INPUT_ARRIVED])) {
        all->window.count = 0;
        all->window.args = 0;
        TAILQ_FOREACH(client, &all->input[INPUT_ARRIVED], same_input)
        {
            parse_requests(client);
            if (all->window.count == WINDOW) break;
        }
        look_ahead(all);
        run_window(all);
        while ((client = TAILQ_FIRST(&all->input[INPUT_ARRIVED])) != NULL &&
               (client->arrival.ended || client->arrival.cut))
            finish_arrival(client);
    }
    all->scratch_used = 0;
    if (all->window.args_cap > WINDOW_KEPT_ARGS * WINDOW) {
        window_drop(&all->window);
        window_init(&all->window);
    }
}

void clients_run(struct clients *all)
{
    do
        run_arrived(all);
    while (clients_read_more(all));
}

void clients_run_listed(void *ctx)
{
    struct clients *all = ctx;
    struct client *client;
    while ((client = TAILQ_FIRST(&all->input[INPUT_TO_RUN])) != NULL) {
        client_place_input(client, INPUT_AT_REST);
        if (client->input.len > 0) client_arrived(client, NULL, 0);
    }
}
