/* client_io: bytes in, requests run, bytes out.
 * Knows sockets, the parser and dispatch_request; refuses to know any command.
 *
 * Most reads bring whole requests: they are run straight out of a buffer that all connections
 * share, and only the beginning of an unfinished one is kept, so an idle connection owns no input
 * memory. A big argument is read into the connection's own buffer, which grows as the bytes come
 * and not as they are announced. */
#include "server/client_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/log.h"
#include "server/lookahead.h"
#include "server/multi.h"
#include "store/mem.h"

enum {
    BIG_READ = 256 * 1024,     /* bytes of a big argument per turn */
    REQUESTS_PER_TURN = 1024,  /* of one connection */
    WRITE_CHUNKS = 64,         /* iovecs of one writev */
    MAX_LINE = 64 * 1024,      /* bytes of an inline request or a header line */
    MAX_BULK_ANON = 16 * 1024, /* bytes of an argument before AUTH */
    MAX_QUERY_ANON = 1 << 20,  /* bytes of unanswered input before AUTH */
    KEPT_ARGS = 1024,          /* a longer list of arguments is given back */
    SMALL_INPUT = 64 * 1024,   /* a buffer of up to this need not shrink */
    TICK_USEC = 200,           /* after which the time is looked at again */
    LAST_READS = 4,            /* before closing; see part() */
    PAUSE_LOOK = 60 * 1000,    /* milliseconds after which a pause is looked at again */
};

/* DIFFERS: Redis reads on while a client leaves its replies unread; here it is not read from while
 * more than this waits. (doc/differs.md) */
#define STALL_BYTES ((size_t)64 << 20)

/* --- the connection's own input --- */

static bool input_grow(struct client_input *input, size_t cap)
{
    char *grown = mem_try_realloc(input->data, cap);
    if (grown == NULL) return false;
    input->data = grown;
    input->cap = cap;
    return true;
}

/* Room for `room` bytes at the end, with space ahead when that is known to come. */
static bool input_reserve(struct client *client, size_t room, size_t ahead)
{
    struct client_input *input = &client->input;
    if (input->cap - input->start - input->len >= room) return true;
    if (input->start > 0) memmove(input->data, input->data + input->start, input->len);
    input->start = 0;
    if (input->cap - input->len >= room) return true;
    size_t twice = 2 * input->cap > 256 ? 2 * input->cap : 256;
    if (ahead > room && twice > input->len + ahead) twice = input->len + ahead;
    size_t needed = input->len + room;
    if (input_grow(input, twice > needed ? twice : needed)) return true;
    log_line(LOG_WARNING, "Client %s closed: no memory for %zu bytes of input",
             client_label(client).text, needed);
    client_doom(client);
    return false;
}

static void input_append(struct client *client, const char *data, size_t len)
{
    if (len == 0 || !input_reserve(client, len, len)) return;
    struct client_input *input = &client->input;
    memcpy(input->data + input->start + input->len, data, len);
    input->len += len;
}

static void input_consume(struct client_input *input, size_t used)
{
    if (used == 0) return;
    input->start += used;
    input->len -= used;
    if (input->len == 0) {
        mem_free(input->data);
        *input = (struct client_input){ 0 };
    } else if (input->cap > SMALL_INPUT && input->len < input->cap / 8) {
        memmove(input->data, input->data + input->start, input->len);
        input->start = 0;
        input_grow(input, input->len);
    }
}

/* --- requests --- */

static bool may_read(const struct client *client)
{
    return !client->doomed && !client->stalled && !client->session.close_after_reply;
}

/* What a waiting client sends is kept for later; that it closes must be seen. */
static bool may_run(const struct client *client)
{
    return may_read(client) && client->session.waiting == NULL && !client->is_paused;
}

static const struct bytes *borrow_argv(struct client *client, const char *input)
{
    struct clients *all = client->all;
    size_t argc = (size_t)client->reader.argc;
    if (argc > all->argv_cap) {
        all->argv = mem_realloc(all->argv, argc * sizeof(*all->argv));
        all->argv_cap = argc;
    }
    for (size_t i = 0; i < argc; i++)
        all->argv[i] =
            bytes_of(resp_reader_arg(&client->reader, input, (int)i), client->reader.args[i].len);
    return all->argv;
}

/* False: it has to wait, and stays in the input. */
static bool run_request(struct client *client, const char *input)
{
    const struct clients_wiring *w = &client->all->w;
    if (client->reader.argc == 0) return true;
    client_bound_output(client);
    if (!dispatch_request(w->dispatch, &client->session, client->reader.argc,
                          borrow_argv(client, input)))
        return false;
    client_check_output(client);
    if (client->out.len > STALL_BYTES) client->stalled = true;
    return true;
}

