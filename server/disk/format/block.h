/* block: packs a stream of bytes into compressed blocks with checksums, and checks and unpacks
 * them, for snapshot files and for copies to replicas. snapshot_file.h defines the layout of a
 * block. Depends on LZ4 and crc32c.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BLOCK_RAW = 256 * 1024, BLOCK_HEADER = 12 };

struct block_packer {
    bool plain;    /* store blocks without compression */
    uint32_t sum;  /* checksum of the blocks so far */
    size_t filled; /* bytes in raw */
    char raw[BLOCK_RAW];
    char block[BLOCK_HEADER + BLOCK_RAW];
};

/* Copies bytes into the current block until it is full. Returns how many it copied: pass the others
 * again after block_pack. */
size_t block_fill(struct block_packer *packer, const char *data, size_t len);
/* Packs the bytes of the current block into packer->block, and begins the next block. Returns the
 * length of the packed block with its header. A block without bytes ends the stream. */
size_t block_pack(struct block_packer *packer);

struct block_sizes {
    uint32_t stored, raw, sum;
};
/* Reads the header of a block. Its values may be impossible: see block_sizes_ok. */
struct block_sizes block_sizes(const char header[BLOCK_HEADER]);
/* Can a block have these sizes? Both are 0 in the last block. If not, the stream is damaged. */
bool block_sizes_ok(const struct block_sizes *sizes);
/* Returns true if the checksum in the block's header is right, and sets *sum to the checksum of the
 * block. Before the call *sum must be the checksum of the block before, or the one with which the
 * stream begins. The checksum covers the sizes and all stored bytes. */
bool block_sum_ok(const char *block, const struct block_sizes *sizes, uint32_t *sum);
/* Returns the raw bytes of a block: the stored bytes themselves, or those unpacked into `scratch`.
 * Returns NULL if the stored bytes are not LZ4 of sizes->raw bytes. */
const char *block_unpack(const char *block, const struct block_sizes *sizes,
                         char scratch[BLOCK_RAW]);
