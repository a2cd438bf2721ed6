#!/usr/bin/python3 -B
"""Clients that block until an instant: BZTSPOP, BZTSMOVE, REDE.BPOLL and REDE.CLAIM.

The clock is stepped, except in tests that the daemon serves clients by itself, soon after the instant
and never before it.
"""
import statistics
import sys
import time

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import NOON, Daemon, encode, equal, main, own
from process import PATIENCE

LATE_MSEC = 1000 * PATIENCE  # of most rounds; that nothing comes early is checked in each
WRONGTYPE = b"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"


class Waiting:
    """A daemon whose clock is held, a connection that writes and some that block."""

    def __init__(self, waiters):
        self.count = waiters
        self.daemon = Daemon()

    def __enter__(self):
        self.daemon.__enter__()
        self.daemon.hold()
        self.writer = self.daemon.raw()
        self.waiters = self.daemon.raws(self.count)
        return self

    def __exit__(self, *exception):
        for raw in (self.writer, *self.waiters):
            raw.close()
        return self.daemon.__exit__(*exception)

    def wait(self, *arguments):
        """Sends the same command on each of them, one after the other."""
        for raw in self.waiters:
            raw.send(encode(*arguments))
            self.writer.call("PING")

    def step(self, msec):
        self.daemon.step(msec)
        self.writer.call("PING")

    def add(self, key, msec, member):
        equal(self.writer.call("ZADD", key, score(NOON + msec), member), b":1\r\n")


def score(msec):
    return f"{msec // 1000}.{msec % 1000:03d}"


def pop_of(member, msec):
    text = f"{(NOON + msec) / 1000:.17g}".encode()
    return b"*2\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n" % (len(member), member, len(text), text)


@own
def a_hundred_wait_and_one_is_served():
    with Waiting(100) as world:
        world.add("z", 10, b"first")
        world.add("z", 20, b"second")
        world.wait("BZTSPOP", "z", 1, 0)
        first, second, *others = world.waiters
        world.step(9)
        assert all(not raw.has_more() for raw in world.waiters)
        world.step(1)
        equal(first.reply(), pop_of(b"first", 10))
        assert all(not raw.has_more() for raw in (second, *others))
        world.step(10)
        equal(second.reply(), pop_of(b"second", 20))
        assert all(not raw.has_more() for raw in others)
        equal(world.writer.call("EXISTS", "z"), b":0\r\n")


@own
def an_earlier_member_wakes_and_a_later_one_does_not():
    with Waiting(1) as world:
        world.add("z", 50, b"late")
        world.wait("BZTSPOP", "z", 1, 0)
        world.add("z", 20, b"early")
        world.add("z", 30, b"gone")
        world.step(19)
        assert not world.waiters[0].has_more()
        equal(world.writer.call("ZREM", "z", "early"), b":1\r\n")
        equal(world.writer.call("ZADD", "z", score(NOON + 90), "gone"), b":0\r\n")
        world.step(30)
        assert not world.waiters[0].has_more()
        world.step(1)
        equal(world.waiters[0].reply(), pop_of(b"late", 50))


@own
def who_has_gone_is_given_nothing():
    with Waiting(3) as world:
        world.add("z", 10, b"m")
        world.wait("BZTSMOVE", "z", "l", 1, 0)
        gone, unblocked, left = world.waiters
        number = world.writer.call("CLIENT", "LIST").count(b"cmd=bztsmove")
        equal(number, 3)
        gone.close()
        other = world.daemon.raw()
        other.send(encode("CLIENT", "ID"))
        last = int(other.reply()[1:])
        equal(other.call("CLIENT", "UNBLOCK", last - 2), b":1\r\n")
        equal(unblocked.reply(), b"*-1\r\n")
        world.step(10)
        equal(left.reply(), b"*1\r\n$1\r\nm\r\n")
        equal(world.writer.call("LRANGE", "l", 0, -1), b"*1\r\n$1\r\nm\r\n")
        other.close()


@own
def a_pause_puts_off_what_comes_in_it():
    with Waiting(2) as world:
        world.add("z", 10, b"m")
        world.wait("BZTSPOP", "z", 1, 0.015)
        late = world.daemon.raw()
        late.send(encode("BZTSPOP", "z", 1, 0))
        world.writer.call("PING")
        equal(world.writer.call("CLIENT", "PAUSE", 20, "WRITE"), b"+OK\r\n")
        world.step(14)
        assert not world.waiters[0].has_more()
        world.step(1)
        for raw in world.waiters:
            equal(raw.reply(), b"*-1\r\n")
        world.step(5)
        assert not late.has_more()
        world.step(1)
        equal(late.reply(), pop_of(b"m", 10))
        late.close()


