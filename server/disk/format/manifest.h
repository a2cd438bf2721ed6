/* manifest: the list of the files that hold the data: a base, and the journal segments that
 * continue it. Depends on disk.h and file_kind.h.
 *
 * Layout, as in Redis 7:
 *
 *     MANIFEST_FIRST_LINE           in our manifests; a line that begins with # is a comment
 *     file NAME seq N type b ...    the base, at most one
 *     file NAME seq N type i ...    a segment; segments are in the order of growing N
 *     file NAME seq N type h ...    history: no longer needed, to be deleted
 *     file NAME seq N type h kept b ...   history that is kept: it was the base
 *     file NAME seq N type h kept i ...   history that is kept: it was a segment
 *     # crc32c xxxxxxxx             the checksum of the lines before; without it, a manifest with
 *                                   our first line is damaged
 *
 * A name with unusual characters is quoted as in redis.conf. More pairs of words may end a line;
 * readers ignore unknown pairs, as in Redis, so that later versions can add some. Our pairs reveal
 * a lost end, a file of another server or of an older backup, and a file that is missing from the
 * list. A line without them, from an earlier version or written by hand, is not checked.
 *
 *     synced N           of a segment: its first N bytes were synced, and a file without them is
 *                        damaged. N is the length of the header in a new segment's line, and the
 *                        whole length after a clean stop
 *     header xxxxxxxx    of a base: the checksum of its header
 *     id xxxxxxxx        of a segment: the ID in its first record (segment_mark.h)
 *     after xxxxxxxx     of a segment: the header or id of the file that it continues
 *     anew 1             of a base: it does not continue the segments before it in the list: the
 *                        data was replaced, or a part of the journal could not be written
 *
 * Kept files allow a start from a point in time. They are listed in the order of their data:
 *
 *     base 1, its segments, base 2, its segments, ..., current base, current segments
 *
 * The segments behind a base thus continue it, up to the next base that is marked `anew`: without
 * that mark, a later base contains the same data as the segments before it. Versions that know no
 * kept files delete them.
 *
 * Every change is written to a temporary file, synced and renamed: a crash leaves the old or the
 * new set of files, both complete. The struct equals the manifest on disk, and a change that fails
 * leaves both unchanged. There is one exception. If the last step fails, the sync of the folder,
 * the change is made although an errno is returned, and a crash may leave either set. Nothing is
 * deleted then until manifest_sync_again has repeated that sync.
 *
 * Any thread may use a manifest, because its memory comes from malloc, but only one thread at a
 * time. Changes wait for the medium.
 *
 * A rewrite calls manifest_make_segment, manifest_add_segment, journal_rotate; writes the base to
 * manifest_base_path; then calls manifest_put_base with that segment, and manifest_sweep.
 *
 * Only our own files and empty files are replaced or removed, judged by their contents
 * (file_kind.h). If a file of another program has the manifest's name, a change fails with EEXIST;
 * if it has the name of the next base or segment, a later number is used. A sweep leaves such
 * files. */
#pragma once

#include "server/disk/format/disk.h"
#include "server/disk/format/file_kind.h"
#include "store/base/instant.h"

enum manifest_type { MANIFEST_BASE = 'b', MANIFEST_SEGMENT = 'i', MANIFEST_HISTORY = 'h' };

struct manifest_file {
    char *name;
    uint64_t seq;
    enum manifest_type type;
    enum manifest_type kept; /* what kept history was before; otherwise MANIFEST_HISTORY */
    bool anew;
    uint64_t synced; /* bytes of a segment that were synced, or 0 if unknown */
    uint32_t header; /* checksum of a base's header, or 0 if unknown */
    uint32_t id;     /* the ID of a segment, or 0 if unknown */
    uint32_t after;  /* the pair `after` as it was read; each save computes it */
};

struct manifest_kept {
    size_t files;
    uint64_t bytes;
    msec since; /* when the first base that is left was made, which may be the current one; or -1 */
    msec next;  /* when the base after that one was made: files before it serve only earlier
                 * instants */
};

struct manifest {
    char *dir, *prefix;          /* appenddirname's path, appendfilename */
    struct manifest_file *files; /* the base, history, segments in order */
    size_t count;
    bool unsynced;  /* the folder's sync failed: a crash may bring the old manifest back */
    bool blank;     /* written by manifest_begin and not changed since */
    msec keep_from; /* set by the caller: the first instant to reach, or NEVER to keep no files */
    struct manifest_kept kept; /* found by the last sweep */
};

void manifest_init(struct manifest *manifest, const char *dir, const char *prefix);
void manifest_drop(struct manifest *manifest);

