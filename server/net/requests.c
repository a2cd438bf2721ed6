/* requests: see requests.h. */
#include "server/net/requests.h"

#include <inttypes.h>

#include "server/base/log.h"
#include "server/net/label.h"
#include "store/base/ensure.h"
#include "store/lookahead.h"
#include "store/mem/mem.h"

enum {
    WINDOW = PREFETCHES_MAX,        /* requests whose keys are prefetched together */
    READ_SIZE = 64 * 1024,          /* bytes per read */
    ANON_READ = 1024,               /* bytes per read before AUTH; bounds the replies of a turn */
    BIG_READ = 256 * 1024,          /* bytes of a big argument per turn */
    SCRATCH = 256 * 1024,           /* bytes that a turn reads before it runs requests */
    REQUESTS_PER_TURN = 1024,       /* per connection */
    ANON_PER_TURN = 16,             /* the same before AUTH */
    MAX_LINE = 64 * 1024,           /* bytes of an inline request or a header line */
    MAX_BULK_ANON = 16 * 1024,      /* bytes of an argument before AUTH */
    KEPT_ARGS = 64,                 /* a longer argument list is freed after use, */
    WINDOW_KEPT_ARGS = 1024,        /* and so is the window's with more of them per request */
    OUTPUT_CHECK_BYTES = 64 * 1024, /* bytes of replies after which a turn checks the limits */
    TICK_USEC = 200, /* a longer time since the last reading makes the turn read the clock again */
    PAUSE_CHECK_MSEC = 60 * 1000, /* milliseconds between checks of a pause */
};

TAILQ_HEAD(requests_list, requests);

struct request {
    struct requests *from; /* NULL after the request was given back to the input */
    struct command_ref command;
    size_t end; /* offset of the first byte after it in from->arrival */
    int argc;
    size_t first; /* index of its first argument in window.argv */
};

/* Parsed requests that have not run yet, with their arguments in one array. */
struct window {
    struct request *all;         /* an array of WINDOW requests */
    unsigned running;            /* index of the running request */
    struct prefetch *prefetches; /* one for each request */
    unsigned count;
    struct bytes *argv;
    size_t args, args_cap;
};

/* A turn inside whose running request other turns run. */
struct suspended_turn {
    struct requests *from; /* the connection of the running request, or NULL */
    struct window window;
    char *scratch;
    size_t scratch_used;
    int64_t usec;
};

struct all_requests {
    struct requests_wiring w;
    struct requests_list lists[REQUESTS_STATES];
    struct requests_list paused; /* WAIT_PAUSE, in the order in which they will continue */
    size_t paused_count;
    struct loop_timer *run_timer, *pause_timer;
    /* The turn's buffer. One for all connections, because it is needed only while the requests of a
     * turn are read and run. */
    char *scratch;
    size_t scratch_used;
    struct window window;
    struct suspended_turn *suspended; /* NULL unless turns run inside a request */
    uint64_t number;                  /* number of the running request */
    int64_t usec;                     /* monotonic: the last reading of the clock */
};

static void enter(struct requests *requests, enum requests_state state)
{
    struct requests_list *lists = requests->all->lists;
    if (requests->state != REQUESTS_REST)
        TAILQ_REMOVE(&lists[requests->state], requests, same_state);
    requests->state = state;
    if (state != REQUESTS_REST) TAILQ_INSERT_TAIL(&lists[state], requests, same_state);
}

static const struct outbuf *replies_of(const struct requests *requests)
{
    return requests->session->out.out;
}

static bool may_run(const struct requests *requests)
{
    return requests->session->state == SESSION_SERVING;
}

/* ---- beginning and ending -------------------------------------------------------------------- */

static void init_window(struct window *window)
{
    *window = (struct window){ .all = mem_alloc(WINDOW * sizeof(struct request)),
                               .prefetches = mem_alloc(WINDOW * sizeof(struct prefetch)),
                               .argv = mem_alloc(WINDOW * sizeof(struct bytes)),
                               .args_cap = WINDOW };
}

