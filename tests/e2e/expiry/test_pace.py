#!/usr/bin/python3 -B
"""Expiry waits for subscribers that read its events too slowly, for ten seconds at most.

The clock is held, so only the tests decide whether these seconds have passed."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import NOON, Daemon, encode, equal, main, test, wait_for

COUNT = 20_000
BATCH = 1000
PAD = "x" * 200  # in each name: the events are 5 MB, much more than the limit and the kernel's buffers
LIMIT = ("--client-output-buffer-limit", "pubsub 1mb 0 0")
EVENTS = "__keyevent@0__:expired"
AT = NOON + 1000
PATIENCE = 10_000  # milliseconds


def name(number):
    return f"{number:06}{PAD}"


def events(names, channel=EVENTS):
    return {encode("message", channel, key) for key in names}


class Burst:
    """A daemon whose clock is held, COUNT keys that are due at AT, and a connection."""

    def __init__(self, *options, count=COUNT):
        self.daemon = Daemon("--notify-keyspace-events", "Ex", *LIMIT, *options)
        self.count = count

    def __enter__(self):
        self.daemon.__enter__()
        self.daemon.hold()
        self.raw = self.daemon.raw()
        for begin in range(0, self.count, BATCH):
            self.raw.calls([("SET", name(i), "v", "PXAT", AT) for i in range(begin, begin + BATCH)])
        return self.daemon, self.raw

    def __exit__(self, *exception):
        self.raw.close()
        return self.daemon.__exit__(*exception)


def subscriber(daemon):
    raw = daemon.raw()
    raw.call("SUBSCRIBE", EVENTS)
    return raw


def info(raw, field):
    for line in raw.call("INFO", "expiry", "clients").decode().split("\r\n"):
        if line.startswith(field + ":"):
            return int(line[len(field) + 1:])
    raise AssertionError(field)


def assert_gets_all(raw, *, before=(), channel=EVENTS):
    """The client gets one event of each key, `before` among them."""
    found = [*before, *raw.replies(COUNT - len(before))]
    assert set(found) == events(map(name, range(COUNT)), channel), found[-1]


@test
def a_subscriber_that_pauses_gets_every_event():
    with Burst() as (daemon, raw), subscriber(daemon) as slow:
        daemon.step(1001)
        gone = info(raw, "expired_keys")
        assert 0 < gone < COUNT, gone
        daemon.step(PATIENCE)
        equal(info(raw, "expired_keys"), gone)
        assert_gets_all(slow)
        equal(info(raw, "expired_keys"), COUNT)
        equal(info(raw, "pubsub_clients"), 1)


@test
def expiry_next_does_not_wait_for_a_subscriber():
    with Burst() as (daemon, raw), subscriber(daemon):
        members = 5000
        raw.call("SADD", "s", *range(members), "stays")
        raw.call("SPEXPIREAT", "s", AT, "MEMBERS", members, *range(members))
        raw.call("SADDEX", "s", "PXAT", AT + 60_000, "MEMBERS", 1, "late")
        daemon.step(1001)
        assert 0 < info(raw, "expired_keys") < COUNT
        equal(raw.call("EXPIRY", "NEXT"), b"*1\r\n*3\r\n$1\r\ns\r\n:%d\r\n$6\r\nmember\r\n" % (AT + 60_000))
        assert info(raw, "expired_keys") < COUNT


@test
def one_that_does_not_read_is_closed_and_others_get_every_event():
    with Burst() as (daemon, raw), subscriber(daemon), subscriber(daemon) as reader:
        daemon.step(1001)
        gone = info(raw, "expired_keys")
        early = reader.replies(gone)
        daemon.step(PATIENCE)
        equal(info(raw, "expired_keys"), gone)
        daemon.step(1)
        assert_gets_all(reader, before=early)
        equal(info(raw, "expired_keys"), COUNT)
        equal(info(raw, "pubsub_clients"), 1)


@test
def keys_are_gone_and_not_counted_while_expiry_waits():
    with Burst() as (daemon, raw), subscriber(daemon) as slow:
        raw.call("SET", "stays", "v")
        daemon.step(1001)
        assert info(raw, "expired_keys") < COUNT
        equal(raw.calls([("GET", name(COUNT - 1)), ("DBSIZE",), ("RANDOMKEY",)]),
              [b"$-1\r\n", b":1\r\n", b"$5\r\nstays\r\n"])
        raw.call("DEBUG", "CHECK")
        raw.call("SET", name(COUNT - 2), "again")
        assert_gets_all(slow)
        equal(raw.call("DBSIZE"), b":2\r\n")
        raw.call("DEBUG", "CHECK")


@test
def expiry_goes_on_when_the_subscriber_has_gone():
    with Burst() as (daemon, raw):
        slow = subscriber(daemon)
        daemon.step(1001)
        assert info(raw, "expired_keys") < COUNT
        slow.close()
        assert wait_for(lambda: info(raw, "expired_keys") == COUNT)


@test
def expiry_does_not_wait_when_its_keys_take_memory_that_others_need():
    with Burst("--maxmemory-policy", "noeviction") as (daemon, raw), subscriber(daemon):
        daemon.step(1001)
        assert info(raw, "expired_keys") < COUNT
        raw.call("CONFIG", "SET", "maxmemory", "1mb")
        assert wait_for(lambda: info(raw, "expired_keys") == COUNT)
        equal(info(raw, "pubsub_clients"), 0)


@test
def without_a_hard_limit_expiry_never_waits():
    with Burst() as (daemon, raw), subscriber(daemon) as slow:
        raw.call("CONFIG", "SET", "client-output-buffer-limit", "pubsub 0 0 0")
        daemon.step(1001)
        equal(info(raw, "expired_keys"), COUNT)
        assert_gets_all(slow)


@test
def other_messages_of_a_slow_subscriber_delay_no_expiry():
    with Burst(count=BATCH) as (daemon, raw), daemon.raw() as slow:
        slow.call("SUBSCRIBE", "news")
        raw.call("PUBLISH", "news", "x" * 900_000)
        daemon.step(1001)
        equal(info(raw, "expired_keys"), BATCH)


@test
def invalidations_of_a_cache_that_reads_slowly_are_not_lost():
    for mode in (["BCAST"], []):
        with Burst() as (daemon, raw), daemon.raw() as slow, daemon.raw() as cache:
            number = slow.call("CLIENT", "ID")[1:].strip()
            slow.call("SUBSCRIBE", "__redis__:invalidate")
            equal(cache.call("CLIENT", "TRACKING", "ON", *mode, "REDIRECT", number), b"+OK\r\n")
            for begin in range(0, COUNT, BATCH):
                cache.calls([("GET", name(i)) for i in range(begin, begin + BATCH)])
            daemon.clock("HOLD", AT + 1)  # unlike after a step, keys expire over several turns
            assert wait_for(lambda: info(raw, "paced_msec") > 0)
            assert info(raw, "expired_keys") < COUNT
            gone = 0
            while gone < COUNT:
                gone += slow.reply().count(PAD.encode())
            equal(info(raw, "expired_keys"), COUNT)


@test
def a_policy_for_existing_keys_waits_too():
    channel = "__keyevent@0__:expire"
    with Burst() as (daemon, raw), daemon.raw() as slow:
        raw.call("CONFIG", "SET", "notify-keyspace-events", "Eg")
        slow.call("SUBSCRIBE", channel)
        raw.call("POLICY", "SET", "0*", "MAXTTL", "500")
        daemon.step(0)
        equal(info(raw, "policies_pending"), 1)
        assert_gets_all(slow, channel=channel)
        equal(info(raw, "policies_pending"), 0)


if __name__ == "__main__":
    main()
