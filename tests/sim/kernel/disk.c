/* disk: see disk.h. */
#include "tests/sim/kernel/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct file *file_at(int number)
{
    return &kernel->files[number];
}

static void copy_path(char to[PATH_SIZE], const char *from)
{
    if (strlen(from) >= PATH_SIZE) abort();
    strcpy(to, from);
}

int disk_node_of(const char *path, char absolute[PATH_SIZE])
{
    char whole[2 * PATH_SIZE];
    if (path[0] == '/') {
        if (strlen(path) >= PATH_SIZE) return NONE;
        strcpy(whole, path);
    } else {
        char folder[PATH_SIZE];
        if (getcwd(folder, sizeof(folder)) == NULL || strlen(path) >= PATH_SIZE) return NONE;
        snprintf(whole, sizeof(whole), "%s/%s", folder, strcmp(path, ".") == 0 ? "" : path);
    }
    size_t len = strlen(whole);
    while (len > 1 && whole[len - 1] == '/')
        whole[--len] = '\0';
    for (int i = 1; i < NODES_MAX; i++) {
        const struct node *node = &kernel->nodes[i];
        size_t own = strlen(node->dir);
        if (!node->exists || strncmp(whole, node->dir, own) != 0 ||
            (whole[own] != '/' && whole[own] != '\0') || len >= PATH_SIZE)
            continue;
        strcpy(absolute, whole);
        return i;
    }
    return NONE;
}

/* ---- files ----------------------------------------------------------------------------------- */

static int find_file(uint64_t inode)
{
    for (int i = 0; i < FILES_MAX; i++)
        if (file_at(i)->inode == inode) return i;
    return NONE;
}

int disk_file_of(int fd)
{
    struct stat stat;
    return fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) ? find_file(stat.st_ino) : NONE;
}

void disk_track(int node, const char *path, int fd)
{
    struct stat stat;
    if (fstat(fd, &stat) != 0 || !S_ISREG(stat.st_mode) || find_file(stat.st_ino) != NONE) return;
    int room = find_file(0);
    if (room == NONE) abort();
    file_at(room)->inode = stat.st_ino;
    file_at(room)->node = node;
    copy_path(file_at(room)->path, path);
}

static int file_by_path(const char *path)
{
    for (int i = 0; i < FILES_MAX; i++)
        if (file_at(i)->inode != 0 && strcmp(file_at(i)->path, path) == 0) return i;
    return NONE;
}

/* Keeps the changes for which this is true of `keep`. */
static void keep_writes(bool (*keep)(const struct write *write, int file, uint64_t number),
                        int file, uint64_t number)
{
    int kept = 0;
    for (int i = 0; i < kernel->write_count; i++)
        if (keep(&kernel->writes[i], file, number)) kernel->writes[kept++] = kernel->writes[i];
    kernel->write_count = kept;
    if (kept == 0) kernel->saved_used = 0;
}

static bool is_not_of(const struct write *write, int file, uint64_t number)
{
    (void)number;
    return write->file != file;
}

static bool is_unsynced(const struct write *write, int file, uint64_t number)
{
    return write->file != file || write->number >= number || write->lost;
}

static void forget_file(int number)
{
    if (number == NONE) return;
    keep_writes(is_not_of, number, 0);
    file_at(number)->inode = 0;
}

void disk_synced(int file, uint64_t number)
{
    keep_writes(is_unsynced, file, number);
}

void disk_sync_failed(int file, uint64_t number)
{
    for (int i = 0; i < kernel->write_count; i++)
        if (kernel->writes[i].file == file && kernel->writes[i].number < number)
            kernel->writes[i].lost = true;
}

static bool is_never(const struct write *write, int file, uint64_t number)
{
    (void)write;
    (void)file;
    (void)number;
    return false;
}

static struct write *add_write(int file, enum change_kind kind)
{
    /* So much unsynced data is written back by the kernel on its own. */
    if (kernel->write_count == WRITES_MAX) keep_writes(is_never, 0, 0);
    struct write *write = &kernel->writes[kernel->write_count++];
    *write = (struct write){
        .kind = kind, .file = file, .number = kernel->next_write++, .saved = kernel->saved_used
    };
    return write;
}