static void drop_window(struct window *window)
{
    mem_free(window->all);
    mem_free(window->prefetches);
    mem_free(window->argv);
}

static void run_scheduled(void *all_requests);

/* Does nothing: the timer only starts a turn, which checks the pause. */
static void on_pause_timer(void *ctx)
{
    (void)ctx;
}

struct all_requests *all_requests_new(const struct requests_wiring *wiring)
{
    struct all_requests *all = mem_zalloc(sizeof(*all));
    all->w = *wiring;
    for (int state = 0; state < REQUESTS_STATES; state++)
        TAILQ_INIT(&all->lists[state]);
    TAILQ_INIT(&all->paused);
    all->run_timer = loop_timer_new(wiring->loop, run_scheduled, all);
    all->pause_timer = loop_timer_new(wiring->loop, on_pause_timer, all);
    all->scratch = mem_alloc(SCRATCH);
    all->usec = clock_mono_usec();
    init_window(&all->window);
    return all;
}

void all_requests_free(struct all_requests *all)
{
    loop_timer_free(all->run_timer);
    loop_timer_free(all->pause_timer);
    mem_free(all->scratch);
    drop_window(&all->window);
    mem_free(all);
}

void requests_init(struct requests *requests, struct all_requests *all, struct session *session,
                   struct limits *limits)
{
    *requests = (struct requests){
        .all = all, .session = session, .limits = limits, .active_usec = clock_mono_usec()
    };
    resp_reader_init(&requests->reader);
}

void requests_drop(struct requests *requests)
{
    enter(requests, REQUESTS_REST);
    resp_reader_drop(&requests->reader);
    input_drop(&requests->input);
}

/* ---- when requests may run ------------------------------------------------------------------- */

/* Schedules the requests in the input for the next turn. No effect while requests of this
 * connection are still to run in this turn: finish_arrival then schedules those that are left. */
static void schedule(struct requests *requests)
{
    if (requests_are_busy(requests) || requests->state == REQUESTS_TO_RUN) return;
    enter(requests, REQUESTS_TO_RUN);
    loop_timer_set(requests->all->run_timer, 0);
}

void requests_wake(struct requests *requests)
{
    if (input_len(&requests->input) > 0 && may_run(requests)) schedule(requests);
}

void requests_continue(struct requests *requests)
{
    session_end_wait(requests->session);
    schedule(requests);
}

void all_requests_check_pause(struct all_requests *all)
{
    if (all->paused_count == 0) return;
    struct pause *pause = &all->w.engine->pause;
    /* Tick, because a turn without requests has not read the clock. */
    msec now = clock_tick(all->w.clock);
    if (pause_now(pause, now) != PAUSE_NONE) {
        /* Leave the timer off where something else reports the end of the pause: a held clock
         * advances only when it is moved, which starts a turn, and so does the end of a
         * failover. */
        if (all->w.clock->stepped || pause->failover) return;
        msec left = pause->until - clock_now(all->w.clock) + 1;
        loop_timer_set(all->pause_timer,
                       (left < PAUSE_CHECK_MSEC ? left : PAUSE_CHECK_MSEC) * 1000);
        return;
    }
    struct requests *requests;
    while ((requests = TAILQ_FIRST(&all->paused)) != NULL)
        requests_continue(requests);
}

size_t all_requests_paused(const struct all_requests *all)
{
    return all->paused_count;
}

/* ---- input ----------------------------------------------------------------------------------- */

static void close_for_memory(struct requests *requests, size_t needed)
{
    log_line(LOG_WARNING,
             "Client %s closed: out of memory for %zu bytes of input. Set maxmemory and "
             "client-query-buffer-limit to less than this machine has",
             label_of(requests->session).text, needed);
    requests->all->w.owner.close(requests->session);
}

/* Closes the connection and returns false if memory is short. */
static bool reserve(struct requests *requests, size_t room, size_t ahead)
{
    struct input *input = &requests->input;
    size_t before = input_capacity(input);
    if (!input_reserve(input, room, ahead)) {
        close_for_memory(requests, input_len(input) + room);
        return false;
    }
    if (input_capacity(input) != before) limits_count(requests->limits);
    return true;
}

