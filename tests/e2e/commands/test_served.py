#!/usr/bin/python3 -B
"""SLOWLOG, LATENCY, INFO and CLIENT LIST of calls that block, compared with redis-server 7.0.15."""
import re
import sys
import time

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import REPLY_SECONDS, Daemon, encode, equal, main, oracle, own, read_reply, test, wait_for

WAITING = ["BLPOP", "BRPOP", "BLMOVE", "BZPOPMIN", "BLMPOP", "BZMPOP"]


class Observed:
    """A server with a slow log of all calls, and two connections to it."""

    def __init__(self, daemon):
        self.admin, self.waiter = daemon.raw(), daemon.raw()
        self.waiter_id = int(self.waiter.call("CLIENT", "ID")[1:])
        self.begin()

    def close(self):
        self.admin.close()
        self.waiter.close()

    def begin(self):
        for request in ("FLUSHALL", "CONFIG RESETSTAT", "SLOWLOG RESET", "LATENCY RESET"):
            self.admin.call(*request.split())

    def wait(self, line):
        self.waiter.send(encode(*line.split()))
        assert wait_for(self.is_blocked), f"{line} does not wait"

    def is_blocked(self):
        return b"blocked_clients:1\r\n" in self.admin.call("INFO", "clients")

    def stats(self):
        """{command: (calls, rejected, failed)} of blocking commands."""
        text = self.admin.call("INFO", "commandstats").decode()
        found = re.findall(r"cmdstat_(\w+):calls=(\d+),.*rejected_calls=(\d+),failed_calls=(\d+)",
                           text)
        return {row[0].upper(): tuple(map(int, row[1:])) for row in found
                if row[0].upper() in WAITING}

    def usec(self, command):
        text = self.admin.call("INFO", "commandstats").decode()
        return int(re.search(rf"cmdstat_{command.lower()}:calls=\d+,usec=(\d+)", text).group(1))

    def errors(self):
        return re.findall(rb"errorstat_(\w+):count=(\d+)", self.admin.call("INFO", "errorstats"))

    def slow(self):
        """[(duration, arguments)] of blocking commands, the oldest first."""
        entries = read_reply(self.admin.call("SLOWLOG", "GET", "-1"))[0][1]
        calls = [(int(entry[1][2][1]), [word[1] for word in entry[1][3][1]]) for entry in entries]
        return [call for call in reversed(calls) if call[1][0].decode().upper() in WAITING]

    def histogram(self):
        """{command: calls} of blocking commands."""
        items = read_reply(self.admin.call("LATENCY", "HISTOGRAM"))[0][1]
        return {items[i][1].decode().upper(): int(items[i + 1][1][1][1])
                for i in range(0, len(items), 2) if items[i][1].decode().upper() in WAITING}

    def latency_events(self):
        events = read_reply(self.admin.call("LATENCY", "LATEST"))[0][1]
        return {event[1][0][1] for event in events}

    def facts(self):
        return {"commandstats": self.stats(), "errorstats": self.errors(),
                "slowlog": [call[1] for call in self.slow()], "histogram": self.histogram()}


def on_both(*scenes):
    """Each scene's figures must equal those of Redis."""
    options = ("--slowlog-log-slower-than", "0", "--slowlog-max-len", "1000")
    found = []
    with Daemon(*options) as here, Daemon(*options, binary=oracle()) as there:
        for scene in scenes:
            facts = []
            for daemon in (here, there):
                observed = Observed(daemon)
                scene(observed)
                facts.append(observed.facts())
                observed.close()
            if facts[0] != facts[1]:
                found.append(f"{scene.__name__}:\n  here  {facts[0]}\n  Redis {facts[1]}")
    assert not found, "\n".join(found)


def blocked(at):
    at.wait("BLPOP k 0")


def served(at):
    for line, push in (("BLPOP k 0", "RPUSH k a"), ("BRPOP k l 0", "RPUSH l a b"),
                       ("BLMOVE k m LEFT RIGHT 0", "RPUSH k a"), ("BZPOPMIN z 0", "ZADD z 1 a"),
                       ("BLMPOP 0 2 k l LEFT COUNT 2", "RPUSH k a b"),
                       ("BZMPOP 0 1 z MIN", "ZADD z 1 a")):
        at.admin.call("FLUSHALL")
        at.wait(line)
        at.admin.call(*push.split())
        at.waiter.reply()


def served_by_exec(at):
    at.wait("BLPOP k 0")
    for line in ("MULTI", "RPUSH k a", "EXEC"):
        at.admin.call(*line.split())
    at.waiter.reply()


def served_with_an_error(at):
    at.admin.call("SET", "text", "x")
    at.wait("BLMOVE k text LEFT LEFT 0")
    at.admin.call("RPUSH", "k", "a")
    equal(at.waiter.reply()[:10], b"-WRONGTYPE")


def not_served(at):
    at.waiter.call("BLPOP", "k", "0.05")


def not_waiting(at):
    at.admin.call("RPUSH", "k", "a")
    at.waiter.call("BLPOP", "k", "0")
    for line in ("MULTI", "BLPOP k 0", "EXEC"):
        at.admin.call(*line.split())


@test
def a_served_call_is_counted_and_logged_once_as_by_redis():
    on_both(blocked, served, served_by_exec, served_with_an_error, not_served, not_waiting)


