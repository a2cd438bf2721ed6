#!/usr/bin/python3 -B
"""Options of commands of Redis 7.0 that later servers added: WITHSCORE, NOVALUES and NOSCORES."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, equal, main, own
from later_options import differing


@own
def replies_are_those_of_later_servers():
    with Daemon() as daemon, daemon.raw() as raw:
        equal(differing(raw), [])


@own
def scan_of_a_large_collection_finds_each_name_once():
    with Daemon() as daemon, daemon.redis() as client, daemon.raw() as raw:
        names = sorted(b"f%d" % i for i in range(2000))
        client.hset("h", mapping=dict.fromkeys(names, "value"))
        client.zadd("z", dict.fromkeys(names, 1))
        for command, key, word in (("HSCAN", "h", "NOVALUES"), ("ZSCAN", "z", "NOSCORES")):
            cursor, found = None, []
            while cursor != b"0":
                reply = raw.call(command, key, cursor or 0, word, "COUNT", 100).split(b"\r\n")
                cursor, found = reply[2], found + reply[5::2]
            equal(sorted(found), names, command)


main()