static void keep(struct requests *requests, const char *data, size_t len)
{
    if (len > 0 && reserve(requests, len, len)) input_append(&requests->input, data, len);
}

static void check_input(struct requests *requests)
{
    size_t len = input_total(&requests->input);
    if (requests->reader.args_cap > KEPT_ARGS) len += mem_size(requests->reader.args);
    limits_check_input(requests->limits, len);
}

/* Unless the session waits, lists the connection, so that the requests in these bytes run at the
 * end of the turn. `data` is in the turn's buffer; NULL stands for the connection's input. */
static void arrive(struct requests *requests, const char *data, size_t len)
{
    if (!may_run(requests)) {
        ensure(data == NULL, "client %" PRIu64 " may not run requests", requests->session->id);
        check_input(requests);
        limits_count(requests->limits);
        return;
    }
    requests->arrival = (struct arrival){
        .data = data,
        .len = data != NULL ? len : input_len(&requests->input),
        .left = limits_is_anon(requests->limits) ? ANON_PER_TURN : REQUESTS_PER_TURN,
    };
    enter(requests, REQUESTS_ARRIVED);
}

static bool has_shared_room(const struct all_requests *all)
{
    return all->scratch_used + READ_SIZE <= SCRATCH;
}

struct requests_room requests_room(struct requests *requests)
{
    static const struct requests_room none = { ROOM_NONE, NULL, 0 };
    struct input *input = &requests->input;
    /* Bytes that already wait to run come first. The transport reports the rest of the input again
     * in a later turn. */
    if (requests->state >= REQUESTS_TO_RUN) return none;
    struct all_requests *all = requests->all;
    size_t wants = resp_reader_wants(&requests->reader, input_len(input));
    size_t big = input_big_wants(input);
    if (big == 0 && wants > READ_SIZE) {
        if (!input_lift(input, &requests->reader, wants)) {
            close_for_memory(requests, input_len(input) - requests->reader.parsed + wants);
            return none;
        }
        big = input_big_wants(input);
        if (big == 0) {
            size_t most = wants < BIG_READ ? wants : BIG_READ;
            if (!reserve(requests, most, wants)) return none;
            return (struct requests_room){ ROOM_INPUT, input_data(input) + input_len(input), most };
        }
        limits_count(requests->limits);
    }
    if (big > 0)
        return (struct requests_room){ ROOM_BIG, input_big_room(input),
                                       big < BIG_READ ? big : BIG_READ };

    /* Read into the turn's buffer, behind bytes whose requests have not run yet. If the buffer is
     * full, list the connection, to be read at the end of the turn, after the requests in the
     * buffer have run. Running them here is not possible: this is a callback of the loop, and a
     * script among them may need turns of the loop. */
    if (!has_shared_room(all)) {
        if (requests->state == REQUESTS_REST) enter(requests, REQUESTS_TO_READ);
        return none;
    }
    size_t size = limits_is_anon(requests->limits) ? ANON_READ : READ_SIZE;
    return (struct requests_room){ ROOM_SHARED, all->scratch + all->scratch_used, size };
}

void requests_got(struct requests *requests, const struct requests_room *room, size_t len)
{
    struct input *input = &requests->input;
    switch (room->kind) {
    case ROOM_NONE: break;
    case ROOM_BIG: /* no request of this connection can run before its line end arrives */
        input_big_added(input, len);
        check_input(requests);
        break;
    case ROOM_INPUT:
        input_added(input, len);
        arrive(requests, NULL, 0);
        break;
    case ROOM_SHARED:
        /* Bytes of a waiting session must leave the turn's buffer, which is emptied only after
         * requests have run. */
        if (input_len(input) > 0 || requests->session->state == SESSION_WAITING) {
            keep(requests, room->data, len);
            arrive(requests, NULL, 0);
        } else {
            requests->all->scratch_used += len;
            arrive(requests, room->data, len);
        }
        break;
    }
}

