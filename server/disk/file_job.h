/* file_job: runs one function at a time in a thread, so that the loop need not wait for the medium
 * to create, sync, rename or remove files. Even removing needs the thread: ext4 can take tenths of
 * a second to free the blocks of a GiB. Depends on pthreads.
 *
 * While the function runs, it owns the data that it uses, and it must not call mem, which is
 * single-threaded. Call the functions below from the loop's thread. */
#pragma once

#include <stdbool.h>

struct file_job;

struct file_job *file_job_new(void);      /* NULL with errno */
void file_job_free(struct file_job *job); /* waits until the function has ended */

int file_job_fd(const struct file_job *job); /* readable while a result can be collected */

/* Runs the function, which returns 0 or an errno: file_job_ended collects that. The result of an
 * earlier function must have been collected. If no thread can be started, or memory is short, runs
 * the function in the loop's thread before returning. */
void file_job_begin(struct file_job *job, int (*run)(void *ctx), void *ctx);
/* Has a function begun whose result was not collected? */
bool file_job_runs(const struct file_job *job);
/* Collects the result of a function that has ended. Returns false, and leaves *error, if none
 * has. */
bool file_job_ended(struct file_job *job, int *error);
/* Waits until the function has ended; then file_job_ended returns its result, and the caller sees
 * everything that it has written. No effect if no function runs. */
void file_job_await(struct file_job *job);
