/* listening: opens the listening sockets of `bind` and `metrics-bind`, whose words mean the same,
 * and of the unix socket. Depends on sockets and host_names; knows no loop. */
#pragma once

#include <sys/socket.h>

#include "server/base/host_names.h"

enum { LISTENING_WORD = 256, LISTENING_WHY = 256 };

/* Copies the next word of `bind` and moves *rest past it. Returns false if no word is left or the
 * word is too long; `word` is then empty, and **rest is the NUL or the word's first byte. */
bool listening_next_word(const char **rest, char word[LISTENING_WORD]);

struct listening {
    uint16_t port;
    int64_t backlog;
    const struct host_names *names; /* host names resolved ahead, or NULL */
    bool left_out;                  /* a result: see below */
    char why[LISTENING_WHY];        /* a result: "bind: Address already in use" */
};

/* Opens a socket for one word: "127.0.0.1", "::1", "*", "::*" or a host name, of which the first
 * address that works is used. A name that is not in `names` is resolved, which blocks. Returns -1
 * with the reason in `why` on failure. Then left_out tells whether to go on without this address:
 * the word begins with '-', and this machine lacks the address or its protocol, or the name has no
 * address. */
int listening_open(struct listening *listening, const char *word);

/* Opens a socket at an address. On failure returns -1 with errno, and the failed call in `step`. */
int listening_open_at(const struct sockaddr *address, socklen_t size, int64_t backlog,
                      const char **step);
