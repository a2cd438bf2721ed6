/* syncer: a thread that syncs files, so that the loop never waits for the medium.
 * Knows descriptors and positions; refuses to know what the positions count.
 *
 * The thread does one thing at a time. An order that finds it busy waits, and a later order for the
 * same file takes its place: whatever was written before a sync begins is synced by it. It neither
 * allocates nor frees, and takes no signals. All functions are for one thread, the loop's. */
#ifndef SERVER_PERSIST_SYNCER_H
#define SERVER_PERSIST_SYNCER_H

#include <stdbool.h>
#include <stdint.h>

struct syncer;

struct syncer *syncer_new(void); /* NULL with errno */
/* The thread ends what is under way, retires what was to be retired and ends; orders not begun are
 * dropped. Its last word can still be taken. */
void syncer_stop(struct syncer *syncer);
void syncer_free(struct syncer *syncer); /* and stops, if that wasn't done */

int syncer_fd(const struct syncer *syncer); /* readable while there is something to take */

/* Everything that `fd` holds now, up to `position`, is to be synced. */
void syncer_ask(struct syncer *syncer, int fd, uint64_t position);

/* The file is done with: it is closed, and nothing more will be said of it but that, once. With
 * `sync` that is after a last sync; without, its syncs do not matter any more. False while an
 * earlier file still waits to be retired: nothing is done then. */
enum syncer_last { SYNCER_JUST_CLOSE, SYNCER_SYNC_AND_CLOSE };
bool syncer_retire(struct syncer *syncer, int fd, uint64_t position, enum syncer_last last);

struct syncer_report {
    uint64_t synced; /* up to here; 0: no word */
    bool retired;    /* the file that was to be retired is closed */
    int error;       /* of a sync. Nothing is synced until it was taken */
};
struct syncer_report syncer_take(struct syncer *syncer);

#endif
