/* disk_world: see disk_world.h. A hook in server/disk/format/disk.c counts, checks,
 * fails and holds disk calls. */
#include "tests/support/disk_world.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATHS = 8, FILES = 64, CALLS = DISK_MAKE_DIR + 1 };

static struct {
    char dir[64];
    char paths[PATHS][DISK_PATH_MAX];
    unsigned path;

    pthread_mutex_t lock;   /* the thread that syncs makes calls too */
    pthread_cond_t changed; /* signalled when `held` or `waiting` changes */
    bool held, looking;
    unsigned waiting;

    struct disk_failure failure;
    unsigned seen; /* calls of the failure's kinds since disk_world_fail */
    bool failed;
    size_t kept; /* bytes that the failing write has written so far */
    unsigned calls[CALLS];

    ino_t dirty[FILES]; /* files that are not synced; 0: unused */
    bool renamed;       /* a file, and the folder has not been synced since */
} world;

static ino_t inode_of(const struct disk_step *step)
{
    struct stat status;
    int rc = step->fd >= 0 ? fstat(step->fd, &status) : stat(step->from, &status);
    return rc == 0 ? status.st_ino : 0;
}

static void set_dirty(ino_t inode, bool dirty)
{
    int free_at = -1;
    for (int i = 0; i < FILES; i++) {
        if (world.dirty[i] == inode) world.dirty[i] = 0;
        if (world.dirty[i] == 0) free_at = i;
    }
    ck_assert_int_ge(free_at, 0);
    if (dirty) world.dirty[free_at] = inode;
}

static bool is_dirty(ino_t inode)
{
    for (int i = 0; i < FILES; i++)
        if (inode != 0 && world.dirty[i] == inode) return true;
    return false;
}

static bool is_temporary(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strncmp(slash != NULL ? slash + 1 : path, "temp-", 5) == 0;
}

/* Checks the order of writes, syncs, renames and removals. */
static void check_order(const struct disk_step *step)
{
    switch (step->call) {
    case DISK_WRITE: set_dirty(inode_of(step), true); break;
    case DISK_SYNC: set_dirty(inode_of(step), false); break;
    case DISK_RENAME:
        ck_assert_msg(!is_dirty(inode_of(step)), "%s is not synced", step->from);
        world.renamed = true;
        break;
    case DISK_SYNC_DIR: world.renamed = false; break;
    case DISK_REMOVE:
        ck_assert_msg(!world.renamed || is_temporary(step->path), "%s goes too early", step->path);
        break;
    default: break;
    }
}

static int fail_call(struct disk_step *step)
{
    const struct disk_failure *failure = &world.failure;
    if (step->call == DISK_WRITE && failure->keep > world.kept) {
        size_t left = failure->keep - world.kept;
        if (step->len > left) step->len = left;
        world.kept += step->len;
        return 0;
    }
    world.kept = 0;
    world.failed = true;
    return failure->error != 0 ? failure->error : ENOSPC;
}

static int decide_failure(struct disk_step *step)
{
    const struct disk_failure *failure = &world.failure;
    if (failure->nth == 0) return 0;
    /* These calls change nothing else, and a thread makes them at any time. */
    unsigned hints = 1u << DISK_ALLOCATE | 1u << DISK_WRITE_BACK;
    unsigned calls = failure->calls != 0 ? failure->calls : ~hints;
    if ((calls & 1u << step->call) == 0) return 0;
    if (world.kept > 0) return fail_call(step);
    world.seen++;
    bool now = world.seen == failure->nth || (failure->forever && world.seen > failure->nth);
    return now ? fail_call(step) : 0;
}

static void wait_while_held(void)
{
    world.waiting++;
    pthread_cond_broadcast(&world.changed);
    while (world.held)
        pthread_cond_wait(&world.changed, &world.lock);
    world.waiting--;
}