bool requests_are_first(const struct requests *requests)
{
    return requests->session->last_command == NULL && input_len(&requests->input) == 0;
}

struct session *all_requests_next_to_read(struct all_requests *all)
{
    struct requests *requests = TAILQ_FIRST(&all->lists[REQUESTS_TO_READ]);
    if (requests == NULL || !has_shared_room(all)) return NULL;
    enter(requests, REQUESTS_REST);
    return requests->session;
}

/* ---- parsing --------------------------------------------------------------------------------- */

static const char *arrived_at(const struct requests *requests, size_t offset)
{
    const char *data = requests->arrival.data;
    if (data == NULL) data = input_data(&requests->input);
    return data + offset;
}

static void take_request(struct requests *requests)
{
    struct all_requests *all = requests->all;
    struct window *window = &all->window;
    const struct resp_reader *reader = &requests->reader;
    struct arrival *arrival = &requests->arrival;
    const char *at = arrived_at(requests, arrival->parsed);
    bool is_first = arrival->parsed == 0;
    arrival->parsed += reader->consumed;
    arrival->left--;
    if (window->args + (size_t)reader->argc > window->args_cap) {
        window->args_cap = 2 * (window->args + (size_t)reader->argc);
        window->argv = mem_realloc(window->argv, window->args_cap * sizeof(*window->argv));
    }
    struct bytes *argv = window->argv + window->args;
    for (int i = 0; i < reader->argc; i++)
        argv[i] = bytes_of(resp_reader_arg(reader, at, i), reader->args[i].len);
    if (is_first) input_place_big(&requests->input, argv);
    struct request *request = &window->all[window->count];
    *request = (struct request){
        .from = requests, .end = arrival->parsed, .argc = reader->argc, .first = window->args
    };
    if (reader->argc > 0) {
        /* Try the previous request's command first: pipelines often repeat one command. */
        const struct request *before = window->count > 0 ? request - 1 : NULL;
        bool repeats = before != NULL && before->command.row != NULL &&
                       before->command.row->subcommands == NULL && before->command.parent == NULL &&
                       bytes_equal(window->argv[before->first], argv[0]);
        request->command =
            repeats ? before->command : commands_match(all->w.engine->commands, reader->argc, argv);
    }
    window->count++;
    window->args += (size_t)reader->argc;
    /* Parse no further request of this connection until these have run, for two reasons: an AUTH
     * may lift the limits, and unquoted arguments of an inline request lie in the reader's buffer,
     * which the next request overwrites. */
    arrival->holds = limits_is_anon(requests->limits) || reader->args_unquoted;
}

static void parse(struct requests *requests)
{
    struct arrival *arrival = &requests->arrival;
    /* None of these changes before the window has run. */
    const struct resp_limits most = { .max_bulk = requests->all->w.conf->proto_max_bulk_len,
                                      .max_args = INT32_MAX,
                                      .max_line = MAX_LINE,
                                      .max_bulk_anon = MAX_BULK_ANON,
                                      .anonymous = limits_is_anon(requests->limits) };
    arrival->holds = false;
    while (!arrival->ended && !arrival->holds && requests->all->window.count < WINDOW) {
        if (!may_run(requests))
            arrival->cut = true; /* the rest is parsed when the session may run again */
        if (arrival->left == 0 || arrival->parsed == arrival->len || arrival->cut) {
            arrival->ended = true;
            return;
        }
        enum resp_status status =
            resp_read(&requests->reader, arrived_at(requests, arrival->parsed),
                      arrival->len - arrival->parsed, &most);
        if (status == RESP_REQUEST)
            take_request(requests);
        else
            arrival->ended = true;
        arrival->malformed = status == RESP_MALFORMED;
    }
}

/* ---- after running --------------------------------------------------------------------------- */

