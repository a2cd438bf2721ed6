/* objects: what a descriptor of a process refers to: listeners, sockets, pipes, events, timers and
 * sets of them to wait for. A stream is one direction of a socket, or a pipe: bytes in order, in
 * segments that arrive at instants. */
#pragma once

#include "tests/sim/kernel/kernel.h"

static inline struct object *object_at(int number)
{
    return &kernel->objects[number];
}

int object_new(enum object_kind kind, int node); /* with one reference */
void object_keep(int object);
void object_drop(int object); /* closes it at the last reference */

/* Since when, or from when on, the object is readable or writable; NEVER_NS: unknown. */
int64_t object_readable_at(int object);
int64_t object_writable_at(int object);
int64_t object_epoll_at(int object);
int64_t objects_news_at(void); /* something for the driver has arrived, or will */
int objects_first_news(void);  /* a socket at which it has; NONE */
/* Stores the events that are ready now; returns their number. */
struct epoll_event;
int object_epoll_ready(int object, struct epoll_event *events, int most);

/* A pipe: two objects. */
void object_pipe(int node, int *reader, int *writer);
/* Two connected sockets of one process. */
void object_pair(int node, int *one, int *other);

/* Connects a new socket to a listener. False: refused at once. */
bool object_connect(int socket, int node, uint16_t port);
int object_accept(int listener); /* a socket whose time has come; NONE */

/* Bytes put or taken; -1 with errno. */
ssize_t object_put(int object, const void *bytes, size_t len);
ssize_t object_take(int object, void *to, size_t len, bool peek);
size_t object_waiting_bytes(int object);
void object_shut(int object);   /* sends no more */
void object_reset(int object);  /* as if the connection was lost */
void object_vanish(int object); /* closes it; its peer never hears of that */

/* Holds or releases what is under way between two nodes. */
void objects_cut(int one, int other, bool apart);
/* Drops all objects of a node that lost power, without a word to its peers. */
void objects_forget_node(int node);

int64_t object_timer_left(const struct object *timer);
