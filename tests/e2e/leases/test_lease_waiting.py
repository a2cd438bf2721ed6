#!/usr/bin/python3 -B
"""Clients that wait for leases: served in order, in the millisecond after a holder's lease has ended or
is dropped; a client that has gone is never granted. The clock is stepped."""
import signal
from contextlib import ExitStack, contextmanager

from leases import KEY, await_waiting, granted, info, take, wait
from daemon import NOON, Daemon, encode, equal, main, own, wait_for
from peers import FakeReplica
from replicas import Member, group


@contextmanager
def world(waiters, *options):
    with Daemon(*options) as daemon, ExitStack() as stack:
        daemon.hold()
        raw = stack.enter_context(daemon.raw())
        others = [stack.enter_context(other) for other in daemon.raws(waiters)]
        yield daemon, raw, others
        equal(raw.call("DEBUG", "CHECK"), b"+OK\r\n")


def line_up(raw, others, ttl=10, *options):
    for number, other in enumerate(others):
        wait(other, f"w{number}", ttl, *options)
        raw.call("PING")
    await_waiting(raw, len(others))


@own
def a_thousand_are_served_in_order_each_in_its_millisecond():
    count = 1000
    with world(count) as (daemon, raw, others):
        last, _ = take(raw, "first", 10)
        line_up(raw, others)
        for number, other in enumerate(others):
            daemon.step(10)
            assert not other.has_more(), number
            daemon.step(1)
            token, end = granted(other.reply())
            equal(end, NOON + 11 * (number + 1) + 10)
            assert token > last
            last = token
            if number % 100 == 0:
                equal(info(raw)["waiting"], count - number - 1)
                assert not any(later.has_more() for later in others[number + 1:])


@own
def a_drop_serves_the_next_at_once():
    with world(3) as (_, raw, others):
        token, _ = take(raw, "a", 1000)
        line_up(raw, others, 1000)
        for other in others:
            equal(raw.call("LEASE.DROP", KEY, token), b":1\r\n")
            token, _ = granted(other.reply())
        equal(info(raw)["held"], 1)


@own
def each_permit_that_becomes_free_goes_to_one():
    with world(10) as (daemon, raw, others):
        for number in range(3):
            take(raw, f"h{number}", 100, "PERMITS", 3)
        line_up(raw, others, 1000, "PERMITS", 3)
        daemon.step(101)
        raw.call("PING")
        equal([other.has_more() for other in others], [True] * 3 + [False] * 7)
        equal(info(raw)["held"], 3)


@own
def nobody_passes_clients_that_wait():
    with world(2) as (daemon, raw, others):
        take(raw, "a", 100)
        line_up(raw, others[:1], 100)
        daemon.together([(others[1], encode("CLIENT", "ID")), (raw, encode("CLIENT", "ID"))])
        raw.reply()
        others[1].reply()
        raw.send(encode("MULTI") + encode("DEL", KEY) + encode("LEASE.TAKE", KEY, "c", 100)
                 + encode("EXEC"))
        equal(raw.replies(4)[3], b"*2\r\n:1\r\n*-1\r\n")
        assert granted(others[0].reply())
        equal(set(info(raw)["holders"]), {b"w0"})
        token, _ = info(raw)["holders"][b"w0"]
        wait(others[1], "w1", 100)
        await_waiting(raw, 1)
        drop_and_take = "return {redis.call('LEASE.DROP', KEYS[1], ARGV[1]), redis.call('LEASE.TAKE', KEYS[1], 'w0', 9)}"
        equal(raw.call("EVAL", drop_and_take, 1, KEY, token), b"*2\r\n:1\r\n$-1\r\n")
        assert granted(others[1].reply())


@own
def who_has_gone_is_never_granted():
    with world(4) as (daemon, raw, others):
        token, _ = take(raw, "a", 100)
        line_up(raw, others, 100)
        others[0].close()
        others[1].socket.shutdown(1)  # half closed
        await_waiting(raw, 2)
        equal(raw.call("LEASE.DROP", KEY, token), b":1\r\n")
        assert granted(others[2].reply())
        equal(set(info(raw)["holders"]), {b"w2"})
        assert not others[3].has_more()


@own
def a_crowd_that_closes_as_the_lease_is_dropped_is_passed_over():
    """The server reads the drop before it has read that all of the crowd have gone."""
    with world(400) as (daemon, raw, others), daemon.raw() as alive:
        token, _ = take(raw, "first", 1000)
        line_up(raw, others, 1000)
        wait(alive, "alive", 1000)
        await_waiting(raw, 401)
        daemon.process.send_signal(signal.SIGSTOP)
        raw.send(encode("LEASE.DROP", KEY, token))
        for other in others:
            other.close()
        daemon.process.send_signal(signal.SIGCONT)
        granted(alive.reply())
        equal(raw.reply(), b":1\r\n")


