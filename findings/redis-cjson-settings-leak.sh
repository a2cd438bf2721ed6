#!/bin/sh
# A setting of cjson that one script makes changes the results of all later scripts of all clients.
#
# Each script seems to start from the same state, because globals are forbidden. The tables of libraries are
# protected too, but the settings of cjson live in C, and stay until the server restarts, or SCRIPT FLUSH.
cd "$(dirname "$0")" && exec python3 -B - <<'END'
from lib import Client, redis_server, verdict

path = redis_server()
one, other = Client(path), Client(path)
script = "return cjson.encode({1234567.5})"
before = other.call("EVAL", script, 0)
one.call("EVAL", "cjson.encode_number_precision(3)", 0)
after = other.call("EVAL", script, 0)
other.call("SCRIPT", "FLUSH", "SYNC")
flushed = other.call("EVAL", script, 0)
verdict(before, f"{after} after another client's script, {flushed} after SCRIPT FLUSH",
        (before, after, flushed) == (b"[1234567.5]", b"[1.23e+06]", b"[1234567.5]"))
END