static void refuse(struct client *client)
{
    char line[sizeof(client->reader.error) + 8];
    int len = snprintf(line, sizeof(line), "ERR %s", client->reader.error);
    log_line(LOG_VERBOSE, "Client %s closed: %s", client_label(client).text, client->reader.error);
    resp_error(&client->session.out, line, (size_t)len);
    client->session.close_after_reply = true;
}

void client_list_to_run(struct client *client)
{
    if (client->listed_to_run) return;
    client->listed_to_run = true;
    TAILQ_INSERT_TAIL(&client->all->to_run, client, to_run);
    loop_timer_set(client->all->run_timer, 0);
}

/* Its next request is read again, from its beginning, in the next turn. */
static void come_again(struct client *client)
{
    resp_reader_drop(&client->reader);
    resp_reader_init(&client->reader);
    client_list_to_run(client);
}

/* The time is what it is when a turn's requests begin, and read anew only after slow ones. */
static int64_t tick(const struct clients *all)
{
    clock_tick(all->w.clock);
    observe_turn(all->w.dispatch->observer);
    return all->w.dispatch->observer->last_usec;
}

/* Runs what is whole, within this turn's share; returns how many bytes that took. */
static size_t run_requests(struct client *client, const char *data, size_t len)
{
    const struct conf *conf = client->all->w.conf;
    const struct dispatch *dispatch = client->all->w.dispatch;
    size_t used = 0;
    unsigned ahead = 0; /* requests that lookahead has seen */
    int64_t ticked = tick(client->all);
    for (int left = REQUESTS_PER_TURN; used < len && may_run(client); left--) {
        if (left == 0) {
            client_list_to_run(client);
            break;
        }
        if (ahead-- == 0)
            ahead = lookahead(&dispatch->store->databases[client->session.db], data + used,
                              len - used) -
                    1;
        struct resp_limits limits = { .max_bulk = conf->proto_max_bulk_len,
                                      .max_args = INT32_MAX,
                                      .max_line = MAX_LINE,
                                      .max_bulk_anon = MAX_BULK_ANON,
                                      .anonymous = !client->session.authenticated };
        enum resp_status status = resp_read(&client->reader, data + used, len - used, &limits);
        if (status == RESP_PARTIAL) break;
        if (status == RESP_MALFORMED) {
            refuse(client);
            break;
        }
        if (!run_request(client, data + used)) {
            if (dispatch->pause.kind != PAUSE_NONE)
                client_pause(client);
            else
                come_again(client);
            break;
        }
        used += client->reader.consumed;
        if (dispatch->observer->last_usec - ticked >= TICK_USEC) ticked = tick(client->all);
    }
    return used;
}

/* What MULTI has queued is unanswered input too, as in Redis. */
static void check_input(struct client *client)
{
    size_t len = client->input.len + multi_bytes(&client->session);
    if (client->reader.args_cap > KEPT_ARGS) len += mem_size(client->reader.args);
    bool over = len > (size_t)client->all->w.conf->client_query_buffer_limit ||
                (len > MAX_QUERY_ANON && !client->session.authenticated);
    if (!over || client->doomed) return;
    log_line(LOG_WARNING, "Client %s closed: %zu bytes of unanswered input, over the limit",
             client_label(client).text, len);
    client->all->w.stats->closed_query_buffer++;
    client_doom(client);
}

static void run_own_input(struct client *client)
{
    struct client_input *input = &client->input;
    if (input->len == 0) return;
    input_consume(input, run_requests(client, input->data + input->start, input->len));
}

/* ---- pauses */

/* Its next request is read again from its beginning. */
void client_pause(struct client *client)
{
    resp_reader_drop(&client->reader);
    resp_reader_init(&client->reader);
    client->is_paused = true;
    client->all->paused_count++;
    TAILQ_INSERT_TAIL(&client->all->paused, client, paused);
}

void client_end_pause(struct client *client)
{
    if (!client->is_paused) return;
    client->is_paused = false;
    client->all->paused_count--;
    TAILQ_REMOVE(&client->all->paused, client, paused);
}

/* A held clock has no end to wait for: whoever moves it makes a turn. */
static void wait_for_end_of_pause(struct clients *all)
{
    const struct clock *clock = all->w.clock;
    if (clock->stepped) return;
    msec left = all->w.dispatch->pause.until - clock_now(clock) + 1;
    loop_timer_set(all->pause_timer, (left < PAUSE_LOOK ? left : PAUSE_LOOK) * 1000);
}

void clients_look_at_pause(struct clients *all)
{
    if (all->paused_count == 0) return;
    if (pause_now(&all->w.dispatch->pause, clock_now(all->w.clock)) != PAUSE_NONE) {
        wait_for_end_of_pause(all);
        return;
    }
    struct client *client;
    while ((client = TAILQ_FIRST(&all->paused)) != NULL) {
        client_end_pause(client);
        client_list_to_run(client);
    }
}

