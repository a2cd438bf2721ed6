#!/bin/sh
# RESTORE with REPLACE, ABSTTL and a deadline in the past replies OK, stores nothing, and has deleted the old value.
#
# A program that copies keys with DUMP, PEXPIRETIME and RESTORE sees success for each key. If a key's deadline
# passes on the way, or the target's clock is ahead, the target loses what it had under that name.
cd "$(dirname "$0")" && exec python3 -B - <<'END'
from lib import Client, redis_server, verdict

client = Client(redis_server())
client.call("SET", "source", "new")
payload = client.call("DUMP", "source")
client.call("SET", "target", "old")
reply = client.call("RESTORE", "target", 1000, payload, "ABSTTL", "REPLACE")
left = client.call("GET", "target")
verdict("an error, or a reply that tells that nothing was stored; or the old value", f"{reply}, then GET: {left}",
        (reply, left) == (b"OK", None))
END
