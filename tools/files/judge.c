/* judge: see judge.h. */
#include "tools/files/judge.h"

#include <stdio.h>
#include <sys/stat.h>

#include "server/disk/format/base.h"
#include "store/mem/mem.h"

static void set_verdict(struct judgement *found, enum verdict verdict, uint64_t bad,
                        const char *reason)
{
    found->verdict = verdict;
    found->bad = bad;
    snprintf(found->reason, sizeof(found->reason), "%s", reason);
}

static void judge_journal(const struct data_file *data, struct store *store, msec now,
                          const struct journal_end *before, struct judgement *found)
{
    int fd, error = disk_open_to_read(data->path, &fd);
    if (error != 0) {
        set_verdict(found, UNREADABLE, 0, strerror(error));
        return;
    }
    struct replay *replay = mem_alloc(sizeof(*replay));
    replay_init(replay, store, now);
    replay->synced = data->synced;
    replay->before = *before;
    replay->listed = data->id;
    replay_records(replay, fd, NULL, &found->journal);
    found->commands = replay->commands;
    found->effects = replay->effects;
    replay_drop(replay);
    mem_free(replay);
    disk_close(fd);
    const struct replay_file *file = &found->journal;
    switch (file->end) {
    case REPLAY_WHOLE:
    case REPLAY_STOPPED: break;
    case REPLAY_UNREADABLE: set_verdict(found, UNREADABLE, file->bad, file->reason); break;
    case REPLAY_DAMAGED: set_verdict(found, DAMAGED, file->bad, file->reason); break;
    case REPLAY_TORN:
        set_verdict(found, TORN, file->bad, file->reason);
        if (!data->is_last)
            set_verdict(found, DAMAGED, file->bad,
                        "record has no end, but another file continues the journal");
        break;
    }
    struct journal_end end = { file->good, file->sum, file->id };
    if (found->verdict <= TORN) found->end = journal_end_to_follow(&end, before);
}

static void judge_snapshot(const struct data_file *data, struct store *store, msec now,
                           struct judgement *found)
{
    struct snapshot_fault fault;
    struct snapshot_reader *reader = snapshot_open(data->path, &fault);
    if (reader == NULL) {
        set_verdict(found, fault.error != 0 ? UNREADABLE : DAMAGED, fault.offset, fault.reason);
        return;
    }
    found->info = *snapshot_info(reader);
    snapshot_close(reader);
    if (data->is_other) {
        set_verdict(found, DAMAGED, 0, "not the file that the manifest lists");
        return;
    }
    struct base_load load = { 0 };
    if (!base_load(store, data->path, now, &load)) {
        const char *reason = strstr(load.why, ": "); /* after the offset */
        set_verdict(found, load.unreadable ? UNREADABLE : DAMAGED, load.bad,
                    reason != NULL ? reason + 2 : load.why);
    }
    found->commands = load.commands;
    found->effects = load.effects;
}

void judge_file(const struct data_file *file, struct store *store, msec now,
                const struct journal_end *before, struct judgement *found)
{
    struct stat status;
    *found = (struct judgement){ .verdict = WHOLE };
    if (stat(file->path, &status) == 0) found->size = (uint64_t)status.st_size;
    switch (file->kind) {
    case DATA_SNAPSHOT: judge_snapshot(file, store, now, found); break;
    case DATA_JOURNAL: judge_journal(file, store, now, before, found); break;
    case DATA_UNREADABLE: set_verdict(found, UNREADABLE, 0, file->why); break;
    case DATA_UNKNOWN:
        set_verdict(found, file->is_named ? DAMAGED : UNREADABLE, 0,
                    file_kind(file->path) == FILE_OTHER_JOURNAL
                        ? "a journal of another version, or with a damaged first line"
                        : "not a data file of expired or Redis");
        break;
    case DATA_MANIFEST:
        if (file->why != NULL) set_verdict(found, DAMAGED, 0, file->why);
        break;
    case DATA_RDB:
    case DATA_AOF: break;
    }
}
