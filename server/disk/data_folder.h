/* data_folder: finds the journal, and Redis' files in `dir`, with file_kind.h and manifest.h. Opens
 * and changes nothing.
 *
 * The journal is in the folder appenddirname. If that contains a manifest of Redis, the journal is
 * in the folder of that name with BESIDE appended, and stays there even after Redis' files are
 * removed. This ensures that manifest_sweep never runs in a folder with files of Redis. */
#ifndef SERVER_DISK_DATA_FOLDER_H
#define SERVER_DISK_DATA_FOLDER_H

#include "conf/conf.h"
#include "server/disk/format/manifest.h"

/* Initializes the manifest for the journal's folder, drops the files that it listed, and loads it.
 * Returns LOADED, NONE, or BAD with `why`, which names the file. */
enum manifest_found data_folder_find_journal(const struct conf *conf, struct manifest *manifest,
                                             char why[MANIFEST_WHY_MAX]);
/* Call when there is no data: returns true, with `why`, if an append-only file of Redis lies where
 * the journal would be created. */
bool data_folder_refuse_redis(const struct conf *conf, char *why, size_t size);
/* Call when there is no data: logs which files of Redis are in dir, and how to import them. */
void data_folder_note_redis(const struct conf *conf);
/* Finds the file to import: `path` itself, or a file in the folder that it names. On failure,
 * returns false with the reason in `why`. */
bool data_folder_find_import(const struct conf *conf, char path[DISK_PATH_MAX], const char **why);
/* Loads the manifest at this path; the caller drops it. Returns false if the file is not named like
 * a manifest. */
bool data_folder_load_manifest(struct manifest *manifest, const char *path,
                               enum manifest_found *found, char why[MANIFEST_WHY_MAX]);

#endif
