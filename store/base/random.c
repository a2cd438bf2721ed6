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

void random_init(struct random *random)
{
    *random = (struct random){ .left = 0 };
}

uint64_t random_next(void *random)
{
    struct random *from = random;
    if (from->left == 0) {
        random_fill(from->pool, sizeof(from->pool));
        from->left = sizeof(from->pool) / sizeof(from->pool[0]);
    }
    return from->pool[--from->left];
}
