#!/bin/sh
# SWAPDB sends no invalidation: client-side caches go on serving the values of the other database.
#
# CLIENT TRACKING promises an invalidation for each key that was read and may have changed. FLUSHALL and FLUSHDB send
# one for everything; SWAPDB, which replaces every value at once, sends none.
cd "$(dirname "$0")" && exec python3 -B - <<'END'
from lib import Client, redis_server, verdict

path = redis_server()
cache, other = Client(path), Client(path)
cache.call("HELLO", 3)
other.call("SET", "k", "old")
other.call("SELECT", 1)
other.call("SET", "k", "new")
cache.call("CLIENT", "TRACKING", "ON")
cached = cache.call("GET", "k")
other.call("SWAPDB", 0, 1)
cache.send("ECHO", "end")  # an invalidation would come first
first = cache.read()
other.call("SELECT", 0)
value = other.call("GET", "k")
other.call("FLUSHALL")
flushed = cache.read()  # what a change of everything usually sends
verdict("an invalidation before the next reply",
        f"{first}; cached {cached}, in the server {value}; FLUSHALL sends {flushed}",
        (cached, first, value, flushed) == (b"old", b"end", b"new", [b"invalidate", None]))
END
