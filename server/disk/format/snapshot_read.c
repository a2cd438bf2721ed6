/* snapshot_read: the reader of snapshot_file.h. Checks the sizes and the checksum of each block
 * before using its contents. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "server/disk/format/crc32c.h"
#include "server/disk/format/disk.h"
#include "server/disk/format/snapshot_file.h"
#include "store/base/little_endian.h"
#include "store/mem/mem.h"

struct snapshot_reader {
    int fd;
    struct snapshot_info info;
    uint64_t at;     /* offset of the next block */
    uint64_t raw;    /* bytes returned so far */
    uint32_t blocks; /* number of blocks read */
    uint32_t sum;
    bool ended;
    char block[SNAPSHOT_BLOCK_HEADER + SNAPSHOT_BLOCK];
    char text[SNAPSHOT_BLOCK];
};

__attribute__((format(printf, 3, 4))) static bool fail_reading(struct snapshot_fault *fault,
                                                               uint64_t at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fault->offset = at;
    fault->error = 0;
    vsnprintf(fault->reason, sizeof(fault->reason), format, args);
    va_end(args);
    return false;
}

static bool fail_with_errno(struct snapshot_fault *fault, uint64_t at, int error)
{
    fail_reading(fault, at, "%s", strerror(error));
    fault->error = error;
    return false;
}

static bool check_header(const char *header, size_t got, struct snapshot_fault *fault)
{
    size_t magic = sizeof(SNAPSHOT_MAGIC) - 1;
    if (memcmp(header, SNAPSHOT_MAGIC, got < magic ? got : magic) != 0 || got == 0)
        return fail_reading(fault, 0, "not a snapshot");
    if (got < SNAPSHOT_HEADER) return fail_reading(fault, got, "file ends in its header");
    uint32_t version = get_u32(header + 16);
    if (version != SNAPSHOT_VERSION)
        return fail_reading(fault, 16, "unsupported version %u (supported: %d)", version,
                            SNAPSHOT_VERSION);
    if (get_u32(header + 68) != crc32c(0, header, 68))
        return fail_reading(fault, 68, "wrong checksum of the header");
    if (get_u32(header + 20) != 0)
        return fail_reading(fault, 20, "unsupported flags %x", get_u32(header + 20));
    return true;
}

/* Reads and checks the header of the file, and closes the file. */
static bool get_header(int fd, char header[SNAPSHOT_HEADER])
{
    struct snapshot_fault fault;
    size_t got;
    bool good =
        disk_read(fd, header, SNAPSHOT_HEADER, 0, &got) == 0 && check_header(header, got, &fault);
    disk_close(fd);
    return good;
}

uint32_t snapshot_header_sum(const char *path)
{
    char header[SNAPSHOT_HEADER];
    int fd;
    return disk_open_to_read(path, &fd) == 0 && get_header(fd, header) ? get_u32(header + 68) : 0;
}

int64_t snapshot_made_at(const char *path)
{
    char header[SNAPSHOT_HEADER];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return fd >= 0 && get_header(fd, header) ? (int64_t)get_u64(header + 24) : -1;
}

static bool read_file_header(struct snapshot_reader *reader, struct snapshot_fault *fault)
{
    char header[SNAPSHOT_HEADER];
    size_t got;
    struct stat what;
    int error = disk_read(reader->fd, header, sizeof(header), 0, &got);
    if (error == 0 && fstat(reader->fd, &what) < 0) error = errno;
    if (error != 0) return fail_with_errno(fault, 0, error);
    if (!check_header(header, got, fault)) return false;
    reader->info = (struct snapshot_info){
        .created = (int64_t)get_u64(header + 24),
        .length = get_u64(header + 32),
        .raw = get_u64(header + 40),
        .keys = get_u64(header + 48),
        .blocks = get_u32(header + 64),
    };
    unsigned long long length = (unsigned long long)what.st_size, announced = reader->info.length;
    if (length < announced)
        return fail_reading(fault, length,
                            "file is shorter than its header says: %llu of %llu bytes", length,
                            announced);
    if (length > announced)
        return fail_reading(fault, announced,
                            "file is longer than its header says: %llu instead of %llu bytes",
                            length, announced);
    return true;
}

