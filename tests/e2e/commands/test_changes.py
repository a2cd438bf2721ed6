#!/usr/bin/python3 -B
"""rdb_changes_since_last_save counts what Debian's redis-server counts."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, equal, main, oracle, own

# Each line is a program: preparing commands, "|", and commands whose changes are counted.
LINES = """
BITFIELD k SET u8 0 1
BITFIELD k SET u8 0 0
BITFIELD k SET u8 1000 0
BITFIELD k SET u8 0 1 SET u8 8 2 INCRBY u8 0 1
BITFIELD k GET u8 100
BITFIELD k GET u8 100 SET u8 0 1 GET u8 0
BITFIELD k OVERFLOW FAIL INCRBY u2 0 9 INCRBY u2 100 1
BITFIELD k OVERFLOW FAIL INCRBY u2 0 1 INCRBY u2 100 9
BITFIELD k OVERFLOW SAT INCRBY i8 0 -1000
SET k abc | BITFIELD k SET u8 0 97
SET k abc | BITFIELD k SET u8 0 98
SET k abc | BITFIELD k SET u8 0 97 SET u8 100 0
SET k abc | BITFIELD k SET u8 0 97 SET u8 8 99
SET k abc | BITFIELD k SET u8 800 1 SET u8 1600 2
SETBIT k 100 1
SETBIT k 100 0
SET k abc | SETBIT k 1 1
SET k abc | SETRANGE k 10 x
SETRANGE k 10 x
SETRANGE k 10 x | APPEND k y
APPEND k y
"""


def count(raw, line):
    before, _, counted = line.rpartition("|")
    raw.call("FLUSHALL")
    if before:
        raw.call(*before.split())
    first = changes(raw)
    reply = raw.call(*counted.split())
    return reply, changes(raw) - first


def changes(raw):
    return int(raw.call("INFO", "persistence").split(b"rdb_changes_since_last_save:")[1].split()[0])


@own
def changes_are_counted_as_redis_counts_them():
    with Daemon() as daemon, Daemon(binary=oracle()) as redis, \
            daemon.raw() as ours, redis.raw() as theirs:
        for line in LINES.strip().splitlines():
            equal(count(ours, line), count(theirs, line), line)


main()
