/* slow_sync: a library to preload, which makes each fdatasync take 0.5 ms longer. With a folder in
 * memory it simulates a disk whose syncs take that long. */
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
