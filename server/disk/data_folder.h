/* data_folder: finds the journal's folder and Redis' files in `dir`, with file_kind.h and
 * manifest.h. Only reads: it changes no file.
 *
 * The journal is in the folder appenddirname. If that folder contains a manifest of Redis, the
 * journal is in a folder of the same name with ".exp" appended, and stays there even after Redis'
 * files are removed. manifest_sweep, which deletes files, thus does not run in a folder with a
 * manifest of Redis. */
#pragma once

#include "conf/conf.h"
#include "server/disk/format/manifest.h"

/* Determines the journal's folder and loads its manifest into `manifest`, whose old contents are
 * dropped. Returns LOADED; NONE if there is no journal yet, with manifest->dir the folder for a new
 * one; or BAD with the file and the error in `why`. */
enum manifest_found data_folder_find_journal(const struct conf *conf, struct manifest *manifest,
                                             char why[MANIFEST_WHY_MAX]);
/* Prevents an empty start that would hide the user's data. Call when a start has found no data:
 * returns true, with the reason to fail in `why`, if Redis would load an append-only file with
 * these options. Returns false if there is none, or if appendonly is off. */
bool data_folder_refuse_redis(const struct conf *conf, char *why, size_t size);
/* For a start without data: if dir contains data of Redis, logs the file and how to import it. */
void data_folder_note_redis(const struct conf *conf);
/* Stores the path of the file that the option `import` names, perhaps relative to appenddirname. If
 * the option names a folder, searches the folder for a file. Returns false with the reason in `why`
 * if the folder contains neither a manifest (Redis' or ours) nor a file of Redis, or several
 * manifests, or if the name is too long. Returns true for a file that does not exist. */
bool data_folder_find_import(const struct conf *conf, char path[DISK_PATH_MAX], const char **why);
/* Loads the manifest at this path: *found and `why` are the results of manifest_load, and the
 * caller drops the manifest. Returns false, without loading anything, if the file is not named like
 * a manifest or the path is too long. */
bool data_folder_load_manifest(struct manifest *manifest, const char *path,
                               enum manifest_found *found, char why[MANIFEST_WHY_MAX]);