static void save(struct write *write, int fd, uint64_t at, uint64_t len)
{
    if (len > SAVED_BYTES) abort();
    if (kernel->saved_used + len > SAVED_BYTES) {
        struct write last = *write;
        keep_writes(is_never, 0, 0);
        kernel->write_count = 1;
        kernel->writes[0] = last;
        write = &kernel->writes[0];
        write->saved = 0;
    }
    ssize_t got = pread(fd, kernel->saved_bytes + write->saved, len, (off_t)at);
    write->saved_len = got > 0 ? (uint64_t)got : 0;
    kernel->saved_used = write->saved + write->saved_len;
}

/* Opens a file anew, because the daemon's descriptor may be for writing only. */
static int open_to_read(int file)
{
    return REAL(open)(file_at(file)->path, O_RDONLY | O_CLOEXEC);
}

void disk_note_write(int file, int fd, uint64_t at, uint64_t len)
{
    struct stat stat;
    if (fstat(fd, &stat) != 0) return;
    struct write *write = add_write(file, CHANGE_WRITE);
    write->at = at;
    write->len = len;
    write->old_len = (uint64_t)stat.st_size;
    if (at >= write->old_len) return;
    int own = open_to_read(file);
    if (own < 0) return;
    save(write, own, at, len < write->old_len - at ? len : write->old_len - at);
    REAL(close)(own);
}

void disk_note_length(int file, int fd, uint64_t len)
{
    struct stat stat;
    if (fstat(fd, &stat) != 0) return;
    struct write *write = add_write(file, CHANGE_LENGTH);
    write->at = len;
    write->old_len = (uint64_t)stat.st_size;
    if (len >= write->old_len) return;
    int own = open_to_read(file);
    if (own < 0) return;
    save(write, own, len, write->old_len - len);
    REAL(close)(own);
}

/* ---- names ----------------------------------------------------------------------------------- */

static struct name *add_name(enum name_kind kind, int node, const char *path)
{
    if (kernel->name_count == NAMES_MAX) abort();
    struct name *name = &kernel->names[kernel->name_count++];
    memset(name, 0, sizeof(*name));
    name->kind = kind;
    name->node = node;
    name->number = kernel->next_write++;
    copy_path(name->path, path);
    return name;
}

/* Keeps what is at the name's path under a hidden name, so that it can come back. */
static void hide(struct name *name)
{
    snprintf(name->hidden, sizeof(name->hidden), "%.150s.hidden/%llu",
             kernel->nodes[name->node].dir, (unsigned long long)name->number);
    if (link(name->path, name->hidden) != 0) {
        name->hidden[0] = '\0';
        return;
    }
    int file = file_by_path(name->path);
    if (file != NONE) copy_path(file_at(file)->path, name->hidden);
}

void disk_note_created(int node, const char *path)
{
    add_name(NAME_CREATED, node, path);
}

void disk_note_folder(int node, const char *path)
{
    add_name(NAME_FOLDER, node, path);
}

void disk_before_rename(int node, const char *from, const char *to)
{
    struct name *name = add_name(NAME_RENAMED, node, to);
    copy_path(name->from, from);
    hide(name);
    int file = file_by_path(from);
    if (file != NONE) copy_path(file_at(file)->path, to);
}

void disk_before_remove(int node, const char *path)
{
    hide(add_name(NAME_REMOVED, node, path));
}

static bool is_in_folder(const struct name *name, const char *folder)
{
    size_t len = strlen(folder);
    return strncmp(name->path, folder, len) == 0 && name->path[len] == '/' &&
           strchr(name->path + len + 1, '/') == NULL;
}

static void drop_hidden(const struct name *name)
{
    if (name->hidden[0] == '\0') return;
    forget_file(file_by_path(name->hidden));
    REAL(unlink)(name->hidden);
}

void disk_folder_synced(int node, const char *path, uint64_t number)
{
    int kept = 0;
    for (int i = 0; i < kernel->name_count; i++) {
        const struct name *name = &kernel->names[i];
        if (name->node == node && name->number < number && is_in_folder(name, path))
            drop_hidden(name);
        else
            kernel->names[kept++] = *name;
    }
    kernel->name_count = kept;
}

/* ---- the loss of power ----------------------------------------------------------------------- */

/* Sectors of which a newer change stays, so that older ones may not be undone. */
struct kept {
    unsigned char *bits;
    uint64_t sectors;
};

