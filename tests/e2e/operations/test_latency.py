#!/usr/bin/python3 -B
"""LATENCY with samples: LATEST, HISTORY and RESET, compared with redis-server 7.0.15; GRAPH and DOCTOR."""
import re
import sys
import time

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, beside_redis, equal, main, oracle, own, plain, read_reply
from process import STRETCH

SLOW_MSEC = int(300 * STRETCH)  # a busy machine may delay any call
THRESHOLD = ("--latency-monitor-threshold", str(SLOW_MSEC))


def ask(raw, *words):
    return plain(read_reply(raw.call(*words))[0])


def slow_call(raw, msec):
    """DEBUG SLEEP is a slow command; returns the seconds in which its sample may be."""
    began = int(time.time())
    raw.call("DEBUG", "SLEEP", msec / 1000)
    return range(began, int(time.time()) + 1)


@beside_redis
def slow_commands_are_listed_until_they_are_reset():
    for daemon in (Daemon(*THRESHOLD), Daemon(*THRESHOLD, binary=oracle())):
        with daemon, daemon.raw() as raw:
            equal(ask(raw, "LATENCY", "LATEST"), [])
            equal(ask(raw, "LATENCY", "HISTORY", "command"), [])
            seconds = slow_call(raw, SLOW_MSEC + 50)
            [[name, at, latest, worst]] = ask(raw, "LATENCY", "LATEST")
            equal((name, at in seconds, latest), (b"command", True, worst))
            assert SLOW_MSEC + 50 <= latest < SLOW_MSEC + 60_000, latest
            equal(ask(raw, "LATENCY", "HISTORY", "command"), [[at, latest]])
            equal(ask(raw, "LATENCY", "HISTORY", "fast-command"), [])
            equal(ask(raw, "LATENCY", "RESET", "fast-command", "none"), 0)
            equal(ask(raw, "LATENCY", "RESET", "command"), 1)
            equal(ask(raw, "LATENCY", "LATEST"), [])


@own
def fast_calls_are_no_samples_and_zero_turns_them_off():
    with Daemon(*THRESHOLD) as daemon, daemon.raw() as raw:
        ask(raw, "DEBUG", "SLEEP", "0")
        equal(ask(raw, "LATENCY", "LATEST"), [])
        ask(raw, "CONFIG", "SET", "latency-monitor-threshold", "0")
        slow_call(raw, SLOW_MSEC + 50)
        equal(ask(raw, "LATENCY", "LATEST"), [])


@own
def graph_and_doctor_show_the_bounds_of_the_samples():
    bounds = rb"command - high (\d+) ms, low (\d+) ms \(all time high (\d+) ms\)\n"
    with Daemon(*THRESHOLD) as daemon, daemon.raw() as raw:
        equal(ask(raw, "LATENCY", "GRAPH", "command"),
              b"ERR No samples available for event 'command'")
        slow_call(raw, SLOW_MSEC + 50)
        text = ask(raw, "LATENCY", "GRAPH", "command")
        high, low, worst = map(int, re.fullmatch(bounds, text).groups())
        equal((high, low), (worst, worst))
        assert re.search(rb"^" + bounds, ask(raw, "LATENCY", "DOCTOR"), re.M)


main()
