#!/bin/sh
# In one script of Redis 7.0 a key is alive for GET and EXISTS after its PTTL has reached 0.
#
# Expiry uses the instant at which the script began, while PTTL, TTL and TIME follow the clock. A script that runs past
# a deadline and decides by PTTL ("0 left: somebody else may take it") contradicts one that decides by EXISTS.
cd "$(dirname "$0")" && exec python3 -B - <<'END'
from lib import Client, redis_server, verdict

SCRIPT = """
redis.call('SET', KEYS[1], 'v', 'PX', 30)
local function now() local t = redis.call('TIME') return t[1] * 1000 + t[2] / 1000 end
local start = now()
while now() - start < 60 do end
return {redis.call('EXISTS', KEYS[1]), redis.call('PTTL', KEYS[1]), redis.call('GET', KEYS[1])}
"""
client = Client(redis_server())
inside = client.call("EVAL", SCRIPT, 1, "k")
after = client.call("GET", "k")
verdict("one clock: [1, 30, 'v'], or [0, -2, nil]", f"[EXISTS, PTTL, GET] 60 ms after PX 30: {inside}; then {after}",
        inside == [1, 0, b"v"] and after is None)
END