/* Call when the arrival has run, or can't: its unused bytes stay in the input. */
static void finish_arrival(struct requests *requests)
{
    struct arrival *arrival = &requests->arrival;
    struct input *input = &requests->input;
    bool behind = arrival->used < arrival->parsed;
    if (replies_of(requests)->len > 0 || replies_of(requests)->lost)
        limits_check_unread(requests->limits);
    if (arrival->malformed && !behind && may_run(requests)) {
        struct session *session = requests->session;
        const char *why = requests->reader.error;
        char line[sizeof(requests->reader.error) + 8];
        int len = snprintf(line, sizeof(line), "ERR %s", why);
        log_line(LOG_VERBOSE, "Client %s closed: %s", label_of(session).text, why);
        resp_error(&session->out, line, (size_t)len);
        session_close(session);
    }

    requests_note_peak(requests);
    if (arrival->data == NULL)
        input_consume(input, arrival->used);
    else
        keep(requests, arrival->data + arrival->used, arrival->len - arrival->used);
    check_input(requests);

    enter(requests, REQUESTS_REST);
    if (arrival->cut || arrival->left == 0) requests_wake(requests);
    size_t big = input_total(input) - input_len(input);
    if (behind && !input_join(input)) close_for_memory(requests, input_len(input) + big);
    bool is_large = requests->reader.args_cap > KEPT_ARGS || requests->reader.args_unquoted;
    if (behind || (input_len(input) == 0 && is_large)) {
        resp_reader_drop(&requests->reader);
        resp_reader_init(&requests->reader);
    }
    limits_count(requests->limits);
    requests->all->w.owner.ran(requests->session);
}

/* ---- running --------------------------------------------------------------------------------- */

/* Reads the clock, before the first request of a turn and again after TICK_USEC. The requests
 * between share one reading, because a reading costs time. */
static void tick(struct all_requests *all)
{
    if (all->suspended == NULL) clock_tick(all->w.clock);
    all->usec = clock_mark(all->w.clock);
    observe_turn(all->w.engine->observer, all->usec);
}

void requests_forget_pause(struct requests *requests)
{
    requests->all->paused_count--;
    TAILQ_REMOVE(&requests->all->paused, requests, paused);
}

static void run_window(struct all_requests *all)
{
    const struct observer *observer = all->w.engine->observer;
    const struct requests *before = NULL;
    for (unsigned i = 0; i < all->window.count; i++) {
        const struct request *request = &all->window.all[i];
        struct requests *requests = request->from;
        if (requests == NULL) continue;
        all->window.running = i;
        all->number += all->suspended == NULL;
        if (requests != before) limits_bound_output(requests->limits);
        before = requests;
        if (may_run(requests)) {
            lookahead_remember(&all->window.prefetches[i]);
            bool done = request->argc == 0 ||
                        engine_request(all->w.engine, requests->session, request->command,
                                       request->argc, all->window.argv + request->first);
            if (request->argc > 0) limits_count(requests->limits);
            if (done) {
                requests->arrival.used = request->end;
                if (replies_of(requests)->len > OUTPUT_CHECK_BYTES || replies_of(requests)->lost)
                    limits_check_unread(requests->limits);
            } else if (may_run(requests)) {
                /* Parse it again when the pause ends. */
                all->paused_count++;
                TAILQ_INSERT_TAIL(&all->paused, requests, paused);
                all->w.owner.pause(requests->session);
            }
            lookahead_forget();
        }
        if (!may_run(requests)) {
            /* Return the client's remaining requests, which are adjacent in the window, to its
             * input. Do this now and not at the end of the window: sessions that are woken
             * meanwhile must continue in the order in which they were woken. */
            struct window *window = &all->window;
            for (unsigned j = i + 1; j < window->count && window->all[j].from == requests; j++)
                window->all[j].from = NULL;
            requests->arrival.cut = true;
            finish_arrival(requests);
        }
        if (observer->last_usec - all->usec >= TICK_USEC) tick(all);
    }
    all->window.running = all->window.count;
}