@own
def a_timeout_answers_null_and_leaves_the_queue():
    with world(2) as (daemon, raw, others):
        take(raw, "a", 1000)
        wait(others[0], "b", 100, timeout=0.05)
        await_waiting(raw, 1)
        wait(others[1], "c", 100)
        await_waiting(raw, 2)
        daemon.step(50)
        equal(others[0].reply(), b"*-1\r\n")
        equal(info(raw)["waiting"], 1)
        daemon.step(951)
        assert granted(others[1].reply())


@own
def a_key_that_changes_under_them_answers():
    with world(2) as (daemon, raw, others):
        take(raw, "a", 1000, "PERMITS", 2)
        take(raw, "b", 1000, "PERMITS", 2)
        line_up(raw, others, 100, "PERMITS", 2)
        raw.call("DEL", KEY)
        assert granted(others[0].reply()) and granted(others[1].reply())
        wait(others[0], "c", 100, "PERMITS", 2)
        await_waiting(raw, 1)
        raw.call("SET", KEY, "v")
        assert others[0].reply().startswith(b"-WRONGTYPE")


@own
def the_first_who_waited_decides_the_permits():
    with world(2) as (daemon, raw, others):
        take(raw, "a", 100)
        line_up(raw, others[:1], 100)
        equal(raw.call("LEASE.TAKE", KEY, "x", 10, "PERMITS", 2, "WAIT", 0),
              b"-ERR the key is held with PERMITS 1\r\n")
        daemon.step(101)
        assert granted(others[0].reply())


@own
def clients_are_served_once_fewer_replicas_are_needed():
    with world(2, "--clock", "stepped", "--min-replicas-to-write", "0") as (_, raw, others):
        take(raw, "a", 1000)
        line_up(raw, others, 1000)
        equal(raw.call("CONFIG", "SET", "min-replicas-to-write", 1), b"+OK\r\n")
        raw.call("CLOCK", "ADVANCE", 1001)
        # With a retry at intervals, this would take minutes.
        now = int(raw.call("CLOCK", "ADVANCE", 365 * 86400 * 1000)[1:])
        equal(info(raw)["waiting"], 2)
        equal(raw.call("CONFIG", "SET", "min-replicas-to-write", 0), b"+OK\r\n")
        equal(granted(others[0].reply())[1], now + 1000)
        assert not others[1].has_more()
        raw.call("CONFIG", "SET", "min-replicas-to-write", 1)
        raw.call("CLOCK", "ADVANCE", 1001)
        equal(raw.call("CLIENT", "PAUSE", 500, "WRITE"), b"+OK\r\n")
        raw.call("CONFIG", "SET", "min-replicas-to-write", 0)
        raw.call("CLOCK", "ADVANCE", 2000)
        equal(granted(others[1].reply())[1], now + 1001 + 501 + 1000)


@own
def nobody_is_granted_while_replicas_are_too_few():
    with group(2, "--min-replicas-to-write", "1") as (master, replica):
        with master.raw() as waiter:
            # A replica counts from its first acknowledgement on.
            assert wait_for(lambda: not master.call("LEASE.TAKE", "first", "a", 10).startswith(b"-NOREPLICAS"))
            token, _ = take(master.conn, "a", 1000)
            wait(waiter, "b", 1000)
            await_waiting(master.conn, 1)
            equal(replica.call("LEASE.TAKE", KEY, "x", 10)[:9], b"-READONLY")
            replica.follow(None)
            assert wait_for(lambda: master.call("LEASE.TAKE", "other", "a", 10)
                            .startswith(b"-NOREPLICAS"))
            master.now = master.step(1001)
            master.call("PING")
            assert not waiter.has_more()
            replica.follow(master)
            later, end = granted(waiter.reply())  # although the clock stands still
            equal(end, master.now + 1000)
            assert later > token


@own
def a_client_hears_at_once_when_replicas_are_enough():
    """Each second the server wakes up by itself, and sends PING to its replicas. What waited for the next
    turn came in one piece with it."""
    def is_heard_alone(master, watcher, key):
        with master.raw() as waiter, FakeReplica(master) as missing:
            missing.copy()
            master.ok("CONFIG", "SET", "min-replicas-to-write", 0)
            take(master.conn, "a", 1000, key=key)
            wait(waiter, "b", 1000, key=key)
            await_waiting(master.conn, 1, key)
            master.ok("CONFIG", "SET", "min-replicas-to-write", 2)
            master.step(1001)
            watcher.heard()
            while b"PING" not in watcher.pending:
                watcher.more()
            watcher.take()
            watcher.pending = b""
            missing.acknowledge(1)
            granted(waiter.reply())
            return key.encode() in (heard := watcher.heard()) and b"PING" not in heard

    with Member() as master, FakeReplica(master) as watcher:
        _, offset = watcher.copy()
        watcher.acknowledge(offset)
        # A machine that stands still for a second spoils a round.
        assert any(is_heard_alone(master, watcher, f"lock{number}") for number in range(5))


if __name__ == "__main__":
    main()
