/* calls_memory: memory that the system refuses, by chance, to the daemon and to its libraries.
 * Freeing it always succeeds. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
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

/* jemalloc starts its background thread by libc's own pthread_create, so that thread would run
 * outside the world, beside the actors. It only releases memory sooner: a world does without it. */
int mallctl(const char *name, void *old, size_t *old_len, void *new, size_t new_len);
int mallctl(const char *name, void *old, size_t *old_len, void *new, size_t new_len)
{
    if (in_world() && strcmp(name, "background_thread") == 0 && new != NULL) return 0;
    return REAL(mallctl)(name, old, old_len, new, new_len);
}
