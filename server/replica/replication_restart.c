/* replication_restart: the functions of replication.h that let a server continue its stream after a
 * restart. replication_position returns the position of the data, which persist stores in the
 * files. replication_stop saves the backlog at a clean stop. replication_start continues from both.
 * Depends on persist and backlog_file. */
#include <inttypes.h>
#include <stdio.h>

#include "server/base/log.h"
#include "server/disk/format/disk.h"
#include "server/disk/format/file_kind.h"
#include "server/replica/backlog_file.h"
#include "server/replica/replication_state.h"

bool replication_is_unbranched(const struct replication *r)
{
    return r->is_unshared && backlog_end(r->backlog) == r->loaded.offset;
}

const struct stream_position *replication_position(struct replication *r)
{
    /* While a transaction is open the position is unknown: the data contains its changes, but the
     * stream does not contain its text yet. */
    bool known = r->has_position && (r->active || r->follows) && !feed_pending(r->feed);
    if (!known) return NULL;
    if (replication_is_unbranched(r)) return &r->loaded;
    r->position.offset = backlog_end(r->backlog);
    r->position.db = r->follows ? follower_db(r->follower) : feed_db(r->feed);
    return &r->position;
}

static bool backlog_path(const struct replication *r, char path[DISK_PATH_MAX])
{
    return snprintf(path, DISK_PATH_MAX, "%s.backlog", r->w.conf->dbfilename) < DISK_PATH_MAX;
}

void replication_start(struct replication *r)
{
    char host[MASTER_HOST_MAX];
    int64_t port;
    bool follows = sscanf(r->w.conf->replicaof, "%255s %" SCNd64, host, &port) == 2;
    const struct persist *persist = r->w.engine->persist;
    const struct stream_position *position =
        persist != NULL ? persist_loaded_position(persist) : NULL;
    char path[DISK_PATH_MAX];
    bool has_path = backlog_path(r, path);
    if (position != NULL) {
        r->position = r->loaded = *position;
        r->has_position = r->active = true;
        backlog_restart(r->backlog, position->offset);
        if (has_path) (void)backlog_file_read(path, position, r->backlog);
        log_line(LOG_NOTICE,
                 "The data is that of the stream %s up to offset %" PRIu64
                 ", the backlog has %" PRIu64 " bytes",
                 position->history.id, position->offset,
                 position->offset - backlog_begin(r->backlog));
    }
    if (has_path) backlog_file_remove(path);

    /* Continue under a new id: replicas may have received more of the old stream than the files
     * contain, and one that has become a master may have continued it differently. Replicas that
     * have received no more than the files contain can continue under the new id. */
    if (position != NULL && !follows) {
        history_branch(&r->position.history, r->position.offset);
        r->is_unshared = true;
        if (r->position.effects_from > r->position.offset)
            r->position.effects_from = r->position.offset;
        replicas_close_all(r->replicas, "this server has started"); /* repl-backlog-ttl begins */
    }

    if (follows) replication_follow(r, host, port);
    if (follows && position != NULL) follower_begin(r->follower, FOLLOW_COMMANDS, position->db);
    replication_update_role(r);
}

void replication_stop(struct replication *r)
{
    char path[DISK_PATH_MAX];
    const struct stream_position *position = replication_position(r);
    bool keeps_data = replication_has_journal(r) || r->w.conf->save[0] != '\0';
    bool is_empty = backlog_begin(r->backlog) == backlog_end(r->backlog);
    if (position == NULL || is_empty || !keeps_data || !backlog_path(r, path)) return;
    int error = backlog_file_write(path, position, r->backlog);
    if (error != 0)
        log_line(LOG_WARNING,
                 "Can't keep the backlog in %s/%s: %s. Replicas that have not received all of it "
                 "will get full copies%s",
                 r->w.conf->dir, path, file_error_text(error), file_error_advice(error));
}
