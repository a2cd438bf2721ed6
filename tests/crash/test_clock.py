#!/usr/bin/python3 -B
"""Changes of the machine's clock while the daemon runs: nothing expires before its deadline by the
daemon's clock, overdue data expires without a request, and timeouts of blocked clients keep their
length. Also spans that are too long to wait for.

shifted_clock.c shifts the clock that the daemon reads, and wakes its timers as the kernel does.
"""
import mmap
import os
import re
import select
import struct
import time

from crash import FAULT, REPLY_SECONDS, Budget, Daemon, encode, equal, preload, read_reply, run, seeded, test, wait_for
from followers import await_caught_up, call, follow
from process import PATIENCE
from tls import TlsDaemon, context

SHIM = os.path.join(os.path.dirname(FAULT), "shifted_clock.so")
HOUR = 3_600_000
OK = b"+OK\r\n"
LATE = 20_000 * PATIENCE  # milliseconds: a wait that the change of the clock has lengthened ends an hour later


class Shifted(Daemon):
    """A daemon whose clock is the machine's plus `shift` milliseconds."""

    def __init__(self, *options, **how):
        super().__init__(*options, **how)
        self.shift = 0

    def start(self):
        path = os.path.join(self.dir, "shift")
        with open(path, "wb") as file:
            file.write(bytes(24))
        with open(path, "r+b") as file:
            self.page = mmap.mmap(file.fileno(), 24)
        self.env = preload(SHIM, CLOCK_SHIFT=path)
        self.changes = 0
        super().start()

    def now(self):
        return time.time_ns() // 1_000_000 + self.shift

    def set_clock(self, by):
        self.shift += by
        self.changes += 1
        struct.pack_into("q", self.page, 0, self.shift * 1_000_000)
        struct.pack_into("q", self.page, 8, self.changes)

    def let_pass(self, msec):
        """Spans inside the daemon are longer by this much; its timers and deadlines are not."""
        struct.pack_into("q", self.page, 16, msec * 1_000_000)


def pass_time(msec):
    """These tests are about the machine's clock, so real time has to pass."""
    select.select([], [], [], msec / 1000)


class Listener:
    """Subscribes to expired events."""

    def __init__(self, daemon):
        self.raw = daemon.raw()
        daemon.redis().config_set("notify-keyspace-events", "EA")
        self.raw.call("PSUBSCRIBE", "__keyevent@0__:*")
        self.heard = set()

    def hear(self):
        for reply in self.raw.heard_replies():
            message = read_reply(reply)[0][1]
            if message[2][1].split(b":")[1] in (b"expired", b"del"):
                self.heard.add(message[3][1].decode())


