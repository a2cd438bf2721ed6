/* client_io: reads input and writes replies. Depends on transport and buffers; client_run.c parses
 * and runs the input.
 *
 * Most reads bring complete requests. They stay in a buffer that all connections share until they
 * run; only an incomplete request is copied into the connection's own buffer. So an idle connection
 * has no input buffer, and most requests are never copied. A big argument first arrives in the
 * connection's buffer, which grows with the bytes received, because anybody can announce a large
 * length. Once a megabyte has arrived, the argument gets a block of the announced length, and the
 * rest is read into it. */
#include "server/net/client_state.h"

#include <errno.h>
#include <string.h>

#include "server/base/log.h"
#include "store/mem/blob.h"
#include "store/mem/mem.h"

enum {
    BIG_READ = 256 * 1024,    /* bytes of a big argument per turn */
    WRITE_CHUNKS = 64,        /* iovecs per writev */
    WRITE_MOST = 1 << 20,     /* bytes per write, so that a fast reader can't make it last long */
    TRUSTED_AFTER = BLOB_BIG, /* bytes that must arrive before the announced length is allocated */
    SMALL_INPUT = 64 * 1024,  /* a buffer up to this size is not shrunk */
};

/* --- the connection's own input --- */

static bool input_grow(struct client_input *input, size_t cap)
{
    char *grown = mem_try_realloc(input->data, cap);
    if (grown == NULL) return false;
    input->data = grown;
    input->cap = cap;
    return true;
}

/* The new size of a buffer that must hold `needed` bytes when `ahead` more bytes are expected. It
 * doubles as bytes arrive, whatever length was announced. Above some size it grows to the expected
 * length at once, because copying that much again and again would delay other clients. */
static size_t input_size(const struct client_input *input, size_t needed, size_t ahead)
{
    size_t twice = 2 * input->cap > 256 ? 2 * input->cap : 256, whole = input->len + ahead;
    if (whole > needed && (twice > whole || input->len >= TRUSTED_AFTER)) twice = whole;
    return twice > needed ? twice : needed;
}

static void close_for_memory(struct client *client, size_t needed)
{
    log_line(LOG_WARNING,
             "Client %s closed: out of memory for %zu bytes of input. Set maxmemory and "
             "client-query-buffer-limit to less than this machine has",
             label_of(&client->session).text, needed);
    client_doom(client);
}

/* Makes room for `room` bytes at the end, or for more if `ahead` bytes are expected. False: out of
 * memory; the client is doomed. */
static bool input_reserve(struct client *client, size_t room, size_t ahead)
{
    struct client_input *input = &client->input;
    if (input->cap - input->start - input->len >= room) return true;
    if (input->start > 0) memmove(input->data, input->data + input->start, input->len);
    input->start = 0;
    if (input->cap - input->len >= room) return true;
    size_t needed = input->len + room;
    if (input_grow(input, input_size(input, needed, ahead))) {
        limits_count(&client->limits);
        return true;
    }
    close_for_memory(client, needed);
    return false;
}

void client_keep_input(struct client *client, const char *data, size_t len)
{
    if (len == 0 || !input_reserve(client, len, len)) return;
    struct client_input *input = &client->input;
    memcpy(input->data + input->start + input->len, data, len);
    input->len += len;
}

static void drop_big(struct client_input *input)
{
    blob_free(input->big);
    input->big = NULL;
    input->big_len = 0;
}