static int on_disk_call(void *ctx, struct disk_step *step)
{
    (void)ctx;
    pthread_mutex_lock(&world.lock);
    if (step->call == DISK_SYNC) wait_while_held();
    int error = world.looking ? 0 : decide_failure(step);
    if (error == 0 && !world.looking) {
        world.calls[step->call]++;
        check_order(step);
    }
    pthread_mutex_unlock(&world.lock);
    return error;
}

void disk_world_begin(void)
{
    memset(&world, 0, sizeof(world));
    pthread_mutex_init(&world.lock, NULL);
    pthread_cond_init(&world.changed, NULL);
    /* Use a folder in memory if there is one, because thousands of syncs take long on a disk. */
    const char *parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(world.dir, sizeof(world.dir), "%s/expired-disk-XXXXXX", parent);
    ck_assert_ptr_nonnull(mkdtemp(world.dir));
    disk_set_hook(on_disk_call, NULL);
}

void disk_world_end(void)
{
    disk_set_hook(NULL, NULL);
    DIR *dir = opendir(world.dir);
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        const char *path = disk_world_path(entry->d_name);
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
            rmdir(path);
        else if (entry->d_type != DT_DIR)
            unlink(path);
    }
    closedir(dir);
    ck_assert_int_eq(rmdir(world.dir), 0);
}

const char *disk_world_dir(void)
{
    return world.dir;
}

const char *disk_world_path(const char *name)
{
    char *path = world.paths[world.path++ % PATHS];
    ck_assert_int_eq(disk_path(path, world.dir, name), 0);
    return path;
}

bool disk_world_has(const char *name)
{
    return access(disk_world_path(name), F_OK) == 0;
}

size_t disk_world_size(const char *name)
{
    struct stat status;
    ck_assert_int_eq(stat(disk_world_path(name), &status), 0);
    return (size_t)status.st_size;
}

char *disk_world_read(const char *name, size_t *len)
{
    FILE *from = fopen(disk_world_path(name), "re");
    ck_assert_ptr_nonnull(from);
    size_t size = disk_world_size(name);
    char *data = malloc(size + 1);
    *len = fread(data, 1, size, from);
    data[*len] = '\0';
    fclose(from);
    return data;
}

void disk_world_write(const char *name, const void *data, size_t len)
{
    /* Remove it first: ext4 flushes a file that was truncated and written again when it is
     * closed. */
    unlink(disk_world_path(name));
    FILE *to = fopen(disk_world_path(name), "we");
    ck_assert_ptr_nonnull(to);
    ck_assert_uint_eq(fwrite(data, 1, len, to), len);
    ck_assert_int_eq(fclose(to), 0);
}

void disk_world_fail(struct disk_failure failure)
{
    pthread_mutex_lock(&world.lock);
    world.failure = failure;
    world.seen = 0;
    world.failed = false;
    world.kept = 0;
    pthread_mutex_unlock(&world.lock);
}

bool disk_world_failed(void)
{
    pthread_mutex_lock(&world.lock);
    bool failed = world.failed;
    pthread_mutex_unlock(&world.lock);
    return failed;
}

void disk_world_heal(void)
{
    disk_world_fail((struct disk_failure){ 0 });
}

unsigned disk_world_calls(enum disk_call call)
{
    pthread_mutex_lock(&world.lock);
    unsigned calls = world.calls[call];
    pthread_mutex_unlock(&world.lock);
    return calls;
}

void disk_world_look(bool looking)
{
    pthread_mutex_lock(&world.lock);
    world.looking = looking;
    pthread_mutex_unlock(&world.lock);
}

void disk_world_hold_syncs(void)
{
    pthread_mutex_lock(&world.lock);
    world.held = true;
    pthread_mutex_unlock(&world.lock);
}

void disk_world_await_sync(void)
{
    pthread_mutex_lock(&world.lock);
    while (world.waiting == 0)
        pthread_cond_wait(&world.changed, &world.lock);
    pthread_mutex_unlock(&world.lock);
}

void disk_world_release_syncs(void)
{
    pthread_mutex_lock(&world.lock);
    world.held = false;
    pthread_cond_broadcast(&world.changed);
    pthread_mutex_unlock(&world.lock);
}
