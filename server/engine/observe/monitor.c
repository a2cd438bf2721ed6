/* monitor: see monitor.h. */
#include "server/engine/observe/monitor.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#include "server/cmd/call/session.h"
#include "store/mem/mem.h"

struct monitor {
    struct session **sessions;
    size_t count, cap;
};

struct monitor *monitor_new(void)
{
    return mem_zalloc(sizeof(struct monitor));
}

void monitor_free(struct monitor *monitor)
{
    mem_free(monitor->sessions);
    mem_free(monitor);
}

bool monitor_active(const struct monitor *monitor)
{
    return monitor->count > 0;
}

void monitor_add(struct monitor *monitor, struct session *session)
{
    if (session->monitoring) return;
    monitor->sessions =
        mem_grow(monitor->sessions, monitor->count, &monitor->cap, sizeof(*monitor->sessions));
    monitor->sessions[monitor->count++] = session;
    session->monitoring = true;
}

void monitor_forget(struct monitor *monitor, struct session *session)
{
    if (!session->monitoring) return;
    size_t i = 0;
    while (monitor->sessions[i] != session)
        i++;
    monitor->sessions[i] = monitor->sessions[--monitor->count];
    session->monitoring = false;
}

void monitor_send(struct monitor *monitor, const struct call *call, int64_t wall_usec,
                  const struct bytes *argv)
{
    struct outbuf line;
    char head[256], source[160];
    /* The peer of a unix socket is its path with ":0" behind it. */
    static const char port[] = ":0";
    const char *peer = call->session->peer != NULL ? call->session->peer : "";
    size_t peer_len = strlen(peer), port_len = strlen(port);
    if (call->from_script)
        snprintf(source, sizeof(source), "lua");
    else if (peer_len > port_len && strcmp(peer + peer_len - port_len, port) == 0)
        snprintf(source, sizeof(source), "unix:%.*s", (int)(peer_len - port_len), peer);
    else
        snprintf(source, sizeof(source), "%s", peer);
    int len = snprintf(head, sizeof(head), "+%" PRId64 ".%06" PRId64 " [%u %s]",
                       wall_usec / 1000000, wall_usec % 1000000, call->session->db, source);
    outbuf_init(&line);
    outbuf_append(&line, head, len < (int)sizeof(head) ? (size_t)len : sizeof(head) - 1);
    for (int i = 0; i < call->argc; i++) {
        /* In double quotes, with unprintable bytes escaped. */
        static const char escaped[] = "\\\"\n\r\t\a\b", letters[] = "\\\"nrtab";
        outbuf_append(&line, " \"", 2);
        for (size_t at = 0; at < argv[i].len; at++) {
            char c = argv[i].data[at], part[8] = { c, '\0' };
            size_t part_len = 1;
            const char *special = c != '\0' ? strchr(escaped, c) : NULL;
            if (special != NULL)
                part_len = (size_t)snprintf(part, sizeof(part), "\\%c", letters[special - escaped]);
            else if (!isprint((unsigned char)c))
                part_len = (size_t)snprintf(part, sizeof(part), "\\x%02x", (unsigned char)c);
            outbuf_append(&line, part, part_len);
        }
        outbuf_append(&line, "\"", 1);
    }
    outbuf_append(&line, "\r\n", 2);
    char *text = mem_alloc(line.len);
    outbuf_copy(&line, text);
    for (size_t i = 0; i < monitor->count; i++) {
        struct session *session = monitor->sessions[i];
        outbuf_append(session_push_out(session), text, line.len);
        session_notify(session);
    }
    mem_free(text);
    outbuf_drop(&line);
}