void client_drop_input(struct client *client, size_t used)
{
    struct client_input *input = &client->input;
    if (used == 0) return;
    drop_big(input); /* it belongs to the first request */
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

size_t client_input_bytes(const struct client *client)
{
    return client->input.len + client->input.big_len;
}

/* --- a big argument --- */

/* Moves the argument being read into its own block once enough of it has arrived. */
static void lift_big(struct client *client, size_t wants)
{
    struct client_input *input = &client->input;
    const struct resp_reader *reader = &client->reader;
    if (input->big != NULL || input->len - reader->parsed < TRUSTED_AFTER) return;
    size_t most = input->len - reader->parsed + wants;
    input->big = blob_try_new(most - 2); /* without the line end */
    if (input->big == NULL) {
        close_for_memory(client, most);
        return;
    }
    struct resp_lifted lifted = resp_reader_lift(&client->reader);
    input->big_at = lifted.offset;
    input->big_arg = lifted.arg;
    input->big_len = input->len - lifted.offset;
    memcpy(input->big->data, input->data + input->start + lifted.offset, input->big_len);
    input->len = lifted.offset;
    limits_count(&client->limits);
}

void client_join_input(struct client *client)
{
    struct client_input *input = &client->input;
    if (input->big == NULL) return;
    if (input_reserve(client, input->big_len, input->big_len)) {
        char *at = input->data + input->start + input->big_at;
        memmove(at + input->big_len, at, input->len - input->big_at);
        memcpy(at, input->big->data, input->big_len);
        input->len += input->big_len;
    }
    drop_big(input);
}

/* --- reading --- */

/* Asks the transport for input if the client may be read, and for room if it has more to send. */
static void want(struct client *client, bool room)
{
    transport_want(&client->transport, client_may_read(client), room, client_is_anon(client));
}

void client_ignore_room(struct client *client)
{
    if (transport_waits_for_room(&client->transport)) want(client, false);
}

/* Handles the result of a read. False: nothing to run. Requests that arrived before the end of file
 * are still answered. */
static bool check_received(struct client *client, ssize_t got)
{
    client->all->w.stats->reads++;
    if (got > 0) {
        client->active_usec = client->all->turn_usec;
        client->all->w.stats->bytes_in += (size_t)got;
        return true;
    }
    if (got == 0) {
        session_close(&client->session); /* a waiting client could not get its reply */
        /* Stop polling: the socket stays readable at end of file. */
        want(client, transport_waits_for_room(&client->transport));
        client_list_to_write(client);
    } else if (errno != EAGAIN && errno != EINTR) {
        const char *why = strerror(errno);
        client_lost(client, bytes_of(why, strlen(why)));
    }
    return false;
}

static bool has_shared_room(const struct clients *all)
{
    return all->scratch_used + CLIENT_READ <= CLIENT_SCRATCH;
}

/* Closes a client that begins a TLS handshake on a port without TLS. True if it did. */
static bool refuse_tls(struct client *client, const char *data, size_t len)
{
    bool is_first = client->session.last_command == NULL && client->input.len == 0;
    if (!is_first || transport_is_encrypted(&client->transport) || len < 3 || data[1] != 3)
        return false;
    client_refuse(client, LIT("it speaks TLS, but this port does not. TLS needs tls-port"));
    return true;
}

/* Reads into the turn's buffer, behind the bytes whose requests have not run. If the buffer is
 * full, the client is read at the end of the turn, after these have run. They can't run now: a
 * script may need turns of the loop, so no request runs inside a callback of the loop. */
static void read_shared(struct client *client)
{
    struct clients *all = client->all;
    if (!has_shared_room(all)) {
        if (client->input_place == INPUT_AT_REST) client_place_input(client, INPUT_TO_READ);
        return;
    }
    char *room = all->scratch + all->scratch_used;
    ssize_t got =
        transport_read(&client->transport, room, client_is_anon(client) ? ANON_READ : CLIENT_READ);
    if (!check_received(client, got)) return;
    if (room[0] == TLS_FIRST_BYTE && refuse_tls(client, room, (size_t)got)) return;
    /* The buffer is emptied only when requests in it have run. */
    bool waits = client->session.state == SESSION_WAITING;
    if (client->input.len > 0 || waits) {
        client_keep_input(client, room, (size_t)got);
        client_arrived(client, NULL, 0);
    } else {
        all->scratch_used += (size_t)got;
        client_arrived(client, room, (size_t)got);
    }
}

static size_t big_wants(const struct client_input *input)
{
    return input->big != NULL ? input->big->len - input->big_len : 0;
}

/* Reads into the big argument; nothing can run before that is complete. */
static void read_lifted(struct client *client)
{
    struct client_input *input = &client->input;
    size_t wants = big_wants(input);
    ssize_t got = transport_read(&client->transport, input->big->data + input->big_len,
                                 wants < BIG_READ ? wants : BIG_READ);
    if (!check_received(client, got)) return;
    input->big_len += (size_t)got;
    client_check_input(client);
}

static void read_big(struct client *client, size_t wants)
{
    struct client_input *input = &client->input;
    lift_big(client, wants);
    if (client_is_doomed(client)) return;
    if (big_wants(input) > 0) {
        read_lifted(client);
        return;
    }
    size_t most = wants < BIG_READ ? wants : BIG_READ;
    if (!input_reserve(client, most, wants)) return;
    ssize_t got = transport_read(&client->transport, input->data + input->start + input->len, most);
    if (!check_received(client, got)) return;
    input->len += (size_t)got;
    client_arrived(client, NULL, 0);
}

void client_read(struct client *client)
{
    /* If bytes of the client wait to run, they come first. The socket stays readable, so the rest
     * is read in a later turn. */
    bool later = client->input_place >= INPUT_TO_RUN || !client_may_read(client);
    size_t wants = later ? 0 : resp_reader_wants(&client->reader, client->input.len);
    if (!later && big_wants(&client->input) > 0)
        read_lifted(client);
    else if (wants > CLIENT_READ)
        read_big(client, wants);
    else if (!later)
        read_shared(client);
    transport_read_on(&client->transport);
}

bool clients_read_more(struct clients *all)
{
    struct client *client;
    bool any = !TAILQ_EMPTY(&all->input[INPUT_TO_READ]);
    while (has_shared_room(all) && (client = TAILQ_FIRST(&all->input[INPUT_TO_READ])) != NULL) {
        client_place_input(client, INPUT_AT_REST);
        client_read(client);
    }
    return any;
}

/* --- writing --- */

static ssize_t send_chunks(struct client *client, const struct iovec *chunks, int count)
{
    ssize_t sent = transport_write(&client->transport, chunks, count);
    client->all->w.stats->writes++;
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (sent < 0) {
        client_doom(client);
        return -1;
    }
    if (sent > 0) client->active_usec = client->all->turn_usec;
    return sent;
}

/* Sends at most WRITE_MOST bytes. False: the connection is broken. */
static bool send_replies(struct client *client)
{
    struct iovec chunks[WRITE_CHUNKS];
    if (client->out.len > client->out_peak) client->out_peak = client->out.len;
    int count = outbuf_peek(&client->out, chunks, WRITE_CHUNKS), used = 0;
    for (size_t left = WRITE_MOST; used < count && left > 0; used++) {
        if (chunks[used].iov_len > left) chunks[used].iov_len = left;
        left -= chunks[used].iov_len;
    }
    ssize_t sent = send_chunks(client, chunks, used);
    if (sent < 0) return false;
    client->all->w.stats->bytes_out += (uint64_t)sent;
    if (sent > 0) outbuf_consume(&client->out, (size_t)sent);
    return true;
}

/* Sends bytes of the source, once per turn. False: the connection is broken. */
static bool send_from_source(struct client *client)
{
    struct iovec chunks[WRITE_CHUNKS];
    const struct client_source *source = client->source;
    int count = source->peek(source->ctx, chunks, WRITE_CHUNKS);
    if (count == 0) return true;
    ssize_t sent = send_chunks(client, chunks, count);
    if (sent < 0) return false;
    client->all->w.stats->repl_bytes_out += (uint64_t)sent;
    if (sent > 0) source->sent(source->ctx, (size_t)sent);
    return true;
}

void client_write(struct client *client)
{
    if (client->out.len > 0 && !send_replies(client)) return;
    if (client->out.len == 0 && client->source != NULL && !send_from_source(client)) return;
    struct iovec chunk;
    const struct client_source *source = client->source;
    bool blocked =
        client->out.len > 0 || (source != NULL && source->peek(source->ctx, &chunk, 1) > 0);
    /* Ask even if it is blocked: a thread that took all it was offered reports room only then. */
    if (blocked || client->session.state == SESSION_CLOSING)
        blocked |= !transport_is_flushed(&client->transport);
    if (!limits_note_sent(&client->limits, blocked)) return;
    if (!blocked && client->session.state == SESSION_CLOSING) {
        transport_finish(&client->transport);
        client_doom(client);
        return;
    }
    if (client->session.waits_for == WAIT_OUTPUT && limits_may_resume(&client->limits)) {
        session_end_wait(&client->session);
        if (client->input.len > 0) client_list_to_run(client);
        transport_read_on(&client->transport);
    }
    want(client, blocked);
}