enum { MANIFEST_WHY_MAX = 512 };
enum manifest_found {
    MANIFEST_LOADED,
    MANIFEST_FOREIGN, /* loaded, but neither the manifest nor its files are ours: only for
                       * reading */
    MANIFEST_NONE, /* no manifest, and no data files, except those of an unfinished first start */
    MANIFEST_BAD,  /* `why` contains the error and its location */
};
/* Loads dir/prefix.manifest into a manifest that manifest_init has prepared. Changes no file. */
enum manifest_found manifest_load(struct manifest *manifest, char why[MANIFEST_WHY_MAX]);

const struct manifest_file *manifest_base(const struct manifest *manifest); /* or NULL */
uint64_t manifest_last_segment(const struct manifest *manifest);            /* its seq, or 0 */
size_t manifest_segments(const struct manifest *manifest);                  /* their number */
/* Returns the n-th file, from 0 on, in the order of the data: kept history, then the base, then its
 * segments. NULL if there are fewer files. */
const struct manifest_file *manifest_in_order(const struct manifest *manifest, size_t n);
/* Stores the file's path, which begins with manifest->dir. Returns 0 or ENAMETOOLONG. */
int manifest_file_path(const struct manifest *manifest, const struct manifest_file *file,
                       char path[DISK_PATH_MAX]);

/* Is the file at this path the base that the manifest lists, and not one of another backup?
 * Compares the checksums of the headers. Also true for files other than bases, and if the header is
 * missing or damaged, because the reader of the file reports that. */
bool manifest_is_listed_base(const struct manifest_file *file, const char *path);

/* Stores the path for the next base and its number, with which manifest_put_base lists it once the
 * caller has written it. Returns 0 or an errno. */
int manifest_base_path(const struct manifest *manifest, char path[DISK_PATH_MAX], uint64_t *seq);
/* Creates a segment with its header and syncs it: journal_create. */
typedef int manifest_create(const char *path, int *fd);
/* Creates the next segment with `create`, and stores its number and descriptor. The manifest does
 * not list it yet: manifest_add_segment, manifest_put_base or manifest_begin does. Returns 0 or an
 * errno. */
int manifest_make_segment(const struct manifest *manifest, manifest_create *create, uint64_t *seq,
                          int *fd);

/* Creates the folder if it is missing. While there is no manifest, marks the files in the folder as
 * left by an unfinished first start, so that no start mistakes them for data. */
int manifest_make_folder(const struct manifest *manifest);
/* Repeats the sync of the folder if it has failed (`unsynced`). Returns 0 once no crash can bring
 * the old manifest back; until then nothing that only the old one lists may be removed. */
int manifest_sync_again(struct manifest *manifest);

/* Returns the index of the first file that a crash may have torn, or the number of files if there
 * are no segments. A new segment receives records only once the segment before it is synced, so
 * this is the last segment with records or, if none contains any, the first segment. */
size_t manifest_first_torn(const struct manifest *manifest);

/* Records the lengths of all segments, which must be synced and closed, so that a start treats any
 * missing byte as damage. Returns 0 or an errno. */
int manifest_note_synced(struct manifest *manifest);
/* Records that a tool cut a segment to `length` on purpose: without this a start would find the
 * file damaged. No effect if a lower length is recorded already. Returns 0 or an errno. */
int manifest_lower_synced(struct manifest *manifest, const char *name, uint64_t length);

/* Adds a segment with this ID behind the last one, so that a start loads it too. Returns 0 or an
 * errno. */
int manifest_add_segment(struct manifest *manifest, uint64_t segment, uint32_t id);
/* Replaces the data with this base and the segments from `segment` on, which is added with this ID
 * if it is new. All other files become history, which is kept unless keep_from is NEVER. */
int manifest_put_base(struct manifest *manifest, uint64_t base, uint64_t segment, uint32_t id);
/* Replaces the data as manifest_put_base does, by a base that does not continue the segments so
 * far, because the data was replaced or a part of the journal was not written: marks the base
 * `anew`. */
int manifest_put_anew(struct manifest *manifest, uint64_t base, uint64_t segment, uint32_t id);
/* Lists base and segment as manifest_put_base does, for a new journal without data: sets `blank`,
 * and records it as a comment in the manifest. */
int manifest_begin(struct manifest *manifest, uint64_t base, uint64_t segment, uint32_t id);

/* Deletes files that are no longer needed: history, except kept files without which keep_from can't
 * be reached, and the remains of a crash. Such remains are temporary files, and bases and segments
 * with our names that the manifest does not list; a segment that contains records stays. Never
 * deletes files that are not ours.
 *
 * Do not call while a base is being written or a new segment is not yet added: the file would be
 * deleted. Continues after errors; returns 0 or the first errno. */
int manifest_sweep(struct manifest *manifest);
