/* link: a blocking connection of a measuring tool to a RESP server. Any failure ends the program
 * with a message. */
#pragma once

#include "proto/resp/resp_reply.h"
#include "store/mem/outbuf.h"

struct link_target {
    const char *host, *port; /* for TCP; host is a name or an address */
    const char *unix_path;   /* used instead of TCP unless it is NULL */
    const char *password;    /* NULL if the server needs none */
};

struct link {
    int fd;
    struct outbuf out;
    char *in;
    size_t in_len, in_cap, in_used; /* in_used: bytes of the last reply */
    struct resp_reply reply;        /* the last one; texts point into `in` */
};

void link_open(struct link *link, const struct link_target *target);
void link_close(struct link *link);

/* Appends a command; %s takes a C string, %lld a long long; words are split at single spaces. */
__attribute__((format(printf, 2, 3))) void link_command(struct link *link, const char *format, ...);
void link_flush(struct link *link);

/* Waits until there is something to read, or until wall_usec() is until_usec. */
void link_wait(struct link *link, int64_t until_usec);
/* Returns the next reply, or NULL if timeout_msec (-1 for none) passes without one. */
const struct resp_node *link_reply(struct link *link, int timeout_msec);
/* Waits for the next reply. If it is an error, or none comes within a minute, ends the program with
 * `what` in the message. */
const struct resp_node *link_expect(struct link *link, const char *what);

/* Returns the wall clock in microseconds since 1970. */
int64_t wall_usec(void);
/* Returns how far the server's clock is ahead of ours, by the fastest of several TIME requests. */
int64_t link_clock_offset_usec(struct link *link);
