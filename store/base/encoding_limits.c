/* encoding_limits: see encoding_limits.h. */
#include "store/base/encoding_limits.h"

struct encoding_limits encoding_limits = {
    .hash_fields = 512,
    .hash_len = 64,
    .zset_members = 128,
    .zset_len = 64,
    .intset_members = 512,
    .hll_sparse = 3000,
    .stream_bytes = 4096,
    .stream_entries = 100,
};
