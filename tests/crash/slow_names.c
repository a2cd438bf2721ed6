/* slow_names: a library to preload that makes a resolver slow. getaddrinfo of the name "slow.test"
 * makes the file SLOW_NAMES.asked and waits until somebody opens the FIFO SLOW_NAMES for writing.
 * Then the name is 127.0.0.1. */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void wait_for_answer(const char *fifo)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s.asked", fifo);
    close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    close(open(fifo, O_RDONLY | O_CLOEXEC));
}

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                struct addrinfo **list)
{
    __typeof__(&getaddrinfo) real =
        (__typeof__(&getaddrinfo))(uintptr_t)dlsym(RTLD_NEXT, "getaddrinfo");
    const char *fifo = getenv("SLOW_NAMES");
    bool is_number = hints != NULL && (hints->ai_flags & AI_NUMERICHOST) != 0;
    if (fifo != NULL && !is_number && host != NULL && strcmp(host, "slow.test") == 0) {
        wait_for_answer(fifo);
        host = "127.0.0.1";
    }
    return real(host, service, hints, list);
}
