/* file_job: runs one function at a time in a thread, so that the loop does not wait for the medium
 * while files are created, synced, renamed or removed. Removing a file of a GiB takes some tenths
 * of a second on ext4, because its blocks are freed. Depends on pthreads.
 *
 * The function owns the data that it uses until it has ended. It must not call mem, which is
 * single-threaded. Call all functions here from one thread, the loop's. */
#ifndef SERVER_DISK_FILE_JOB_H
#define SERVER_DISK_FILE_JOB_H

#include <stdbool.h>

struct file_job;

struct file_job *file_job_new(void);      /* NULL with errno */
void file_job_free(struct file_job *job); /* waits until the function has ended */

int file_job_fd(const struct file_job *job); /* readable when a function has ended */

/* Runs the function, which returns 0 or an errno. No other may be running. If no thread can be
 * started, or memory is short, runs it at once. */
void file_job_begin(struct file_job *job, int (*run)(void *ctx), void *ctx);
/* Does a function run, or wait for its result to be taken? */
bool file_job_runs(const struct file_job *job);
/* Collects the result of a function that has ended. Returns false if it still runs, or there is
 * none. */
bool file_job_ended(struct file_job *job, int *error);
/* Waits until the function has ended, without taking its result; then the caller sees its writes.
 * No effect without one. */
void file_job_await(struct file_job *job);

#endif
