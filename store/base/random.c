/* random: see random.h. */
#include "store/base/random.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "store/base/ensure.h"

void random_fill(void *to, size_t len)
{
    char *at = to;
    while (len > 0) {
        ssize_t got = getrandom(at, len, 0);
        ensure(got > 0 || errno == EINTR, "getrandom: %s", strerror(errno));
        if (got <= 0) continue;
        at += got;
        len -= (size_t)got;
    }
}

static void refill_pool(struct random *random)
{
    random_fill(random->pool, sizeof(random->pool));
    random->left = sizeof(random->pool) / sizeof(random->pool[0]);
}

void random_init(struct random *random)
{
    *random = (struct random){ .left = 0 };
}

uint64_t random_next(void *random)
{
    struct random *from = random;
    if (from->left == 0) refill_pool(from);
    return from->pool[--from->left];
}
