/* block: see block.h. */
#include "server/disk/format/block.h"

#include <lz4.h>
#include <string.h>

#include "server/disk/format/crc32c.h"
#include "store/base/little_endian.h"

size_t block_fill(struct block_packer *packer, const char *data, size_t len)
{
    size_t room = BLOCK_RAW - packer->filled, here = len < room ? len : room;
    memcpy(packer->raw + packer->filled, data, here);
    packer->filled += here;
    return here;
}

size_t block_pack(struct block_packer *packer)
{
    char *block = packer->block, *to = block + BLOCK_HEADER;
    int raw = (int)packer->filled, packed = 0;
    /* LZ4 returns 0 if the result is not shorter. */
    if (!packer->plain && raw > 1) packed = LZ4_compress_default(packer->raw, to, raw, raw - 1);
    if (packed <= 0) memcpy(to, packer->raw, packer->filled);
    uint32_t stored = (uint32_t)(packed > 0 ? packed : raw);
    put_u32(block, stored);
    put_u32(block + 4, (uint32_t)packer->filled);
    packer->sum = crc32c(packer->sum, block, 8);
    packer->sum = crc32c(packer->sum, block + BLOCK_HEADER, stored);
    put_u32(block + 8, packer->sum);
    packer->filled = 0;
    return BLOCK_HEADER + stored;
}

struct block_sizes block_sizes(const char header[BLOCK_HEADER])
{
    return (struct block_sizes){ get_u32(header), get_u32(header + 4), get_u32(header + 8) };
}

bool block_sizes_ok(const struct block_sizes *sizes)
{
    if (sizes->raw == 0) return sizes->stored == 0;
    return sizes->raw <= BLOCK_RAW && sizes->stored > 0 && sizes->stored <= sizes->raw;
}

bool block_sum_ok(const char *block, const struct block_sizes *sizes, uint32_t *sum)
{
    *sum = crc32c(*sum, block, 8);
    *sum = crc32c(*sum, block + BLOCK_HEADER, sizes->stored);
    return *sum == sizes->sum;
}

const char *block_unpack(const char *block, const struct block_sizes *sizes,
                         char scratch[BLOCK_RAW])
{
    const char *stored = block + BLOCK_HEADER;
    if (sizes->stored == sizes->raw) return stored;
    int raw = LZ4_decompress_safe(stored, scratch, (int)sizes->stored, BLOCK_RAW);
    return raw == (int)sizes->raw ? scratch : NULL;
}
