/* driver: what the testing program calls. It is an actor itself: the world moves only inside
 * sim_run. Times are nanoseconds; -1 stands for no socket. */
#pragma once

#include <stdint.h>

int sim_begin(uint64_t seed, int64_t wall_msec); /* 0, or an errno */
void sim_end(void);
/* 1 if this machine ends or interrupts a program that reads the CPU's counter. */
int sim_traps_counter(void);

void sim_node(int number, const char *dir); /* 1 to 8; makes the folder */
/* Runs a program on the node (starter.h); 0, or an errno. `library` is this one. */
int sim_start(int number, const char *library, const char *log, char *const command[],
              char *const arguments[]);
/* The next start begins another starter, whose programs have other addresses. */
void sim_end_starter(void);
int sim_up(int number);
/* Threads of the node's program that the world does not know: they would run beside its actors. */
int sim_strangers(int number);
/* 1, and how the node's program ended, as of waitpid; -1 for a crash. 0: it has not. */
int sim_status(int number, int *status);
void sim_kill(int number); /* with SIGKILL: what was written stays */
/* Undoes unsynced changes with a chance in 2^16 each. */
void sim_lose_power(int number, uint32_t chance);
void sim_signal(int number, int signal);
void sim_kill_in(int number, uint64_t calls); /* at this many calls on files from now */

/* Lets the world run until something arrives for the driver, or until an instant. Returns what
 * there is to do then. */
enum { SIM_ARRIVED = 1, SIM_ENDED = 2 /* a program, see sim_status */, SIM_STUCK = 4 };
int sim_run(int64_t until);
const int64_t *sim_clock(void); /* the world's clock, up to sim_end */
int64_t sim_wall(int number);

int sim_connect(int number, uint16_t port);
int64_t sim_send(int socket, const char *bytes, uint64_t len);
int64_t sim_receive(int socket, char *to, uint64_t size); /* 0: end; -1: nothing yet; -2: reset */
int sim_ready_socket(void);                               /* one at which something has arrived */
void sim_drop(int socket);
void sim_reset(int socket);
void sim_vanish(int socket); /* the peer is left with a half-open connection */

void sim_cut(int one, int other, int apart); /* a partition, and its end */
void sim_set_clock(int number, int64_t offset);
void sim_set(int number, const char *name, int64_t value);
int64_t sim_get(int number, const char *name);
void sim_set_latency(int64_t least, int64_t most);
void sim_set_spurious(uint32_t chance);

uint64_t sim_events(void);
uint64_t sim_trace(void);
void sim_note(const char *what, int64_t number); /* adds it to the trace */
