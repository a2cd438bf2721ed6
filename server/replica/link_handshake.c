/* link_handshake: the handshake of a replica with its master, before the full copy or the stream. A
 * list of steps, each a request and a function that handles the reply. See link.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/log.h"
#include "server/replica/link_state.h"

/* The version that this replica claims to have (REPLCONF version), so that Valkey sends RDB 80, the
 * newest format that proto/rdb reads. Valkey 9 copies its data in the newest format that a replica
 * of the stated version reads. Without a version it uses RDB 11, which can't hold hashes whose
 * fields have deadlines, and aborts the copy. Redis refuses the option. */
#define VALKEY_VERSION "9.1.0"

static void next_step(struct link *link)
{
    const struct conf *conf = link->w.conf;
    link->step++;
    if (link->step == STEP_AUTH && conf->masterauth[0] == '\0') link->step++;
    if (link->step == STEP_ADDRESS && conf->replica_announce_ip[0] == '\0') link->step++;
    if (link->step == STEP_VERSION && link->effects_from != LINK_NO_EFFECTS) link->step++;
    link_ask(link);
}

void link_ask(struct link *link)
{
    static const char *const greeting[] = { "PING", NULL };
    static const char *const abilities[] = { "REPLCONF", "capa", "eof", "capa", "psync2", NULL };
    static const char *const ours[] = { "REPLCONF", "capa", "expired", NULL };
    static const char *const version[] = { "REPLCONF", "version", VALKEY_VERSION, NULL };
    const struct conf *conf = link->w.conf;
    switch (link->step) {
    case STEP_PING: link_send_words(link, greeting); break;
    case STEP_AUTH: {
        const char *user = conf->masteruser[0] != '\0' ? conf->masteruser : NULL;
        const char *words[] = { "AUTH", user != NULL ? user : conf->masterauth,
                                user != NULL ? conf->masterauth : NULL, NULL };
        link_send_words(link, words);
        break;
    }
    case STEP_PORT: {
        char port[24];
        int64_t own = conf->tls_replication && conf->tls_port > 0 ? conf->tls_port : conf->port;
        if (conf->replica_announce_port > 0) own = conf->replica_announce_port;
        snprintf(port, sizeof(port), "%" PRId64, own);
        const char *words[] = { "REPLCONF", "listening-port", port, NULL };
        link_send_words(link, words);
        break;
    }
    case STEP_ADDRESS: {
        const char *words[] = { "REPLCONF", "ip-address", conf->replica_announce_ip, NULL };
        link_send_words(link, words);
        break;
    }
    case STEP_ABILITIES: link_send_words(link, abilities); break;
    case STEP_OURS: link_send_words(link, ours); break;
    case STEP_VERSION: link_send_words(link, version); break;
    case STEP_PSYNC: {
        const char *id = "?";
        char offset[24] = "-1";
        uint64_t from;
        link->has_asked = link->w.position(link->w.ctx, &id, &from);
        if (link->has_asked) snprintf(offset, sizeof(offset), "%" PRIu64, from);
        const char *words[] = { "PSYNC", id, offset, link->asks_failover ? "FAILOVER" : NULL,
                                NULL };
        link_send_words(link, words);
        break;
    }
    default: break;
    }
}

static bool begins_with(const char *line, const char *word)
{
    return strncmp(line, word, strlen(word)) == 0;
}

static void answer_psync(struct link *link, const char *line)
{
    if (line[0] == '\0') return; /* sent to keep the link alive */
    if (begins_with(line, "+FULLRESYNC")) {
        int64_t offset = 0;
        link->copy = (struct link_copy){ .length = 0 };
        if (sscanf(line, "+FULLRESYNC %40[0-9a-fA-F] %" SCNd64, link->copy.id, &offset) != 2 ||
            strlen(link->copy.id) != HISTORY_ID || offset < 0 ||
            (uint64_t)offset >= STREAM_OFFSET_MAX) {
            link_fail(link, "answered PSYNC with '%s'", line);
        } else {
            link->copy.offset =
                (uint64_t)offset + 1; /* the reply has the offset of the last byte */
            link->step = STEP_COPY_HEAD;
        }
    } else if (begins_with(line, "+CONTINUE") && !link->has_asked) {
        link_fail(link, "continues a stream that was not requested ('%s')", line);
    } else if (begins_with(line, "+CONTINUE")) {
        char id[HISTORY_ID + 1] = "";
        (void)sscanf(line, "+CONTINUE %40[0-9a-fA-F]", id);
        link->state = LINK_STREAM;
        link->down_usec = -1;
        log_line(LOG_NOTICE, "Master %s: continues the stream", link->name);
        link->w.continues(link->w.ctx, strlen(id) == HISTORY_ID ? id : NULL);
    } else {
        link_fail(link, "answered PSYNC with '%s'. Trying again", line);
    }
    link->w.answered(link->w.ctx, link->state != LINK_DOWN);
}

static void answer_copy_head(struct link *link, const char *line)
{
    char *end;
    if (line[0] == '\0') return;
    if (line[0] == '-') {
        link_fail(link, "can't make a full copy: %s", line + 1);
        return;
    }
    link->has_mark = begins_with(line, "$EOF:");
    if (link->has_mark && strlen(line) == strlen("$EOF:") + MARK) {
        memcpy(link->mark, line + strlen("$EOF:"), MARK + 1);
    } else {
        errno = 0;
        long long length = strtoll(line + 1, &end, 10);
        if (line[0] != '$' || end == line + 1 || *end != '\0' || errno != 0 || link->has_mark ||
            length <= 0) {
            link_fail(link, "announced a copy with '%s'", line);
            return;
        }
        link->copy.length = (uint64_t)length;
    }
    link->copy_read = 0;
    link->copy.received = link->len;
    link->state = LINK_COPY;
    log_line(LOG_NOTICE, "Master %s: full copy begins", link->name);
}

void link_answer(struct link *link, const char *line)
{
    static const char ours[] = "+OK expired";
    switch (link->step) {
    case STEP_PING:
        /* A master that needs a password refuses PING; the password follows. */
        if (line[0] == '+' || begins_with(line, "-NOAUTH") || begins_with(line, "-NOPERM") ||
            begins_with(line, "-ERR operation not permitted"))
            next_step(link);
        else
            link_fail(link, "answered PING with '%s'", line);
        break;
    case STEP_PSYNC: answer_psync(link, line); break;
    case STEP_COPY_HEAD: answer_copy_head(link, line); break;
    case STEP_AUTH:
        if (line[0] == '-')
            link_fail(link, "refused masterauth: %s", line + 1);
        else
            next_step(link);
        break;
    case STEP_OURS:
        /* A server like this one replies "OK expired", or "OK expired <offset>" if effects begin at
         * that offset. Redis replies OK to any option; a server like this one that passes on the
         * stream of a Redis does the same. */
        link->effects_from = LINK_NO_EFFECTS;
        if (begins_with(line, ours)) {
            link->effects_from = 0;
            (void)sscanf(line + strlen(ours), " %" SCNu64, &link->effects_from);
        }
        next_step(link);
        break;
    default: next_step(link); break; /* ignore errors: masters may not know these options */
    }
}
