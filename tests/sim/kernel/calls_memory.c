/* calls_memory: memory that the system refuses, by chance, to the daemon and to its libraries.
 * Freeing it always succeeds. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tests/sim/kernel/kernel.h"

static bool is_refused(size_t size)
{
    if (!in_world() || !kernel_chance(DICE_MEMORY, own_node()->fail_memory)) return false;
    kernel_note("no memory", (int64_t)size, 0, 0);
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return is_refused(size) ? NULL : REAL(malloc)(size);
}

void *realloc(void *old, size_t size)
{
    return is_refused(size) ? NULL : REAL(realloc)(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return is_refused(size) ? NULL : REAL(aligned_alloc)(alignment, size);
}

void *mmap(void *at, size_t size, int how, int flags, int fd, off_t from)
{
    return is_refused(size) ? MAP_FAILED : REAL(mmap)(at, size, how, flags, fd, from);
}
