/* link_state: the struct behind link.h. Only for link.c and link_handshake.c. */
#pragma once

#include "server/base/resolver.h"
#include "server/replica/link.h"

enum { MARK = 40, LINE_MAX_LEN = 1024, NAME_MAX_LEN = 300 };

enum link_request {
    STEP_PING,
    STEP_AUTH,
    STEP_PORT,
    STEP_ADDRESS,
    STEP_ABILITIES,
    STEP_OURS,
    STEP_VERSION,
    STEP_PSYNC,
    STEP_COPY_HEAD, /* the line before a copy */
    STEPS
};

struct link {
    struct link_wiring w;
    enum link_state state;
    enum link_request step;
    bool connected, asks_failover;
    struct resolver *resolver;  /* finds the addresses, while there is no socket */
    struct tls *wanted_tls;     /* TLS for the next socket, or NULL */
    struct tls_connection *tls; /* TLS of the socket, or NULL */
    bool shakes_hands;          /* the TLS handshake has not ended yet */
    bool wants_more;
    bool has_asked; /* PSYNC asked to continue from a position */
    bool lost_copy; /* as link_take_lost_copy returns it */
    int fd;         /* -1 while the link is down, or its master's name is being resolved */
    struct loop_io *io;
    char name[NAME_MAX_LEN]; /* "host:port", for the log */
    uint64_t effects_from;
    int64_t heard_usec, down_usec;
    struct link_copy copy;
    bool has_mark;
    char mark[MARK + 1];
    uint64_t copy_read; /* bytes of the copy that the owner has taken */
    char *data;         /* data[start .. start + len) was received and not taken */
    size_t start, len, cap;
};

/* Closes the link, and logs why. */
__attribute__((format(printf, 2, 3))) void link_fail(struct link *link, const char *format, ...);
/* Sends a command; NULL ends the words. */
void link_send_words(struct link *link, const char *const *words);

/* Sends the request of the link's step. */
void link_ask(struct link *link);
/* Handles the line that replies to that request, and continues with the next step. */
void link_answer(struct link *link, const char *line);
