#!/usr/bin/python3 -B
"""Threads that serve sockets (io-threads): what has gone wrong in servers that have them, and random clients
that come, wait, leave and are killed. STRESS=seconds makes that part longer."""
import os
import random
import socket
import sys
import time

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, encode, equal, main, own, random_seed, wait_for
from tls import TlsDaemon

FOUR = ("--io-threads", "4")
STRESS = float(os.environ.get("STRESS", "3"))
MB = 1 << 20


def clients_of(raw):
    return raw.call("CLIENT", "LIST").count(b"id=")


def memory_of(raw, field="used_memory"):
    for line in raw.call("INFO", "memory").split(b"\r\n"):
        if line.startswith(field.encode() + b":"):
            return int(line.split(b":")[1])
    raise AssertionError(field)


@own
def each_connection_has_its_replies_in_order():
    with TlsDaemon(*FOUR) as daemon:
        crowd = daemon.raws(20) + [daemon.tls() for _ in range(20)]
        for number, raw in enumerate(crowd):
            raw.send(b"".join(encode("ECHO", f"{number}:{i}:" + "x" * (i * 37 % 900)) for i in range(2000)))
        for number, raw in enumerate(crowd):
            for i, reply in enumerate(raw.replies(2000)):
                assert reply.split(b"\r\n")[1].startswith(b"%d:%d:" % (number, i)), (number, i, reply[:40])


@own
def requests_in_pieces_and_values_of_all_sizes_arrive():
    rng = random.Random(1)
    with TlsDaemon(*FOUR) as daemon:
        for raw in (daemon.raw(), daemon.tls()):
            for size in (0, 1, 1000, 65_000, 66_000, 300_000, 3 * MB):
                value = rng.randbytes(size)
                data, at = encode("SET", "k", value) + encode("GET", "k"), 0
                while at < len(data):
                    step = rng.choice((1, 7, 4096, 100_000)) if at > len(data) - 50_000 else 200_000
                    raw.send(data[at:at + step])
                    at += step
                equal(raw.replies(2), [b"+OK\r\n", b"$%d\r\n%s\r\n" % (size, value)])


