/* disk_world: a folder of a test's own, and a disk that fails when it is reported to.
 * While it is begun it also watches the order of things: nothing is renamed with bytes that were
 * not synced, and nothing but a temporary is removed before the folder is. */
#ifndef TESTS_SUPPORT_DISK_WORLD_H
#define TESTS_SUPPORT_DISK_WORLD_H

#include <stdbool.h>
#include <stddef.h>

#include "server/persist/format/disk.h"

/* The n-th call of those asked for fails. */
struct disk_failure {
    unsigned nth;   /* 1 is the next; 0: none */
    unsigned calls; /* a bit for each enum disk_call; 0: any */
    int error;      /* 0: ENOSPC */
    bool forever;   /* and all after it */
    size_t keep;    /* a write that fails writes so many bytes before */
};

void disk_world_begin(void);
void disk_world_end(void); /* the folder goes, with what is in it */

const char *disk_world_dir(void);
const char *disk_world_path(const char *name); /* of the last few calls */
bool disk_world_has(const char *name);
size_t disk_world_size(const char *name);
/* The whole file; its length in *len. Of the test to free. */
char *disk_world_read(const char *name, size_t *len);
void disk_world_write(const char *name, const void *data, size_t len);

void disk_world_fail(struct disk_failure failure);
bool disk_world_failed(void); /* since then */
void disk_world_heal(void);
unsigned disk_world_calls(enum disk_call call); /* made since begin, and not failed */

/* While a test looks at the files nothing is counted and nothing fails. */
void disk_world_look(bool looking);

/* Syncs of files wait in whatever thread makes them, until released. */
void disk_world_hold_syncs(void);
void disk_world_await_sync(void); /* until one of them waits */
void disk_world_release_syncs(void);

#endif
