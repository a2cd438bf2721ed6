/* link_info: see link_info.h. */
#include "server/replica/link_info.h"

#include <inttypes.h>

bool link_info_read(struct link_info *it, const struct replication *replication)
{
    struct replication_report report = replication_report(replication);
    const struct link *link = replication_link(replication);
    if (!report.follows || report.link != LINK_STREAM) return false;
    outbuf_init(&it->out);
    session_init(&it->session, &it->out);
    it->session.db = report.db;
    snprintf(it->peer, sizeof(it->peer), "%s:%" PRId64, report.host, report.port);
    it->info = (struct client_info){
        .id = report.link_id,
        .peer = it->peer,
        .local = it->local,
        .fd = link_socket(link, it->local, sizeof(it->local)),
        .age_sec = report.link_sec,
        .idle_sec = report.silent_sec,
        .is_master = true,
        .events = "r",
        .query_used = link_stream(link).len,
        .session = &it->session,
    };
    return true;
}