@own
def a_reader_that_stops_is_bounded_and_then_closed():
    limit = 8 * MB
    with TlsDaemon(*FOUR, "--client-output-buffer-limit", f"normal {limit} 0 0") as daemon, daemon.raw() as admin:
        admin.call("SET", "k", b"v" * 100_000)
        for make in (daemon.raw, daemon.tls):
            slow = make()
            before = memory_of(admin)
            try:
                for _ in range(50 * limit // 100_000):
                    slow.send(encode("GET", "k"))
                    assert memory_of(admin) < before + 2 * limit
            except OSError:
                pass
            assert wait_for(lambda: clients_of(admin) == 1)
            assert wait_for(lambda: memory_of(admin) < before + MB)
            slow.close()


@own
def replies_in_many_pieces_are_sent_to_the_end():
    with TlsDaemon(*FOUR) as daemon, daemon.raw() as raw:
        raw.call("SADD", "s", *(f"member:{i:090d}" for i in range(7)))
        raw.send(encode("SINTER", "s", "s") * 300)
        assert all(reply.startswith(b"*7") for reply in raw.replies(300))


@own
def what_is_unsent_counts_as_memory_of_the_client():
    with TlsDaemon(*FOUR) as daemon, daemon.raw() as admin, daemon.raw() as slow:
        admin.call("SET", "k", b"v" * 10_000)  # larger ones are shared with the replies
        before = memory_of(admin)
        slow.send(encode("GET", "k") * 1000)
        assert wait_for(lambda: memory_of(admin) > before + 4 * MB)
        shown = max(int(line.split(b"tot-mem=")[1].split()[0])
                    for line in admin.call("CLIENT", "LIST").split(b"\n") if b"tot-mem=" in line)
        assert shown > 4 * MB, shown


def memory_of_clients(raw):
    """tot-mem of each client of CLIENT LIST, by its address."""
    lines = raw.call("CLIENT", "LIST").split(b"\n")
    fields = [dict(word.split(b"=", 1) for word in line.split()) for line in lines if b"tot-mem=" in line]
    return {line[b"addr"].decode(): int(line[b"tot-mem"]) for line in fields}


@own
def a_client_that_turns_replies_off_first_is_no_longer_anonymous_to_its_thread():
    with TlsDaemon(*FOUR) as daemon, daemon.raw() as admin, daemon.tls() as talks, daemon.tls() as silent:
        for raw in (talks, silent):
            if raw is silent:
                raw.send(encode("CLIENT", "REPLY", "OFF"))
            for _ in range(3):  # its thread counts what TLS needs when it reads
                raw.send(encode("LPUSH", "q", "x"))
                admin.call("BLPOP", "q", "0")
        memory = memory_of_clients(admin)
        by_raw = [memory["{}:{}".format(*raw.socket.getsockname())] for raw in (talks, silent)]
        assert by_raw[1] > by_raw[0] / 2, by_raw  # the other has a buffer for replies too


@own
def nobody_spins_at_closed_and_half_closed_sockets():
    with TlsDaemon(*FOUR) as daemon, daemon.raw() as admin:
        halves = [daemon.raw() for _ in range(10)] + [daemon.tls() for _ in range(5)]
        for raw in halves:
            raw.send(encode("BLPOP", "k", 0))
        assert wait_for(lambda: admin.call("CLIENT", "LIST").count(b"cmd=blpop") == len(halves))
        for raw in halves[:10]:
            raw.socket.shutdown(socket.SHUT_WR)
        for raw in halves[10:]:
            raw.close()
        assert wait_for(lambda: clients_of(admin) == 1)
        before = daemon.cpu_seconds()
        equal(admin.call("BLPOP", "none", "0.5"), b"*-1\r\n")
        assert daemon.cpu_seconds() - before < 0.25


@own
def a_shutdown_and_quit_send_the_last_reply():
    with TlsDaemon(*FOUR) as daemon:
        for make in (daemon.raw, daemon.tls, daemon.raw):
            raw = make()
            raw.send(encode("SET", "k", "v" * 200_000) + encode("GET", "k") + encode("QUIT"))
            found = raw.rest()
            assert found.startswith(b"+OK\r\n$200000\r\n") and found.endswith(b"v\r\n+OK\r\n"), found[:60]


@own
def the_journal_comes_before_the_reply():
    with Daemon(*FOUR, "--appendonly", "yes", "--appendfsync", "always") as daemon:
        crowd = daemon.raws(30)
        for number, raw in enumerate(crowd):
            raw.send(b"".join(encode("SET", f"{number}:{i}", i) for i in range(30)))
        replies = [raw.replies(10) for raw in crowd]
        daemon.kill()
        daemon.start()
        with daemon.raw() as raw:
            for number, some in enumerate(replies):
                for i in range(len(some)):
                    equal(raw.call("GET", f"{number}:{i}"), b"$1\r\n%d\r\n" % i)


@own
def killed_clients_end_in_whatever_state_they_are():
    with TlsDaemon(*FOUR) as daemon, daemon.raw() as admin:
        for make in (daemon.raw, daemon.tls):
            waits, reads, listens = make(), make(), make()
            waits.send(encode("BLPOP", "k", 0))
            reads.send(encode("SET", "big", "v" * MB) + encode("GET", "big") * 50)
            listens.call("SUBSCRIBE", "c")
            assert wait_for(lambda: clients_of(admin) == 4)
            unshaken = daemon.plain_to_tls()
            assert wait_for(lambda: clients_of(admin) == 5)
            for kind in ("normal", "pubsub"):
                admin.call("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")
            admin.call("PUBLISH", "c", "message")
            admin.call("RPUSH", "k", "v")
            admin.call("DEL", "k")
            assert wait_for(lambda: clients_of(admin) == 1)
            for raw in (waits, reads, listens, unshaken):
                raw.close()
        equal(admin.call("PING"), b"+PONG\r\n")


class Stress:
    """Random clients, of which some wait in a key, in a pause, in a subscription or in MULTI."""

    def __init__(self, daemon, rng):
        self.daemon, self.rng, self.crowd = daemon, rng, []
        self.admin = daemon.raw()

    def come(self):
        kind = self.rng.randrange(4)
        self.crowd.append(self.daemon.tls() if kind == 0 else self.daemon.raw(tcp=False))

    def leave(self):
        if self.crowd:
            self.crowd.pop(self.rng.randrange(len(self.crowd))).close()

    def say(self):
        if not self.crowd:
            return
        raw, rng = self.rng.choice(self.crowd), self.rng
        words = rng.choice((("SET", rng.randrange(50), "v" * rng.choice((1, 100, 70_000))), ("GET", rng.randrange(50)),
                            ("BLPOP", "list", "0.05"), ("RPUSH", "list", "v"), ("SUBSCRIBE", "c"), ("MULTI",),
                            ("EXEC",), ("PUBLISH", "c", "m" * 1000), ("CLIENT", "LIST"), ("CLIENT", "REPLY", "SKIP"),
                            ("HELLO", "3"), ("CLIENT", "TRACKING", "ON"), ("MONITOR",), ("RESET",), ("QUIT",)))
        try:
            raw.take()
            raw.pending = b""
            raw.send(encode(*words) * rng.choice((1, 1, 1, 20)))
        except OSError:
            raw.closed = True
        if raw.closed:
            self.crowd.remove(raw)
            raw.close()

    def kill(self):
        victims = [line.split()[0][3:] for line in self.admin.call("CLIENT", "LIST").split(b"\n") if line[:3] == b"id="]
        own_id = self.admin.call("CLIENT", "ID")[1:].strip()
        victims = [victim for victim in victims if victim != own_id]
        if victims:
            self.admin.call("CLIENT", "KILL", "ID", self.rng.choice(victims))

    def pause(self):
        self.admin.call("CLIENT", "PAUSE", self.rng.choice((1, 20)), self.rng.choice(("WRITE", "ALL")))

    def run(self, until):
        while time.monotonic() < until:
            step = self.rng.choices((self.come, self.leave, self.say, self.kill, self.pause, self.check),
                                    (10, 5, 200, 2, 0.5, 1))[0]
            step()
            if len(self.crowd) > 60:
                self.leave()

    def check(self):
        equal(self.admin.call("DEBUG", "CHECK"), b"+OK\r\n")


@own
def clients_come_wait_leave_and_are_killed():
    seed = random_seed()
    print(f"stress of seed {seed}")
    with TlsDaemon(*FOUR, "--maxclients", "200", "--client-output-buffer-limit", "normal 4mb 0 0") as daemon:
        stress = Stress(daemon, random.Random(seed))
        stress.run(time.monotonic() + STRESS)
        for raw in stress.crowd:
            raw.close()
        assert wait_for(lambda: clients_of(stress.admin) == 1)
        stress.check()


@own
def io_threads_is_read_at_the_start():
    with Daemon(*FOUR) as daemon, daemon.raw() as raw:
        assert b"io_threads_active:1" in raw.call("INFO", "server")
        assert raw.call("CONFIG", "SET", "io-threads", "2").startswith(b"-ERR")
        equal(len(os.listdir(f"/proc/{daemon.process.pid}/task")) >= 4, True)
    with Daemon("--io-threads", "1") as daemon, daemon.raw() as raw:
        assert b"io_threads_active:0" in raw.call("INFO", "server")


main(60 + STRESS)
