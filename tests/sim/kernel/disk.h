/* disk: files below the nodes' folders. The files are real ones; this keeps what is needed to undo
 * each change that no sync has made safe, and undoes some of them when a node loses power:
 *
 * - each sector of 512 bytes that was written since the last sync has its new bytes or any older
 *   ones; a file has its new length or an older one;
 * - names that were made, changed or removed since the folder's last sync are there up to some
 *   point of time;
 * - what was written before a sync that failed may be lost whatever later syncs return. */
#pragma once

#include "tests/sim/kernel/kernel.h"

/* Returns the tracked file behind a descriptor, or NONE. */
int disk_file_of(int fd);
/* Returns the node whose folder contains the path, or NONE. `absolute` gets the whole path. */
int disk_node_of(const char *path, char absolute[PATH_SIZE]);

/* Before a write, a change of length, and the change of a name. */
void disk_note_write(int file, int fd, uint64_t at, uint64_t len);
void disk_note_length(int file, int fd, uint64_t len);
void disk_note_created(int node, const char *path); /* after it was made */
void disk_note_folder(int node, const char *path);
void disk_before_rename(int node, const char *from, const char *to);
void disk_before_remove(int node, const char *path);
void disk_track(int node, const char *path, int fd);

/* The changes made before `number` are safe, or, after a failed sync, will never be. */
void disk_synced(int file, uint64_t number);
void disk_sync_failed(int file, uint64_t number);
void disk_folder_synced(int node, const char *path, uint64_t number);

/* Undoes changes: a sector and a length each with a chance of `chance` in 2^16. */
void disk_lose_power(int node, uint32_t chance);