static void undo_at(int fd, const char *bytes, uint64_t len, uint64_t at)
{
    if (REAL(pwrite)(fd, bytes, len, (off_t)at) != (ssize_t)len) abort();
}

static void undo_bytes(int fd, const struct write *write, uint64_t from, uint64_t to)
{
    static const char zeros[SECTOR];
    uint64_t saved_end = write->at + write->saved_len;
    uint64_t known = from >= saved_end ? 0 : (to < saved_end ? to : saved_end) - from;
    if (known > 0)
        undo_at(fd, kernel->saved_bytes + write->saved + (from - write->at), known, from);
    if (to - from > known) undo_at(fd, zeros, to - from - known, from + known);
}

static void undo_sectors(int fd, const struct write *write, struct kept *kept, uint32_t chance)
{
    uint64_t end = write->at + write->len;
    for (uint64_t from = write->at; from < end;) {
        uint64_t sector = from / SECTOR, to = (sector + 1) * SECTOR;
        if (to > end) to = end;
        bool stays = sector >= kept->sectors || (kept->bits[sector / 8] >> sector % 8 & 1) ||
                     !kernel_chance(DICE_POWER, chance);
        if (stays && sector < kept->sectors)
            kept->bits[sector / 8] |= (unsigned char)(1 << sector % 8);
        if (!stays) undo_bytes(fd, write, from, to);
        from = to;
    }
}

static void undo_file(int file, uint32_t chance)
{
    int fd = REAL(open)(file_at(file)->path, O_RDWR | O_CLOEXEC);
    struct stat stat;
    if (fd < 0 || fstat(fd, &stat) != 0) return;
    uint64_t most = (uint64_t)stat.st_size, length = most;
    for (int i = 0; i < kernel->write_count; i++)
        if (kernel->writes[i].file == file && kernel->writes[i].old_len > most)
            most = kernel->writes[i].old_len;
    struct kept kept = { calloc(1, most / SECTOR / 8 + 2), most / SECTOR + 1 };
    bool shortens = true;
    for (int i = kernel->write_count; i-- > 0;) {
        const struct write *write = &kernel->writes[i];
        if (write->file != file) continue;
        if (write->kind == CHANGE_WRITE) undo_sectors(fd, write, &kept, chance);
        shortens = shortens && kernel_chance(DICE_POWER, chance);
        if (!shortens) continue;
        if (write->kind == CHANGE_LENGTH && write->saved_len > 0)
            undo_bytes(fd, write, write->at, write->at + write->saved_len);
        length = write->old_len;
    }
    if (REAL(ftruncate)(fd, (off_t)length) != 0) abort();
    free(kept.bits);
    REAL(close)(fd);
    keep_writes(is_not_of, file, 0);
}

static void undo_name(const struct name *name)
{
    switch (name->kind) {
    case NAME_CREATED: REAL(unlink)(name->path); break;
    case NAME_FOLDER: rmdir(name->path); break;
    case NAME_RENAMED: REAL(rename)(name->path, name->from); break;
    case NAME_REMOVED: break;
    }
    if (name->hidden[0] != '\0' && link(name->hidden, name->path) != 0 && errno != EEXIST) abort();
}

void disk_lose_power(int node, uint32_t chance)
{
    for (int i = 0; i < FILES_MAX; i++)
        if (file_at(i)->inode != 0 && file_at(i)->node == node) undo_file(i, chance);
    int count = 0;
    for (int i = 0; i < kernel->name_count; i++)
        count += kernel->names[i].node == node;
    int stay = chance == 0 ? count : (int)kernel_roll(DICE_POWER, (uint64_t)count + 1);
    for (int i = kernel->name_count; i-- > 0;) {
        const struct name *name = &kernel->names[i];
        if (name->node != node) continue;
        if (count-- > stay) undo_name(name);
    }
    int kept = 0;
    for (int i = 0; i < kernel->name_count; i++) {
        struct name name = kernel->names[i];
        if (name.node == node)
            drop_hidden(&name);
        else
            kernel->names[kept++] = name;
    }
    kernel->name_count = kept;
    for (int i = 0; i < FILES_MAX; i++)
        if (file_at(i)->node == node) file_at(i)->inode = 0;
}