void all_requests_run(struct all_requests *all)
{
    struct requests_list *arrived = &all->lists[REQUESTS_ARRIVED];
    if (TAILQ_EMPTY(arrived)) return;
    tick(all);
    struct requests *requests;
    TAILQ_FOREACH(requests, arrived, same_state)
    requests->active_usec = all->usec;

    while (!TAILQ_EMPTY(arrived)) {
        all->window.count = 0;
        all->window.args = 0;
        TAILQ_FOREACH(requests, arrived, same_state)
        {
            parse(requests);
            if (all->window.count == WINDOW) break;
        }

        struct window *window = &all->window;
        for (unsigned i = 0; i < window->count; i++) {
            const struct request *request = &window->all[i];
            const struct command *row = request->command.row;
            struct prefetch *prefetch = &window->prefetches[i];
            *prefetch = (struct prefetch){ .args = NULL };
            if (row == NULL) continue;
            bool likely = row->keys.first <= 0;
            int key = likely ? row->likely_key : row->keys.first;
            if (key <= 0 || key >= request->argc) continue;
            prefetch->ks = store_database(all->w.engine->store, request->from->session->db);
            prefetch->args = window->argv + request->first + key;
            prefetch->count = likely ? 1 : request->argc - key;
            prefetch->writes = row->flags & WRITE;
        }
        lookahead(all->w.engine->store->trail, window->prefetches, window->count);

        run_window(all);
        while ((requests = TAILQ_FIRST(arrived)) != NULL &&
               (requests->arrival.ended || requests->arrival.cut))
            finish_arrival(requests);
    }

    all->scratch_used = 0;
    if (all->window.args_cap > WINDOW_KEPT_ARGS * WINDOW) {
        drop_window(&all->window);
        init_window(&all->window);
    }
}

static void run_scheduled(void *ctx)
{
    struct all_requests *all = ctx;
    struct requests *requests;
    while ((requests = TAILQ_FIRST(&all->lists[REQUESTS_TO_RUN])) != NULL) {
        enter(requests, REQUESTS_REST);
        if (input_len(&requests->input) > 0) arrive(requests, NULL, 0);
    }
}

static struct requests *running(const struct all_requests *all)
{
    const struct window *window = &all->window;
    return window->running < window->count ? window->all[window->running].from : NULL;
}

struct session *all_requests_running(const struct all_requests *all)
{
    const struct requests *requests = running(all);
    return requests != NULL ? requests->session : NULL;
}

uint64_t all_requests_number(const struct all_requests *all)
{
    return all->number;
}

/* ---- turns inside a request ------------------------------------------------------------------ */

struct session *all_requests_suspend(struct all_requests *all)
{
    ensure(all->suspended == NULL, "a turn is suspended inside a suspended one");
    struct requests *requests = running(all);
    struct suspended_turn *turn = mem_alloc(sizeof(*turn));
    int64_t usec = all->usec;

    /* Remove the parsed requests of all other connections from the window. finish_arrival puts
     * their bytes into the connections' input, to be parsed again. */
    for (unsigned i = all->window.running; i < all->window.count; i++)
        if (all->window.all[i].from != requests) all->window.all[i].from = NULL;
    struct requests *other, *next;
    for (other = TAILQ_FIRST(&all->lists[REQUESTS_ARRIVED]); other != NULL; other = next) {
        next = TAILQ_NEXT(other, same_state);
        if (other == requests) continue;
        other->arrival.cut = true;
        finish_arrival(other);
    }

    if (requests != NULL) enter(requests, REQUESTS_SUSPENDED);
    *turn = (struct suspended_turn){ requests, all->window, all->scratch, all->scratch_used, usec };
    init_window(&all->window);
    all->scratch = mem_alloc(SCRATCH);
    all->scratch_used = 0;
    all->suspended = turn;
    return requests != NULL ? requests->session : NULL;
}

