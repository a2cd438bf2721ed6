/* manifest: which files are the data: a base, and the tails of journal that go on from it.
 * Knows names, numbers and the folder they are in; refuses to know what the files hold.
 *
 * Layout, Redis 7's: a line "file NAME seq N type T" each, T being b, the base (one at most); i, a
 * tail, in order of growing N; or h, history: no longer part of the data, to be deleted. A name
 * with unusual characters is quoted as in redis.conf. A line that begins with # is a comment; but
 * our manifests begin with MANIFEST_FIRST_LINE and end with "# crc32c xxxxxxxx", the sum of the
 * lines before it. Other
 * pairs of words in a line are left alone, as there: what a later version adds can be read by an
 * earlier one, if it may be ignored.
 *
 * Every change is written to a temporary, synced and renamed, so that a crash at any step leaves
 * the set of files before or after it, both whole. The struct is what the folder shows: when a
 * change fails it is as before; only when all but the last step was done, the sync of the folder,
 * it has the change and yet the answer is an errno. Both sets are good then and either may be
 * there after a crash, so nothing is deleted until that sync was made up for.
 *
 * A rewrite: manifest_make_tail, manifest_add_tail, journal_rotate; the base, by then, is written
 * to manifest_base_path; manifest_put_base with that tail; manifest_sweep.
 *
 * Only our files are replaced and removed, by what is in them (file_kind.h): a file of another
 * program under a name of ours makes a change fail with EEXIST, and a sweep leaves it. */
#ifndef SERVER_PERSIST_FORMAT_MANIFEST_H
#define SERVER_PERSIST_FORMAT_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/persist/format/disk.h"

enum manifest_type { MANIFEST_BASE = 'b', MANIFEST_TAIL = 'i', MANIFEST_HISTORY = 'h' };

#define MANIFEST_FIRST_LINE "# expired manifest 1\n"

struct manifest_file {
    char *name;
    uint64_t seq;
    enum manifest_type type;
};

struct manifest {
    char *dir, *prefix;          /* appenddirname's path, appendfilename */
    struct manifest_file *files; /* the base, history, tails in order */
    size_t count;
    bool unsynced; /* the folder may still hold the manifest before */
    bool blank;    /* made by manifest_begin, and not changed since */
};

void manifest_init(struct manifest *manifest, const char *dir, const char *prefix);
void manifest_drop(struct manifest *manifest);

enum { MANIFEST_WHY_MAX = 512 };
enum manifest_found {
    MANIFEST_LOADED,
    MANIFEST_FOREIGN, /* loaded, to be read alone: it is not ours, nor is any file that it names */
    MANIFEST_NONE,    /* and no data that it might have named: a first start */
    MANIFEST_BAD,     /* `why` says what and where */
};
enum manifest_found manifest_load(struct manifest *manifest, char why[MANIFEST_WHY_MAX]);

const struct manifest_file *manifest_base(const struct manifest *manifest); /* or NULL */
uint64_t manifest_last_tail(const struct manifest *manifest);               /* its seq, or 0 */
int manifest_file_path(const struct manifest *manifest, const struct manifest_file *file,
                       char path[DISK_PATH_MAX]);

/* Where the next base goes, and its number. */
int manifest_base_path(const struct manifest *manifest, char path[DISK_PATH_MAX], uint64_t *seq);
/* Creates the file of a tail, writes its header and syncs it: journal_create. */
typedef int manifest_create(const char *path, int *fd);
/* The next tail, created, open and synced, but nobody names it yet. */
int manifest_make_tail(const struct manifest *manifest, manifest_create *create, uint64_t *seq,
                       int *fd);

/* The folder, made if need be. While there is no manifest it says that what is found there was left
 * by a first start that did not get to its end, and is nobody's data. */
int manifest_make_folder(const struct manifest *manifest);
/* Makes up for a sync of the folder that failed. Nothing may count on a change before. */
int manifest_settle(struct manifest *manifest);

/* From now on the data end with this tail as well. */
int manifest_add_tail(struct manifest *manifest, uint64_t tail);
/* From now on the data are this base and the tails from `tail` on, which is added if it is not one
 * of them yet. The rest is history. */
int manifest_put_base(struct manifest *manifest, uint64_t base, uint64_t tail);
/* The same by a start that has found no data: a comment in the manifest says so. */
int manifest_begin(struct manifest *manifest, uint64_t base, uint64_t tail);

/* Deletes history, and what a crash left behind: temporaries, and bases and tails of our names
 * that the manifest does not have. Never a file that is not ours; not while a base is being written
 * or a new tail was not added. 0, or the first errno; the rest is done all the same. */
int manifest_sweep(struct manifest *manifest);

#endif