@test
def unblock_with_error_counts_as_a_failed_call():
    with Daemon("--slowlog-log-slower-than", "0") as daemon:
        at = Observed(daemon)
        at.wait("BLPOP k 0")
        equal(at.admin.call("CLIENT", "UNBLOCK", at.waiter_id, "ERROR"), b":1\r\n")
        equal(at.waiter.reply(), b"-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n")
        equal(at.errors(), [(b"UNBLOCKED", b"1")])
        equal(at.stats(), {"BLPOP": (1, 0, 1)})
        equal(at.histogram(), {"BLPOP": 1})
        assert b"total_error_replies:1\r\n" in at.admin.call("INFO", "stats")
        at.close()


@own
def unblock_is_no_error_and_slowlog_has_the_arguments():
    with Daemon("--slowlog-log-slower-than", "0") as daemon:
        at = Observed(daemon)
        at.wait("BLPOP k 0")
        equal(at.admin.call("CLIENT", "UNBLOCK", at.waiter_id), b":1\r\n")
        equal(at.waiter.reply(), b"*-1\r\n")
        equal(at.errors(), [])
        equal(at.stats(), {"BLPOP": (1, 0, 0)})
        equal([call[1] for call in at.slow()], [[b"BLPOP", b"k", b"0"]])
        at.close()


MANY = 200_000


@test
def slowlog_latency_and_commandstats_time_a_served_call():
    with Daemon("--slowlog-log-slower-than", "1000", "--latency-monitor-threshold",
                "1") as daemon:
        at = Observed(daemon)
        at.wait(f"BLMPOP 0 1 k LEFT COUNT {MANY}")
        equal(at.slow(), [])
        at.admin.send(encode("RPUSH", "k", *[b"0123456789"] * MANY))
        at.waiter.socket.settimeout(REPLY_SECONDS)
        at.waiter.reply()
        equal(at.admin.reply(), b":%d\r\n" % MANY)
        (usec, words), = at.slow()
        equal(words[0], b"BLMPOP")
        assert usec >= 1000, usec
        assert at.usec("BLMPOP") >= usec, (at.usec("BLMPOP"), usec)
        assert b"command-unblocking" in at.latency_events(), at.latency_events()
        equal(at.histogram(), {"BLMPOP": 1})
        at.close()


@own
def a_dehydrator_call_that_blocks_counts_as_one_call():
    with Daemon("--slowlog-log-slower-than", "0") as daemon:
        at = Observed(daemon)
        daemon.hold()
        at.waiter.send(encode("REDE.BPOLL", "d", "0"))
        assert wait_for(at.is_blocked)
        at.admin.call("REDE.PUSH", "d", "1000", "x", "id")  # serves it again, but nothing is due
        daemon.step(1000)
        equal(at.waiter.reply().count(b"x\r\n"), 1)
        text = at.admin.call("INFO", "commandstats").decode()
        assert re.search(r"cmdstat_rede\.bpoll:calls=1,.*failed_calls=0", text), text
        equal(at.admin.call("SLOWLOG", "GET", "-1").count(b"REDE.BPOLL"), 1)
        at.close()


# ---- CLIENT LIST ----


REQUESTS = [
    b"CLIENT LIST\r\n", b"CLIENT INFO\r\n", encode("CLIENT", "LIST"), encode("client", "info"),
    b"PING\r\nCLIENT LIST\r\n", b"PING\r\nCLIENT INFO\r\nPING\r\n",
    encode("CLIENT", "INFO") + b"*2\r\n$3\r\nGET",
]


@test
def qbuf_has_the_request_being_executed_as_in_redis():
    found = []
    with Daemon() as here, Daemon(binary=oracle()) as there:
        for request in REQUESTS:
            shown = []
            for daemon in (here, there):
                with daemon.raw() as raw:
                    raw.send(request)
                    replies = [raw.reply() for _ in range(request.upper().count(b"PING") + 1)]
                    text = b"".join(replies)
                    shown.append(re.findall(rb" (qbuf=\d+) .*cmd=client", text))
            if shown[0] != shown[1] or not shown[0]:
                found.append(f"{request!r}: here {shown[0]}, Redis {shown[1]}")
    assert not found, "\n".join(found)


@own
def slowlog_shows_blocked_time_apart_from_executed_time():
    with Daemon("--slowlog-log-slower-than", "0") as daemon:
        at = Observed(daemon)
        at.wait("BLPOP l 0")
        began = time.monotonic()
        wait_for(lambda: time.monotonic() - began > 1, nap=0.01)  # real time: it is measured
        at.admin.call("RPUSH", "l", "x")
        at.waiter.reply()
        entries = read_reply(at.admin.call("SLOWLOG", "GET", "-1", "WITHBLOCKED"))[0][1]
        found = {entry[1][3][1][0][1]: entry[1] for entry in entries}
        ran, blocked = (int(found[b"BLPOP"][i][1]) for i in (2, 6))
        assert blocked >= 990_000 > ran, (ran, blocked)
        equal(int(found[b"RPUSH"][6][1]), 0)
        entries = read_reply(at.admin.call("SLOWLOG", "GET", "1"))[0][1]
        equal(len(entries[0][1]), 6)
        assert at.admin.call("SLOWLOG", "GET", "1", "OTHER").startswith(b"-ERR"), "a word"
        at.close()


main()
