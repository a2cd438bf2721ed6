/* snapshot_file: see snapshot_file.h. The writer; the reader is in snapshot_read.c. */
#include "server/disk/format/snapshot_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "server/disk/format/crc32c.h"
#include "store/base/little_endian.h"
#include "store/mem/mem.h"

/* Sync the file each time it has grown by this much, so that a sync of the journal need not wait
 * for a gigabyte of the snapshot. */
enum { SYNC_BYTES = 8 << 20 };

struct snapshot_writer {
    int fd;
    int error; /* the first error: nothing is written after it */
    struct snapshot_options options;
    struct snapshot_info info; /* counts of the blocks written so far */
    uint64_t synced;           /* bytes of the file that were synced */
    char path[DISK_PATH_MAX], temporary[DISK_PATH_MAX];
    struct block_packer packer;
};

int snapshot_temporary(const char *path, char temporary[DISK_PATH_MAX])
{
    const char *slash = strrchr(path, '/');
    int dir = slash == NULL ? 0 : (int)(slash + 1 - path);
    int len = snprintf(temporary, DISK_PATH_MAX, "%.*stemp-%s", dir, path, path + dir);
    return len < DISK_PATH_MAX ? 0 : ENAMETOOLONG;
}

int snapshot_create(const char *path, const struct snapshot_options *options,
                    struct snapshot_writer **writer)
{
    char temporary[DISK_PATH_MAX];
    int fd;
    int error = file_check(path, FILE_SET(FILE_SNAPSHOT));
    if (error == 0) error = snapshot_temporary(path, temporary);
    if (error == 0) error = file_check(temporary, FILE_SET_OURS);
    if (error == 0) error = disk_create(temporary, &fd);
    if (error != 0) return error;
    struct snapshot_writer *made = mem_alloc(sizeof(*made));
    made->fd = fd;
    made->error = 0;
    made->options = *options;
    made->info = (struct snapshot_info){ .created = options->created, .length = SNAPSHOT_HEADER };
    made->synced = 0;
    made->packer.plain = options->plain;
    made->packer.sum = 0;
    made->packer.filled = 0;
    /* The path fits, because the temporary name, which is longer, fits. */
    memcpy(made->path, path, strlen(path) + 1);
    memcpy(made->temporary, temporary, strlen(temporary) + 1);
    *writer = made;
    return 0;
}

static void write_block(struct snapshot_writer *writer)
{
    writer->info.raw += writer->packer.filled;
    size_t len = block_pack(&writer->packer);
    writer->error = disk_write_bytes(writer->fd, writer->packer.block, len, writer->info.length);
    writer->info.length += len;
    writer->info.blocks++;
    if (writer->error != 0 || writer->info.length - writer->synced < SYNC_BYTES) return;
    writer->error = disk_sync(writer->fd);
    writer->synced = writer->info.length;
}

int snapshot_append(struct snapshot_writer *writer, const void *data, size_t len)
{
    const char *from = data;
    while (len > 0 && writer->error == 0) {
        size_t taken = block_fill(&writer->packer, from, len);
        from += taken;
        len -= taken;
        if (writer->packer.filled == SNAPSHOT_BLOCK) write_block(writer);
    }
    return writer->error;
}

int snapshot_finish(struct snapshot_writer *writer, uint64_t keys)
{
    if (writer->error == 0 && writer->packer.filled > 0) write_block(writer);
    if (writer->error == 0) write_block(writer); /* the last block, which is empty */

    char header[SNAPSHOT_HEADER];
    memcpy(header, SNAPSHOT_MAGIC, sizeof(SNAPSHOT_MAGIC) - 1);
    put_u32(header + 16, SNAPSHOT_VERSION);
    put_u32(header + 20, 0);
    put_u64(header + 24, (uint64_t)writer->info.created);
    put_u64(header + 32, writer->info.length);
    put_u64(header + 40, writer->info.raw);
    put_u64(header + 48, keys);
    put_u64(header + 56, 1);
    put_u32(header + 64, writer->info.blocks);
    put_u32(header + 68, crc32c(0, header, 68));
    int error = writer->error;
    if (error == 0) error = disk_write_bytes(writer->fd, header, sizeof(header), 0);
    if (error == 0) error = disk_sync(writer->fd);
    /* Another program may have created a file of that name meanwhile. */
    if (error == 0) error = file_check(writer->path, FILE_SET(FILE_SNAPSHOT));
    if (error == 0) error = disk_rename(writer->temporary, writer->path);
    if (error != 0) {
        snapshot_abort(writer);
        return error;
    }
    error = disk_sync_parent(writer->path);
    disk_close(writer->fd);
    mem_free(writer);
    return error;
}

void snapshot_abort(struct snapshot_writer *writer)
{
    if (writer == NULL) return;
    disk_close(writer->fd);
    disk_remove(writer->temporary);
    mem_free(writer);
}