struct session *all_requests_resume(struct all_requests *all)
{
    struct suspended_turn *turn = all->suspended;
    ensure(turn != NULL && TAILQ_EMPTY(&all->lists[REQUESTS_ARRIVED]), "no turn is suspended");
    struct requests *requests = turn->from;
    drop_window(&all->window);
    mem_free(all->scratch);
    all->window = turn->window;
    all->scratch = turn->scratch;
    all->scratch_used = turn->scratch_used;
    all->usec = turn->usec; /* so that the clock is read again after the request */
    if (requests != NULL) enter(requests, REQUESTS_ARRIVED);
    all->suspended = NULL;
    mem_free(turn);
    return requests != NULL ? requests->session : NULL;
}

bool all_requests_are_suspended(const struct all_requests *all)
{
    return all->suspended != NULL;
}

/* ---- time and memory ------------------------------------------------------------------------- */

void all_requests_set_time(struct all_requests *all, int64_t usec)
{
    all->usec = usec;
}

void requests_touch(struct requests *requests)
{
    requests->active_usec = requests->all->usec;
}

int64_t requests_active_usec(const struct requests *requests)
{
    return requests->active_usec;
}

static size_t bytes_being_run(const struct requests *requests)
{
    const struct arrival *arrival = &requests->arrival;
    return requests_are_busy(requests) && arrival->data != NULL ? arrival->len : 0;
}

size_t requests_bytes(const struct requests *requests)
{
    return input_memory(&requests->input) + mem_size(requests->reader.args);
}

struct requests_usage requests_usage(const struct requests *requests)
{
    const struct input *input = &requests->input;
    const struct window *window = &requests->all->window;
    size_t arguments = 0;
    if (running(requests->all) == requests) {
        const struct request *request = &window->all[window->running];
        for (int i = 0; i < request->argc; i++)
            arguments += window->argv[request->first + (size_t)i].len;
    }
    return (struct requests_usage){
        .used = input_total(input) + bytes_being_run(requests),
        .free = input_capacity(input) - input_len(input),
        .arguments = arguments,
    };
}

void requests_note_peak(const struct requests *requests)
{
    const struct input *input = &requests->input;
    size_t big = input_total(input) - input_len(input);
    peak_note(&requests->all->w.stats->input,
              input_capacity(input) + big + bytes_being_run(requests));
}

/* ---- checking -------------------------------------------------------------------------------- */

void requests_check(const struct requests *requests, struct requests_tally *tally)
{
    const struct session *session = requests->session;
    ensure(requests->state != REQUESTS_ARRIVED || session->state != SESSION_WAITING ||
               running(requests->all) == requests,
           "client %" PRIu64 " waits, but its requests are listed to run", session->id);
    const struct input *input = &requests->input;
    size_t len = input_len(input);
    bool may_forget = session->state == SESSION_SERVING && requests->state < REQUESTS_TO_RUN;
    if (may_forget && len > 0 && input_total(input) == len) {
        static const struct resp_limits any = { .max_bulk = INT64_MAX,
                                                .max_args = INT32_MAX,
                                                .max_line = SIZE_MAX };
        struct resp_reader reader;
        resp_reader_init(&reader);
        enum resp_status status = resp_read(&reader, input_data(input), len, &any);
        resp_reader_drop(&reader);
        ensure(status != RESP_REQUEST,
               "client %" PRIu64 " has a complete request, but is not listed to run", session->id);
    }
    tally->states[requests->state]++;
    tally->paused += session->waits_for == WAIT_PAUSE;
}

void all_requests_check(const struct all_requests *all, const struct requests_tally *tally)
{
    const struct requests *requests;
    for (int state = REQUESTS_REST + 1; state < REQUESTS_STATES; state++) {
        size_t listed = 0;
        TAILQ_FOREACH(requests, &all->lists[state], same_state)
        listed++;
        ensure(listed == tally->states[state], "requests in state %d: %zu listed, %zu clients",
               state, listed, tally->states[state]);
    }
    size_t paused = 0;
    TAILQ_FOREACH(requests, &all->paused, paused)
    paused++;
    ensure(paused == tally->paused && all->paused_count == paused,
           "%zu paused listed, %zu counted, %zu clients", paused, all->paused_count, tally->paused);
}