@own
def a_pause_that_is_called_off_serves_at_once():
    with Waiting(1) as world:
        world.add("z", 10, b"m")
        world.wait("BZTSPOP", "z", 1, 0)
        equal(world.writer.call("CLIENT", "PAUSE", 1000, "WRITE"), b"+OK\r\n")
        world.step(100)
        world.writer.call("DEBUG", "CLOCK")  # a turn later all has been sent that the step served
        assert not world.waiters[0].has_more()
        equal(world.writer.call("CLIENT", "UNPAUSE"), b"+OK\r\n")
        equal(world.waiters[0].reply(), pop_of(b"m", 10))


@own
def a_wrong_destination_is_reported_when_members_are_due():
    with Waiting(2) as world:
        world.add("z", 10, b"m")
        first, second = world.waiters
        first.send(encode("BZTSMOVE", "z", "l", 1, 0))
        world.writer.call("PING")
        second.send(encode("BZTSPOP", "z", 1, 0))
        world.writer.call("PING")
        world.writer.call("SET", "l", "string")
        world.step(10)
        equal(first.reply(), WRONGTYPE)
        equal(second.reply(), pop_of(b"m", 10))


@own
def what_is_sent_behind_a_wait_runs_after_it():
    with Waiting(1) as world:
        world.add("z", 10, b"a")
        world.add("z", 20, b"b")
        one = encode("BZTSPOP", "z", 1, 0)
        world.waiters[0].send(one + one + encode("PING"))
        world.step(10)
        equal(world.waiters[0].reply(), pop_of(b"a", 10))
        assert not world.waiters[0].has_more()
        world.step(10)
        equal(world.waiters[0].reply(), pop_of(b"b", 20))
        equal(world.waiters[0].reply(), b"+PONG\r\n")


# --- dehydrators ---------------------------------------------------------------------------------


def payload(text):
    return b"*1\r\n$%d\r\n%s\r\n" % (len(text), text)


def claimed(name, text, deliveries):
    return b"*1\r\n*3\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n:%d\r\n" % (
        len(name), name, len(text), text, deliveries)


@own
def a_hundred_poll_and_each_element_goes_to_one():
    with Waiting(100) as world:
        world.wait("REDE.BPOLL", "d", 0, "COUNT", 1)
        for i in range(3):
            world.writer.call("REDE.PUSH", "d", 10 * i + 10, f"p{i}", f"id{i}")
        for i in range(3):
            world.step(9)
            assert all(not raw.has_more() for raw in world.waiters[i:])
            world.step(1)
            equal(world.waiters[i].reply(), payload(b"p%d" % i))
            assert all(not raw.has_more() for raw in world.waiters[i + 1:])


@own
def an_earlier_element_wakes_however_it_came_to_be_earlier():
    changes = {
        "pushed": (("REDE.PUSH", "d", 5, "p", "new"),),
        "rescheduled": (("REDE.RESCHEDULE", "d", 5, "far"),),
        "given back": (("REDE.NACK", "d", 5, "held"),),
        "in a transaction": (("MULTI",), ("REDE.PUSH", "d", 5, "p", "new"), ("EXEC",)),
        "renamed": (("REDE.PUSH", "e", 5, "p", "new"), ("RENAME", "e", "d")),
        "copied": (("REDE.PUSH", "e", 5, "p", "new"), ("COPY", "e", "d", "REPLACE")),
    }
    for how, lines in changes.items():
        with Waiting(2) as world:
            world.writer.call("REDE.PUSH", "d", 0, "p", "held")
            world.writer.call("REDE.CLAIM", "d", 1000)
            world.writer.call("REDE.PUSH", "d", 500, "p", "far")
            world.wait("REDE.BPOLL", "d", 0)
            for line in lines:
                reply = world.writer.call(*line)
                assert reply[:1] != b"-", reply
            world.step(4)
            assert all(not raw.has_more() for raw in world.waiters), how
            world.step(1)
            equal(world.waiters[0].reply(), payload(b"p"), how)
            assert not world.waiters[1].has_more(), how


