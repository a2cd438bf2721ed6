#!/bin/sh
# DUMP of a stream contains the text of entries that XDEL has removed.
#
# XDEL only marks an entry of a node; the node is freed with its last entry. XRANGE does not show the entry and XLEN
# does not count it, but DUMP, snapshots and copies for replicas carry its fields: deleted secrets leave the server.
cd "$(dirname "$0")" && exec python3 -B - <<'END'
from lib import Client, redis_server, verdict

client = Client(redis_server())
secret = client.call("XADD", "s", "*", "card", "4111-secret")
client.call("XADD", "s", "*", "card", "other")
deleted = client.call("XDEL", "s", secret)
shown = b"secret" in repr(client.call("XRANGE", "s", "-", "+")).encode()
dumped = b"4111-secret" in client.call("DUMP", "s")
verdict("no trace of the entry", f"XDEL: {deleted}; XRANGE shows it: {shown}; DUMP contains it: {dumped}",
        (deleted, shown, dumped) == (1, False, True))
END