class Keys:
    """Keys with deadlines, and whether each must have expired."""

    def __init__(self, daemon, rng):
        self.daemon, self.rng, self.raw = daemon, rng, daemon.raw()
        self.listener = Listener(daemon)
        self.deadlines, self.latest = {}, 0
        self.count = 0

    def close(self):
        self.raw.close()
        self.listener.raw.close()

    def add(self):
        self.count += 1
        key = f"k{self.count}"
        at = self.daemon.now() + self.rng.choice((1, 5, 50, 200, 1000, HOUR // 2, HOUR, 2 * HOUR))
        self.deadlines[key] = at
        if self.rng.randrange(2):
            reply = self.raw.call("SET", key, "v", "PXAT", at)
            equal(reply, OK)
        else:
            reply = self.raw.call("SADDEX", key, "PXAT", at, "MEMBERS", 1, "m")
            if reply != b":1\r\n":
                assert self.daemon.now() >= at, reply  # over before it arrived
                del self.deadlines[key]

    def look(self):
        """Checks with EXISTS that no key expired early and no expired key exists."""
        self.note()
        keys = sorted(self.deadlines)
        before = self.daemon.now()
        self.raw.send(b"".join(encode("EXISTS", key) for key in keys))
        there = {key for key in keys if self.raw.reply() == b":1\r\n"}
        self.listener.hear()
        self.note()
        for key in keys:
            at = self.deadlines[key]
            if key not in there or key in self.listener.heard:
                assert at < self.latest + 1, f"{key} was {at - self.latest} ms early"
                del self.deadlines[key]
            else:
                assert at >= before, f"{key} was there {before - at} ms too long"

    def note(self):
        """The latest that the daemon's clock can have been."""
        self.latest = max(self.latest, self.daemon.now())

    def await_due(self):
        """Waits until all due keys have expired without being read."""
        end = time.monotonic() + LATE / 1000
        while True:
            self.note()
            self.listener.hear()
            due = {key for key, at in self.deadlines.items() if at < self.daemon.now() - 50}
            if due <= self.listener.heard:
                return
            assert time.monotonic() < end, f"{sorted(due - self.listener.heard)} are still there"
            pass_time(5)


STEPS = (HOUR, -HOUR, HOUR, -HOUR, 1, -1, 20, -20, 300, -300, 90_000, -90_000)


@test
def keys_and_members_never_expire_early_by_the_clock():
    rng, budget = seeded("keys"), Budget(0.4)
    with Shifted() as daemon:
        keys = Keys(daemon, rng)
        while budget.more(60):
            for _ in range(rng.randrange(4)):
                keys.add()
            keys.look()
            if rng.randrange(3) == 0:
                keys.note()
                daemon.set_clock(rng.choice(STEPS))
            if rng.randrange(2):
                keys.await_due()
            else:
                pass_time(rng.choice((0, 1, 30)))
        equal(keys.raw.call("DEBUG", "CHECK"), OK)
        keys.close()


@test
def due_keys_expire_when_the_clock_is_set_ahead():
    with Shifted() as daemon:
        keys = Keys(daemon, seeded("ahead"))
        for _ in range(50):
            keys.add()
        keys.note()
        daemon.set_clock(3 * HOUR)
        keys.await_due()
        keys.look()
        equal(keys.deadlines, {})
        keys.close()


@test
def key_set_after_the_clock_went_back_expires_in_time():
    with Shifted() as daemon:
        keys = Keys(daemon, seeded("back"))
        keys.raw.call("SET", "before", "v", "PX", 100)
        daemon.set_clock(-HOUR)
        keys.raw.call("SET", "after", "v", "PX", 100)
        at = daemon.now() + 100
        keys.deadlines["after"] = at
        assert wait_for(lambda: daemon.now() > at + 60)
        keys.await_due()
        equal(keys.raw.call("EXISTS", "before", "after"), b":1\r\n")
        keys.close()


@test
def timeouts_of_blocked_clients_ignore_clock_changes():
    blocking = (("BLPOP", "list", 0.6), ("BZPOPMIN", "zset", 0.6), ("REDE.BPOLL", "rede", 0.6),
                ("BZTSPOP", "zset", 1, 0.6), ("REDE.CLAIM", "rede", 1000, "BLOCK", 0.6))
    for by in (HOUR, -HOUR, -300):
        with Shifted() as daemon:
            raws = [daemon.raw() for _ in blocking]
            began = time.monotonic()
            for raw, words in zip(raws, blocking):
                raw.send(encode(*words))
            with daemon.raw() as other:
                equal(other.call("PING"), b"+PONG\r\n")
            pass_time(100)
            daemon.set_clock(by)
            for raw, words in zip(raws, blocking):
                raw.socket.settimeout(REPLY_SECONDS)
                try:
                    reply = raw.reply()
                except TimeoutError:
                    raise AssertionError(f"{words} waits on, the clock set by {by} ms") from None
                took = (time.monotonic() - began) * 1000
                assert reply in (b"*-1\r\n", b"*0\r\n"), reply
                assert 590 <= took < 600 + LATE, f"{words}: {took:.0f} ms, the clock set by {by}"
                raw.close()


@test
def blocked_client_gets_an_element_due_after_a_clock_change():
    with Shifted() as daemon, daemon.raw() as waiter, daemon.raw() as writer:
        for by in (HOUR, -HOUR, HOUR):
            equal(writer.call("REDE.PUSH", "rede", HOUR if by > 0 else 200, "p", "id"), OK)
            waiter.send(encode("REDE.BPOLL", "rede", 0))
            equal(writer.call("PING"), b"+PONG\r\n")
            if by > 0:
                daemon.set_clock(by)
            else:
                daemon.set_clock(by)
                equal(writer.call("REDE.PUSH", "rede", 100, "p", "earlier"), OK)
            waiter.socket.settimeout(REPLY_SECONDS)
            equal(waiter.reply(), b"*1\r\n$1\r\np\r\n", f"by {by}")
            writer.call("DEL", "rede")


@test
def leases_keep_their_span_when_the_clock_is_set():
    """Also of a waiting client: it is granted when the span is over, and not before."""
    span = 700
    for by in (HOUR, -HOUR, -300, 300):
        with Shifted("--appendonly", "yes") as daemon, daemon.raw() as raw, daemon.raw() as waiter:
            began = time.monotonic()
            token = int(raw.call("LEASE.TAKE", "lock", "a", span).split(b"\r\n")[1][1:])
            granted = time.monotonic()
            waiter.send(encode("LEASE.TAKE", "lock", "b", 60000, "WAIT", 0))
            pass_time(100)
            daemon.set_clock(by)
            left = int(raw.call("LEASE.CHECK", "lock", token)[1:])
            spent = (time.monotonic() - began) * 1000
            assert span - spent - 10 <= left <= span - 90, (by, left, spent)
            daemon.set_clock(by // 2)
            assert waiter.reply().startswith(b"*2")
            end = time.monotonic()
            assert (end - began) * 1000 >= span - 10, (by, end - began)
            assert (end - granted) * 1000 < span + LATE, (by, end - granted)
            equal(raw.call("DEBUG", "CHECK"), OK)
            digest = raw.call("DEBUG", "DIGEST")
            equal(raw.call("DEBUG", "LOADAOF"), OK)
            equal(raw.call("DEBUG", "DIGEST"), digest)


@test
def clients_wait_for_unseen_leases_while_the_clock_is_set():
    """After a crash: no request comes after the change that would serve the waiting client."""
    span = 1000
    for by in (HOUR, -HOUR):
        with Shifted("--appendonly", "yes", "--lease-max-ttl", str(span)) as daemon:
            with daemon.raw() as raw:
                raw.call("LEASE.TAKE", "lock", "a", 1)
            daemon.kill()
            began = time.monotonic()
            daemon.start()
            with daemon.raw() as waiter:
                waiter.send(encode("LEASE.TAKE", "free", "b", span, "WAIT", 0))
                pass_time(100)
                early = waiter.has_more()
                assert not early or (time.monotonic() - began) * 1000 >= span - 10, by
                daemon.set_clock(by)
                assert waiter.reply().startswith(b"*2")
                spent = (time.monotonic() - began) * 1000
                assert span - 10 <= spent < span + LATE, (by, spent)


@test
def clients_are_served_while_the_clock_is_set_often():
    rng = seeded("tremble")
    with Shifted() as daemon, daemon.raw() as raw:
        for number in range(300):
            daemon.set_clock(rng.randrange(-30, 31))
            equal(raw.call("SET", f"k{number}", "v", "PX", 5000), OK)
            equal(raw.call("EXISTS", f"k{number}"), b":1\r\n")
        equal(raw.call("DEBUG", "CHECK"), OK)


def idle_of(raw, number):
    return int(re.search(rb" idle=(\d+) ", raw.call("CLIENT", "LIST", "ID", number))[1])


@test
def timeout_spares_a_client_that_sends_a_large_argument():
    with Shifted("--timeout", "60") as daemon, daemon.raw() as sender, daemon.raw() as silent, \
            daemon.raw() as other:
        number = sender.call("CLIENT", "ID")[1:-2]
        equal(silent.call("PING"), b"+PONG\r\n")
        sender.send(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5000000\r\n" + 2_000_000 * b"x")
        for msec in (50_000, 100_000):
            daemon.let_pass(msec)
            sender.send(1_000_000 * b"x")
            assert wait_for(lambda: idle_of(other, number) < 50)  # a part of the upload has arrived since
        assert wait_for(lambda: silent.has_more() and silent.closed), "idle for 100 seconds"
        sender.send(1_000_000 * b"x" + b"\r\n")
        equal(sender.reply(), OK)


class ShiftedTls(Shifted, TlsDaemon):
    pass


def info_of(raw, name):
    return int(re.search(rb"\r\n%s:(\d+)\r\n" % name.encode(), raw.call("INFO"))[1])


@test
def timeout_counts_from_the_end_of_a_handshake():
    with ShiftedTls("--timeout", "9") as daemon, daemon.raw() as other, daemon.tls() as early:
        equal(early.call("PING"), b"+PONG\r\n")
        connection = daemon.plain_to_tls()
        assert wait_for(lambda: info_of(other, "connected_clients") == 3)
        daemon.let_pass(5500)
        with context().wrap_socket(connection, server_hostname="localhost") as late:
            assert wait_for(lambda: info_of(other, "tls_handshakes") == 2)
            daemon.let_pass(11_000)
            assert wait_for(lambda: early.has_more() and early.closed), "idle for 11 seconds"
            late.sendall(b"PING\r\n")
            equal(late.recv(100), b"+PONG\r\n")


@test
def timeout_ends_a_handshake_that_has_not_begun():
    with ShiftedTls("--timeout", "2", "--loglevel", "verbose") as daemon, daemon.plain_to_tls() as silent:
        daemon.let_pass(4000)  # of the ten seconds that a handshake may take
        equal(silent.recv(100), b"")
        assert "closed: idle for longer than timeout" in daemon.log(), daemon.log()


def stat(daemon, section, name):
    with daemon.raw() as raw:
        for line in raw.call("INFO", section).split(b"\r\n"):
            if line.startswith(name.encode() + b":"):
                return int(line.split(b":")[1])
    raise AssertionError(f"no {name}")


@test
def promotion_restarts_repl_backlog_ttl():
    quick = ("--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1000000000")
    with Daemon(*quick, tcp=True) as master, Daemon(*quick, tcp=True) as other, \
            Shifted(*quick, "--repl-timeout", "1000000", tcp=True) as replica:
        follow(replica, master)
        follow(other, master)
        equal(call(master, "SET", "k", "v"), b"OK")
        await_caught_up(master, replica, other)
        with replica.raw() as raw:
            equal(raw.call("REPLCONF", "rdb-only", 1), OK)  # as redis-cli --rdb does
            number = raw.call("CLIENT", "ID")[1:-2]
        with replica.raw() as raw:
            assert wait_for(lambda: raw.call("CLIENT", "LIST", "ID", number) == b"$0\r\n\r\n")
        replica.let_pass(2 * HOUR)
        equal(call(replica, "REPLICAOF", "NO", "ONE"), b"OK")
        since = stat(replica, "server", "uptime_in_seconds")
        assert wait_for(lambda: stat(replica, "server", "uptime_in_seconds") >= since + 3)
        follow(other, replica)
        equal((stat(replica, "stats", "sync_partial_ok"), stat(replica, "stats", "sync_full")), (1, 0),
              replica.log())


run()
