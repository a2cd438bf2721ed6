#!/bin/sh
# After one blpop, a connection of redis-rb keeps blpop's longer timeout for all later commands.
#
# blpop waits `timeout` more than the client's own limit, and should set the limit back. It reads the limit to go back to
# while the longer one is still in place, so the connection keeps that. A worker with a timeout of 0.2 s that has once
# waited 2 s for an element notices on that connection only after 2.2 s that a server does not reply. The same is true of
# brpop, brpoplpush, blmove, bzpopmin and bzpopmax.
cd "$(dirname "$0")" && exec python3 -B - <<'END'
import os
import subprocess

from lib import debian, redis_server, verdict

root = debian("ruby-redis", "4.8.0-1")
PROGRAM = """
require 'redis'
def seconds
  began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  yield
rescue Redis::TimeoutError
  (Process.clock_gettime(Process::CLOCK_MONOTONIC) - began).round(1)
end
redis = Redis.new(path: ARGV[0], timeout: 0.2, reconnect_attempts: 0)
before = seconds { redis.call(['BLPOP', 'none', 9]) }
redis.blpop('none', timeout: 2)
puts "#{before} #{seconds { redis.call(['BLPOP', 'none', 9]) }}"
"""
library = os.path.join(root, "usr/share/rubygems-integration/all/gems/redis-4.8.0/lib")
done = subprocess.run(["ruby", "-I", library, "-e", PROGRAM, redis_server()], capture_output=True, text=True,
                      check=True)
seen = done.stdout.strip()
verdict("0.2 0.2: seconds until a timeout, before blpop and after it", seen, seen == "0.2 2.2")
END
