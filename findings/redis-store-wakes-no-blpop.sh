#!/bin/sh
# BLPOP is not woken by a list that SORT ... STORE puts in the place of a string.
#
# The client waits on, although LLEN of its key is 2. A client that blocks later gets an element at once. With a key
# that does not exist, SORT ... STORE wakes the waiting client.
cd "$(dirname "$0")" && exec python3 -B - <<'END'
from lib import Client, redis_server, verdict

path = redis_server()
waiting, other = Client(path), Client(path)


def popped(string):
    other.call("FLUSHALL")
    other.call("RPUSH", "source", 2, 1)
    waiting.send("BLPOP", "jobs", 1)
    while b"blocked_clients:1" not in other.call("INFO", "clients"):
        pass
    if string:
        other.call("SET", "jobs", "text")
    other.call("SORT", "source", "STORE", "jobs")
    return waiting.read(), other.call("LLEN", "jobs")


fresh, over = popped(False), popped(True)
verdict("an element in both cases", f"(element, LLEN) with no key before: {fresh}; with a string before: {over}",
        fresh == ([b"jobs", b"1"], 1) and over == (None, 2))
END
