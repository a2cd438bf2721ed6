/* listening: see listening.h. */
#include "server/net/listening.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool listening_next_word(const char **rest, char word[LISTENING_WORD])
{
    *rest += strspn(*rest, " ");
    size_t len = strcspn(*rest, " ");
    word[0] = '\0';
    if (len == 0 || len >= LISTENING_WORD) return false;
    memcpy(word, *rest, len);
    word[len] = '\0';
    *rest += len;
    return true;
}

static void set_on(int fd, int level, int name)
{
    int on = 1;
    /* Ignore errors: if the option is needed, bind() fails. */
    (void)setsockopt(fd, level, name, &on, sizeof(on));
}

int listening_open_at(const struct sockaddr *address, socklen_t size, int64_t backlog,
                      const char **step)
{
    *step = "socket";
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    if (address->sa_family == AF_INET6) set_on(fd, IPPROTO_IPV6, IPV6_V6ONLY);
    if (address->sa_family != AF_UNIX) set_on(fd, SOL_SOCKET, SO_REUSEADDR);
    *step = "bind";
    if (bind(fd, address, size) == 0) {
        *step = "listen";
        if (listen(fd, (int)backlog) == 0) return fd;
    }
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

int listening_open(struct listening *listening, const char *word)
{
    bool optional = word[0] == '-';
    const char *host = word + optional;
    const char *node = strcmp(host, "*") == 0 ? "0.0.0.0" : strcmp(host, "::*") == 0 ? "::" : host;
    const struct host_name *name = host_names_find(listening->names, node);
    const char *step = "socket";
    int rc, fd = -1;
    if (name != NULL) {
        rc = name->error;
        for (unsigned i = 0; i < name->count && fd < 0; i++) {
            struct sockaddr_storage address = host_name_at(name, i, listening->port);
            fd = listening_open_at((struct sockaddr *)&address, name->sizes[i], listening->backlog,
                                   &step);
        }
    } else {
        struct addrinfo *found = NULL;
        struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
        char service[16];
        snprintf(service, sizeof(service), "%u", listening->port);
        rc = getaddrinfo(node, service, &hints, &found);
        for (struct addrinfo *at = rc == 0 ? found : NULL; at != NULL && fd < 0; at = at->ai_next)
            fd = listening_open_at(at->ai_addr, at->ai_addrlen, listening->backlog, &step);
        int error = errno;
        if (rc == 0) freeaddrinfo(found);
        errno = error;
    }
    if (fd >= 0) return fd;

    bool lacks = errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT || errno == EPROTONOSUPPORT ||
                 errno == ESOCKTNOSUPPORT || errno == EPFNOSUPPORT || errno == ENOPROTOOPT;
    /* DIFFERS: in Redis an unknown name is an error even after '-'. (doc/differs.md) */
    listening->left_out = optional && (rc != 0 || lacks);
    if (rc != 0)
        snprintf(listening->why, sizeof(listening->why), "%s", gai_strerror(rc));
    else
        snprintf(listening->why, sizeof(listening->why), "%s: %s", step, strerror(errno));
    return -1;
}