@own
def who_claims_and_who_polls_are_served_in_one_line():
    with Waiting(4) as world:
        for i, line in enumerate((("REDE.CLAIM", "d", 20, "COUNT", 1, "BLOCK", 0),
                                  ("REDE.BPOLL", "d", 0, "COUNT", 1)) * 2):
            world.waiters[i].send(encode(*line))
            world.writer.call("PING")
        world.writer.call("REDE.MPUSH", "d", 10, "p", "a", 10, "q", "b")
        world.step(10)
        equal(world.waiters[0].reply(), claimed(b"a", b"p", 1))
        equal(world.waiters[1].reply(), payload(b"q"))
        assert not world.waiters[2].has_more() and not world.waiters[3].has_more()
        world.step(19)
        assert not world.waiters[2].has_more()
        world.step(1)  # the lease ends
        equal(world.waiters[2].reply(), claimed(b"a", b"p", 2))
        world.waiters[2].close()
        world.step(20)
        equal(world.waiters[3].reply(), payload(b"p"))
        equal(world.writer.call("EXISTS", "d"), b":0\r\n")


@own
def elements_that_go_with_their_key_serve_nobody():
    with Waiting(1) as world:
        world.writer.call("REDE.PUSH", "d", 10, "p", "id")
        world.writer.call("PEXPIRE", "d", 5)
        world.wait("REDE.BPOLL", "d", 0.03)
        world.step(29)
        assert not world.waiters[0].has_more()
        world.step(1)
        equal(world.waiters[0].reply(), b"*-1\r\n")


# --- in real time --------------------------------------------------------------------------------


def now_usec():
    return time.time_ns() // 1000


def soon(late):
    """Microseconds behind the instant, of each round. The machine may have paused some rounds."""
    assert min(late) >= 0 and statistics.median(late) < LATE_MSEC * 1000, late


@own
def in_real_time_a_member_is_popped_soon_after_its_score():
    with Daemon() as daemon, daemon.raw() as waiter, daemon.raw() as writer:
        late = []
        for ahead in (3, 8, 15, 21, 34, 5, 12):
            at = now_usec() // 1000 + ahead
            writer.call("ZADD", "z", score(at + 600_000), "far")
            waiter.send(encode("BZTSPOP", "z", 1, 60))
            writer.call("ZADD", "z", score(at), "m")
            reply = waiter.reply()
            late.append(now_usec() - at * 1000)
            assert b"$1\r\nm\r\n" in reply, reply
        soon(late)


@own
def in_real_time_an_element_is_polled_soon_after_its_deadline():
    with Daemon() as daemon, daemon.raw() as waiter, daemon.raw() as writer:
        late = []
        for ahead in (3, 8, 15, 21, 34, 5, 12):
            waiter.send(encode("REDE.BPOLL", "d", 60))
            at = now_usec() // 1000 + ahead
            writer.call("REDE.PUSHAT", "d", at + 600_000, "far", f"far{at}")
            writer.call("REDE.PUSHAT", "d", at, "p", "id")
            equal(waiter.reply(), payload(b"p"))
            late.append(now_usec() - at * 1000)
        soon(late)


@own
def in_real_time_a_wait_with_a_time_to_come_ends_when_it_is_over():
    with Daemon() as daemon, daemon.raw() as waiter, daemon.raw() as writer:
        writer.call("ZADD", "z", score(now_usec() // 1000 + 60_000), "m")
        late = []
        for _ in range(7):
            began = now_usec()
            equal(waiter.call("BZTSPOP", "z", 1, 0.02), b"*-1\r\n")
            late.append(now_usec() - began - 10_000)
        soon(late)


@own
def a_pause_in_real_time_ends_by_itself_and_then_serves():
    """The instant must come during the pause. A busy machine may reach it before the pause begins: then
    the next round has more time."""
    with Daemon() as daemon, daemon.raw() as waiter, daemon.raw() as writer:
        for ahead in (5, 50, 500, 5000):
            at = now_usec() // 1000 + ahead
            writer.call("ZADD", "z", score(at), "m")
            waiter.send(encode("BZTSPOP", "z", 1, 60))
            writer.call("PING")
            began, pause = now_usec(), (ahead + 25) * 1000
            writer.call("CLIENT", "PAUSE", ahead + 25, "WRITE")
            in_time = now_usec() < at * 1000
            assert b"$1\r\nm\r\n" in waiter.reply()
            passed = now_usec() - began
            if in_time:
                break
            writer.call("CLIENT", "UNPAUSE")
        assert in_time, "the machine is too slow"
        assert passed >= pause - 10_000, f"{passed} us after a pause of {pause} us"


main()
