/* calls: what the files of system calls use of one another. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

int fd_object(int fd); /* NONE: a real descriptor */
int close_from(unsigned first, unsigned last);
int fd_of(int object); /* a new descriptor; -1 with errno, and the object is dropped */
/* Adds a call to the trace. It takes a little time, and another actor may run then. */
void call_done(const char *what, int fd, int64_t result);
ssize_t file_write(int fd, const void *bytes, size_t len);
ssize_t call_getrandom(void *to, size_t len);
void run_signals(void);          /* calls the handlers of signals that wait for this process */
void threads_forget_locks(void); /* in a new child */
void enter_world(int memory, int process); /* in a new process, before main() */
void trap_counter(void);                   /* forbids the CPU's counter, where the kernel can */
