/* file_job: runs one function at a time in a thread, so that the loop never waits for the medium to
 * create, sync, rename or remove files. Even removing a file of a GiB takes some tenths of a second
 * on ext4, which must free its blocks. Depends on pthreads.
 *
 * Until it ends, the function owns the data that it uses. It must not call mem, which is
 * single-threaded. Call all functions here from the loop's thread. */
#ifndef SERVER_DISK_FILE_JOB_H
#define SERVER_DISK_FILE_JOB_H

#include <stdbool.h>

struct file_job;

struct file_job *file_job_new(void);      /* NULL with errno */
void file_job_free(struct file_job *job); /* waits until the function has ended */

int file_job_fd(const struct file_job *job); /* readable when a function has ended */

/* Runs the function, which returns 0 or an errno; no other may be running. If no thread can be
 * started, or memory is short, runs it at once in this thread. */
void file_job_begin(struct file_job *job, int (*run)(void *ctx), void *ctx);
/* Does a function run, or wait for its result to be taken? */
bool file_job_runs(const struct file_job *job);
/* Collects the result of a function that has ended. Returns false if none has. */
bool file_job_ended(struct file_job *job, int *error);
/* Waits until the function has ended, without taking its result; then the caller sees its writes.
 * No effect without one. */
void file_job_await(struct file_job *job);

#endif
