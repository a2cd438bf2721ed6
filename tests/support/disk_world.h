/* disk_world: a temporary folder for a test, and disk calls that fail or wait on request.
 *
 * Between begin and end it also checks the order of calls: a file is renamed only after it was
 * synced, and after a rename only temporary files are removed before the folder is synced. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "server/disk/format/disk.h"

/* Makes the n-th call of some kinds fail. */
struct disk_failure {
    unsigned nth;   /* 1: the next one; 0: none fails */
    unsigned calls; /* a bit for each enum disk_call; 0: any but requests to the thread */
    int error;      /* 0: ENOSPC */
    bool forever;   /* all later ones fail too */
    size_t keep;    /* bytes that a failing write writes before it fails */
};

void disk_world_begin(void);
void disk_world_end(void); /* removes the folder and its files */

const char *disk_world_dir(void);
const char *disk_world_path(const char *name); /* valid until a few more calls */
bool disk_world_has(const char *name);
size_t disk_world_size(const char *name);
/* Returns the whole file, and its length in *len. The caller frees it. */
char *disk_world_read(const char *name, size_t *len);
void disk_world_write(const char *name, const void *data, size_t len);

void disk_world_fail(struct disk_failure failure);
bool disk_world_failed(void); /* since disk_world_fail */
void disk_world_heal(void);
unsigned disk_world_calls(enum disk_call call); /* since begin, without failed ones */

/* While `looking`, so that a test can read files: no call is counted, checked or failed. */
void disk_world_look(bool looking);

/* Makes syncs of files wait, in any thread, until disk_world_release_syncs. */
void disk_world_hold_syncs(void);
void disk_world_await_sync(void); /* waits until a sync is waiting */
void disk_world_release_syncs(void);