/* What has to follow whenever requests of a client were run. */
static void settle(struct client *client)
{
    check_input(client);
    if (client->input.len == 0 && client->reader.args_cap > KEPT_ARGS) {
        resp_reader_drop(&client->reader);
        resp_reader_init(&client->reader);
    }
    if (client->session.close_after_reply || client->stalled ||
        (client->out.len > 0 && !client->write_blocked))
        client_list_to_write(client);
}

void clients_run_listed(void *ctx)
{
    struct clients *all = ctx;
    struct client *client, *last = TAILQ_LAST(&all->to_run, client_list);
    if (last == NULL) return;
    do {
        client = TAILQ_FIRST(&all->to_run);
        TAILQ_REMOVE(&all->to_run, client, to_run);
        client->listed_to_run = false;
        run_own_input(client);
        settle(client);
    } while (client != last);
}

/* --- reading --- */

/* The outcome of a read: false when it brought nothing to run. The peer's end of file still lets
 * what was run before be answered. */
static bool took(struct client *client, ssize_t got)
{
    if (got > 0) {
        client->active_usec = clock_mono_usec();
        client->all->w.stats->bytes_in += (size_t)got;
        return true;
    }
    if (got == 0) {
        waiters_forget(&client->session); /* what it would be given would be lost */
        client->session.close_after_reply = true;
        client_list_to_write(client);
    } else if (errno != EAGAIN && errno != EINTR) {
        log_line(LOG_VERBOSE, "Client %s closed: %s", client_label(client).text, strerror(errno));
        client_doom(client);
    }
    return false;
}

static void read_shared(struct client *client)
{
    char *scratch = client->all->scratch;
    ssize_t got = read(client->fd, scratch, CLIENT_SCRATCH);
    if (!took(client, got)) return;
    size_t len = (size_t)got;
    if (client->input.len > 0) {
        input_append(client, scratch, len);
        run_own_input(client);
        return;
    }
    size_t used = run_requests(client, scratch, len);
    input_append(client, scratch + used, len - used);
}

static void read_big(struct client *client, size_t wants)
{
    struct client_input *input = &client->input;
    size_t most = wants < BIG_READ ? wants : BIG_READ;
    if (!input_reserve(client, most, wants)) return;
    ssize_t got = read(client->fd, input->data + input->start + input->len, most);
    if (!took(client, got)) return;
    input->len += (size_t)got;
    run_own_input(client);
}

static void read_ready(struct client *client)
{
    /* What is there comes first; readiness stays and brings the rest in a later turn. */
    if (client->listed_to_run || !may_read(client)) return;
    size_t wants = resp_reader_wants(&client->reader, client->input.len);
    if (wants > CLIENT_SCRATCH)
        read_big(client, wants);
    else
        read_shared(client);
    settle(client);
}

void client_ready(void *ctx, unsigned what)
{
    struct client *client = ctx;
    if (what == LOOP_READ)
        read_ready(client);
    else
        client_list_to_write(client); /* not before what this turn changed is recorded */
}

/* --- writing --- */

/* The last reply is out. Closing with unread input would make the kernel reset the connection, and
 * the peer might lose that reply: say that no more comes, and take what is there. */
static void part(struct client *client)
{
    shutdown(client->fd, SHUT_WR);
    for (int i = 0; i < LAST_READS; i++)
        if (read(client->fd, client->all->scratch, CLIENT_SCRATCH) <= 0) break;
    client_doom(client);
}

static ssize_t send_some(struct client *client)
{
    struct iovec chunks[WRITE_CHUNKS];
    int count = outbuf_peek(&client->out, chunks, WRITE_CHUNKS);
    ssize_t sent = writev(client->fd, chunks, count);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    return sent;
}

static void want(struct client *client)
{
    unsigned reading = may_read(client) ? LOOP_READ : 0;
    loop_io_want(client->io, reading | (client->write_blocked ? LOOP_WRITE : 0));
}

void client_write(struct client *client)
{
    if (client->out.len > 0) {
        ssize_t sent = send_some(client);
        if (sent < 0) {
            client_doom(client);
            return;
        }
        outbuf_consume(&client->out, (size_t)sent);
        client->all->w.stats->bytes_out += (uint64_t)sent;
        if (sent > 0) client->active_usec = clock_mono_usec();
    }
    client->write_blocked = client->out.len > 0;
    if (!client->write_blocked) client->over_soft_usec = 0;
    if (!client->write_blocked && client->session.close_after_reply) {
        part(client);
        return;
    }
    if (client->stalled && client->out.len <= STALL_BYTES / 2) {
        client->stalled = false;
        if (client->input.len > 0) client_list_to_run(client);
    }
    want(client);
}
