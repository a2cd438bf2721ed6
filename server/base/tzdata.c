/* tzdata: see tzdata.h. */
#include "server/base/tzdata.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FILE_MOST = 1 << 20 }; /* the largest file of 2025 has 4 KiB */

bool tzdata_read(const char *name, struct buffer *file)
{
    char path[PATH_MAX], chunk[4096];
    const char *folder = getenv("TZDIR");
    ssize_t got;
    if (folder == NULL || folder[0] == '\0') folder = "/usr/share/zoneinfo";
    int len = snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (len < 0 || (size_t)len >= sizeof(path)) return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); /* it may be a FIFO */
    if (fd < 0) return false;
    while ((got = read(fd, chunk, sizeof(chunk))) > 0 && file->len <= FILE_MOST)
        buffer_append(file, chunk, (size_t)got);
    close(fd);
    return got == 0;
}