struct snapshot_reader *snapshot_open(const char *path, struct snapshot_fault *fault)
{
    int fd;
    int error = disk_open_to_read(path, &fd);
    if (error != 0) {
        fail_with_errno(fault, 0, error);
        return NULL;
    }
    struct snapshot_reader *reader = mem_alloc(sizeof(*reader));
    reader->fd = fd;
    reader->at = SNAPSHOT_HEADER;
    reader->raw = 0;
    reader->blocks = 0;
    reader->sum = 0;
    reader->ended = false;
    if (read_file_header(reader, fault)) return reader;
    snapshot_close(reader);
    return NULL;
}

void snapshot_close(struct snapshot_reader *reader)
{
    if (reader == NULL) return;
    disk_close(reader->fd);
    mem_free(reader);
}

const struct snapshot_info *snapshot_info(const struct snapshot_reader *reader)
{
    return &reader->info;
}

uint64_t snapshot_offset(const struct snapshot_reader *reader)
{
    return reader->at;
}

/* Reads exactly `len` bytes; fewer are a fault, because the header announced them. */
static bool read_all(struct snapshot_reader *reader, char *to, size_t len, uint64_t at,
                     struct snapshot_fault *fault)
{
    size_t got;
    int error = disk_read(reader->fd, to, len, at, &got);
    if (error != 0) return fail_with_errno(fault, at, error);
    if (got < len) return fail_reading(fault, reader->at, "file ends in a block");
    return true;
}

static bool read_block(struct snapshot_reader *reader, struct block_sizes *block,
                       struct snapshot_fault *fault)
{
    if (reader->info.length - reader->at < SNAPSHOT_BLOCK_HEADER)
        return fail_reading(fault, reader->at, "file ends without its last block");
    if (!read_all(reader, reader->block, SNAPSHOT_BLOCK_HEADER, reader->at, fault)) return false;
    *block = block_sizes(reader->block);
    uint64_t left = reader->info.length - reader->at - SNAPSHOT_BLOCK_HEADER;
    if (!block_sizes_ok(block) || block->stored > left)
        return fail_reading(fault, reader->at, "impossible block size: %u stored, %u raw",
                            block->stored, block->raw);
    char *stored = reader->block + SNAPSHOT_BLOCK_HEADER;
    if (!read_all(reader, stored, block->stored, reader->at + SNAPSHOT_BLOCK_HEADER, fault))
        return false;
    if (!block_sum_ok(reader->block, block, &reader->sum))
        return fail_reading(fault, reader->at, "wrong checksum of the block");
    return true;
}

enum snapshot_got snapshot_read(struct snapshot_reader *reader, const char **data, size_t *len,
                                struct snapshot_fault *fault)
{
    struct block_sizes block = { 0 };
    if (reader->ended) return SNAPSHOT_END;
    if (!read_block(reader, &block, fault)) return SNAPSHOT_FAULT;
    reader->blocks++;
    if (block.raw == 0) { /* the last block */
        const struct snapshot_info *info = &reader->info;
        uint64_t end = reader->at + SNAPSHOT_BLOCK_HEADER;
        if (end != info->length || reader->raw != info->raw || reader->blocks != info->blocks) {
            fail_reading(fault, reader->at,
                         "the last block is not where the header says: %u of %u blocks",
                         reader->blocks, info->blocks);
            return SNAPSHOT_FAULT;
        }
        reader->ended = true;
        reader->at = end;
        return SNAPSHOT_END;
    }
    *data = block_unpack(reader->block, &block, reader->text);
    if (*data == NULL) {
        fail_reading(fault, reader->at, "block is not valid LZ4");
        return SNAPSHOT_FAULT;
    }
    *len = block.raw;
    reader->at += SNAPSHOT_BLOCK_HEADER + block.stored;
    reader->raw += block.raw;
    return SNAPSHOT_BYTES;
}
