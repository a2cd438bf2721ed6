#!/bin/sh
# setnx of Ruby's redis-store with an expiry of half a second replies true, and stores nothing.
#
# redis-store cuts the expiry to whole seconds and sends SETNX and EXPIRE key 0 in one transaction, which creates the key
# and deletes it. Both replies are true. A caller that uses setnx as a lock believes that it holds it, and so does the next
# one. `set` with the same expiry is refused by the server.
cd "$(dirname "$0")" && exec python3 -B - <<'END'
import os
import subprocess

from lib import debians, redis_server, verdict

root = debians({"ruby-redis": "4.8.0-1", "ruby-redis-store": "1.9.0-2"})
PROGRAM = """
require 'redis-store'
store = Redis::Store.new(path: ARGV[0])
replies = [1, 0.5].map { |seconds| store.setnx("k#{seconds}", 'v', expire_after: seconds) + [store.exists?("k#{seconds}")] }
puts replies.map { |reply| reply.join(' ') }
"""
gems = os.path.join(root, "usr/share/rubygems-integration/all/gems")
done = subprocess.run(["ruby", "-W0", "-I", f"{gems}/redis-4.8.0/lib", "-I", f"{gems}/redis-store-1.9.0/lib", "-e", PROGRAM,
                       redis_server()], capture_output=True, text=True, check=True)
seen = done.stdout.split("\n")[:2]
verdict("true true true, twice: SETNX, EXPIRE, and does the key exist?", f"{seen[0]} with 1 s, {seen[1]} with 0.5 s",
        seen == ["true true true", "true true false"])
END
