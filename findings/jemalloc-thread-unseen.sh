#!/bin/sh
# jemalloc's background thread is invisible to a preloaded pthread_create, though that is first in the order.
#
# Tools that follow the threads of a program (race detectors, deterministic schedulers, profilers) preload their own
# pthread_create. With background_thread:true jemalloc starts a thread by the pthread_create that comes after jemalloc
# itself (RTLD_NEXT), which is libc's. So the tool misses a thread that frees memory beside those that it knows. It
# sees the thread if it is preloaded behind jemalloc.
cd "$(dirname "$0")" && exec python3 -B - <<'END'
import os
import subprocess

from lib import FOLDER, debian, verdict

root = debian("libjemalloc2", "5.3.0-1")
JEMALLOC = os.path.join(root, "usr/lib", os.uname().machine + "-linux-gnu", "libjemalloc.so.2")
HOOK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
int seen;
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *data)
{
    int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
        dlsym(RTLD_NEXT, "pthread_create");
    seen++;
    return next(thread, attr, run, data);
}
"""
PROGRAM = r"""
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
extern int seen __attribute__((weak));
static void *run(void *data) { return pause(), data; }
int main(void)
{
    pthread_t thread;
    int threads = 0;
    free(malloc(1000));
    pthread_create(&thread, NULL, run, NULL);
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; (task = readdir(tasks)) != NULL;)
        threads += task->d_name[0] != '.';
    printf("%d %d\n", threads - 1, seen);
    return 0;
}
"""


def build(name, text, *options):
    path = os.path.join(FOLDER, name)
    with open(path + ".c", "w", encoding="utf-8") as file:
        file.write(text)
    subprocess.run(["cc", "-O1", "-w", "-o", path, path + ".c", *options], check=True)
    return path


hook = build("hook.so", HOOK, "-shared", "-fPIC")
program = build("program", PROGRAM, "-rdynamic", "-Wl,--unresolved-symbols=ignore-all")


def started_and_seen(*preloaded):
    """How many threads were started, and how many of them the hook saw."""
    env = {**os.environ, "LD_PRELOAD": ":".join(preloaded), "MALLOC_CONF": "background_thread:true"}
    done = subprocess.run([program], env=env, capture_output=True, text=True, check=True)
    return tuple(map(int, done.stdout.split()))


before, behind = started_and_seen(hook, JEMALLOC), started_and_seen(JEMALLOC, hook)
verdict("the hook sees each thread: (2, 2)", f"{before} preloaded before jemalloc, {behind} behind it",
        before == (2, 1) and behind == (2, 2))
END
