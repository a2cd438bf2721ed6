/* slow_sync: a library to preload that gives every folder a disk whose fdatasync takes 0.5 ms
 * longer. In a folder in memory it takes just that long. */
#include <dlfcn.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

enum { SYNC_NSEC = 500000 };

int fdatasync(int fd)
{
    __typeof__(&fdatasync) real = (__typeof__(&fdatasync))(uintptr_t)dlsym(RTLD_NEXT, "fdatasync");
    nanosleep(&(struct timespec){ .tv_nsec = SYNC_NSEC }, NULL);
    return real(fd);
}
