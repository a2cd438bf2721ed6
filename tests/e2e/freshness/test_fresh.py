#!/usr/bin/python3 -B
"""SOFT of SET, GETFRESH, STALE and SOFTTTL. The clock is stepped."""
import os
import sys
from contextlib import ExitStack, contextmanager

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import NOON, Daemon, encode, equal, in_resp2, main, own, plain, read_reply, wait_for
from followers import await_caught_up
from replicas import check_same, group

KEY = "page"


def parsed(reply):
    found = plain(read_reply(reply)[0])
    assert isinstance(found, list) and len(found) == 2, reply
    value, state = found
    return value, state.decode()


def get(raw, *options, key=KEY):
    """(value, state)"""
    return parsed(raw.call("GETFRESH", key, *options))


def wait(raw, *options, key=KEY):
    raw.send(encode("GETFRESH", key, *options, "WAIT", 0))


@contextmanager
def world(others=0, *options):
    with Daemon(*options) as daemon, ExitStack() as stack:
        daemon.hold()
        raw = stack.enter_context(daemon.raw())
        yield daemon, raw, [stack.enter_context(other) for other in daemon.raws(others)]
        equal(raw.call("DEBUG", "CHECK"), b"+OK\r\n")


def info(raw, section, name):
    text = plain(read_reply(raw.call("INFO", section))[0]).decode()
    return int(dict(line.split(":", 1) for line in text.split("\r\n") if ":" in line)[name])


def await_blocked(raw, count):
    assert wait_for(lambda: info(raw, "clients", "blocked_clients") == count), info(raw, "clients", "blocked_clients")


def line_up(raw, others, *options):
    for number, other in enumerate(others):
        wait(other, *options)
        await_blocked(raw, number + 1)


@own
def reads_do_not_fill_the_memory_with_rights():
    keys, most = 150_000, 100_000
    with world() as (_, raw, _):
        before = info(raw, "memory", "used_memory")
        for first in range(0, keys, 10_000):
            raw.send(b"".join(encode("GETFRESH", f"missing:{i}") for i in range(first, first + 10_000)))
            assert all(b"fill" in reply for reply in raw.replies(10_000))
        assert info(raw, "memory", "used_memory") < before + 100 * most
        equal(get(raw, key="missing:1")[1], "missing")
        equal(get(raw, key=f"missing:{keys - 1}")[1], "fill")


@own
def changes_in_place_of_a_stale_value_do_not_end_the_right():
    with world() as (_, raw, _):
        for kind in (("INCR", KEY), ("APPEND", KEY, "1"), ("SETRANGE", KEY, 0, "2"), ("SETBIT", KEY, 1, 1),
                     ("SET", KEY, "7", "KEEPTTL", "SOFT", 1)):
            raw.calls([("DEL", KEY), ("SET", KEY, "5"), ("STALE", KEY)])
            equal(get(raw)[1], "refresh")
            raw.call(*kind)
            wanted = "fresh" if "SOFT" in kind else "stale"
            equal(get(raw)[1], wanted, kind)
        raw.calls([("DEL", "hll"), ("PFADD", "hll", "a"), ("STALE", "hll")])
        equal(get(raw, key="hll")[1], "refresh")
        raw.call("PFCOUNT", "hll")
        equal(get(raw, key="hll")[1], "stale")


@own
def a_client_that_waits_at_a_replica_may_make_the_value_after_its_promotion():
    with group(2) as (_, replica), replica.raw() as one, replica.raw() as two:
        wait(one)
        await_blocked(two, 1)
        equal(two.call("REPLICAOF", "NO", "ONE"), b"+OK\r\n")
        equal(parsed(one.reply()), (None, "fill"))
        equal(get(two), (None, "missing"))


@own
@in_resp2
def a_value_that_was_waited_for_is_tracked():
    with world(1) as (_, raw, (other,)):
        other.call("HELLO", "3")
        equal(other.call("CLIENT", "TRACKING", "ON"), b"+OK\r\n")
        equal(get(raw), (None, "fill"))
        wait(other)
        await_blocked(raw, 1)
        raw.call("SET", KEY, "v")
        while b"fresh" not in (reply := other.reply()):
            assert reply.startswith(b">"), reply
        raw.call("SET", KEY, "w")
        assert b"invalidate" in other.reply()


# --- the value and its state -------------------------------------------------------------------


@own
def a_value_is_fresh_then_stale_then_gone():
    with world() as (daemon, raw, _):
        equal(raw.call("SET", KEY, "v", "PX", 100, "SOFT", 40), b"+OK\r\n")
        equal(get(raw), (b"v", "fresh"))
        equal(raw.call("SOFTTTL", KEY), b":40\r\n")
        daemon.step(39)
        equal(get(raw), (b"v", "fresh"))
        daemon.step(1)
        equal(raw.call("SOFTTTL", KEY), b":0\r\n")
        equal(get(raw), (b"v", "refresh"))
        equal(get(raw), (b"v", "stale"))
        equal(raw.call("GET", KEY), b"$1\r\nv\r\n")
        daemon.step(61)
        equal(raw.call("GET", KEY), b"$-1\r\n")
        equal(get(raw), (None, "missing"))  # the client that refreshes makes it


@own
def a_value_without_a_soft_deadline_is_always_fresh():
    with world() as (daemon, raw, _):
        raw.call("SET", KEY, "v")
        daemon.step(10 ** 9)
        equal(get(raw, "EARLY", 10 ** 15), (b"v", "fresh"))
        equal(raw.call("SOFTTTL", KEY), b":-1\r\n")
        equal(raw.call("SOFTTTL", "none"), b":-2\r\n")
        raw.call("SADD", "set", "a")
        equal(raw.call("SOFTTTL", "set"), b":-1\r\n")


@own
def a_soft_deadline_needs_no_deadline():
    with world() as (daemon, raw, _):
        raw.call("SET", KEY, "v", "SOFT", 10)
        daemon.step(10 ** 9)
        equal(get(raw), (b"v", "refresh"))
        equal(raw.call("PTTL", KEY), b":-1\r\n")


@own
def set_without_soft_clears_it_and_changes_in_place_keep_it():
    clears = (("SET", KEY, "1"), ("SET", KEY, "1", "KEEPTTL"), ("SETEX", KEY, 9, "1"), ("GETSET", KEY, "1"),
              ("MSET", KEY, "1"), ("MSETEX", 1, KEY, "1", "KEEPTTL"))
    keeps = (("INCR", KEY), ("APPEND", KEY, "1"), ("SETRANGE", KEY, 0, "2"), ("INCRBYFLOAT", KEY, "1.5"),
             ("EXPIRE", KEY, 5), ("PERSIST", KEY), ("SETBIT", KEY, 7, 1), ("GETEX", KEY, "PX", 70))
    for length in (1, 8, 17):
        with world() as (_, raw, _):
            for call in clears + keeps:
                equal(raw.call("SET", KEY, "1" * length, "PX", 100, "SOFT", 40), b"+OK\r\n")
                assert not raw.call(*call).startswith(b"-"), call
                equal(raw.call("SOFTTTL", KEY), b":-1\r\n" if call in clears else b":40\r\n", f"after {call}")
                equal(raw.call("DEBUG", "CHECK"), b"+OK\r\n")


@own
def text_length_and_encoding_do_not_depend_on_a_soft_deadline():
    with world() as (_, raw, _):
        for text in ("", "7", "x" * 8, "x" * 9, "x" * 44, "x" * 45, "x" * 100_000, "x" * 2_000_000):
            raw.call("SET", "plain", text)
            raw.call("SET", KEY, text, "SOFT", 5)
            for call in (("GET",), ("STRLEN",), ("OBJECT", "ENCODING"), ("GETRANGE",)):
                arguments = (0, -1) if call == ("GETRANGE",) else ()
                equal(raw.call(*call, KEY, *arguments), raw.call(*call, "plain", *arguments), f"{call} {len(text)}")
            equal(get(raw)[0], text.encode())


@own
def early_gives_the_right_before_the_value_is_stale():
    with world() as (daemon, raw, _):
        raw.call("SET", KEY, "v", "PX", 100, "SOFT", 40)
        daemon.step(29)
        equal(get(raw, "EARLY", 10), (b"v", "fresh"))
        daemon.step(1)
        equal(get(raw), (b"v", "fresh"))
        equal(get(raw, "EARLY", 10), (b"v", "refresh"))
        equal(get(raw, "EARLY", 10), (b"v", "fresh"))
        daemon.step(10)
        equal(get(raw, "EARLY", 10), (b"v", "stale"))


@own
def stale_makes_values_stale_now():
    with world() as (daemon, raw, _):
        for key in ("a", "b", "c"):
            raw.call("SET", key, "v", "PX", 100)
        equal(raw.call("STALE", "a", "b", "none"), b":2\r\n")
        equal(get(raw, key="a"), (b"v", "refresh"))
        equal(raw.call("SOFTTTL", "b"), b":0\r\n")
        equal(raw.call("SOFTTTL", "c"), b":-1\r\n")
        equal(raw.call("PTTL", "a"), b":100\r\n")
        equal(raw.call("STALE", "none"), b":0\r\n")


@own
def stale_does_not_change_anything_if_one_key_has_another_type():
    with world() as (_, raw, _):
        raw.call("SET", "a", "v", "SOFT", 40)
        raw.call("SADD", "set", "m")
        assert raw.call("STALE", "a", "set").startswith(b"-WRONGTYPE")
        equal(raw.call("SOFTTTL", "a"), b":40\r\n")


# --- the right to make a value -----------------------------------------------------------------


@own
def one_client_fills_and_the_right_ends_with_its_set():
    with world() as (_, raw, _):
        equal(get(raw), (None, "fill"))
        equal(get(raw), (None, "missing"))
        raw.call("SET", KEY, "v", "SOFT", 40)
        equal(get(raw), (b"v", "fresh"))
        raw.call("DEL", KEY)
        equal(get(raw), (None, "fill"))


@own
def the_right_ends_with_its_lease():
    with world() as (daemon, raw, _):
        equal(get(raw, "LEASE", 30), (None, "fill"))
        daemon.step(29)
        equal(get(raw), (None, "missing"))
        daemon.step(1)
        equal(get(raw), (None, "fill"))
        daemon.step(4999)  # the default lease
        equal(get(raw), (None, "missing"))
        daemon.step(1)
        equal(get(raw), (None, "fill"))


@own
def what_sets_or_deletes_the_value_ends_the_right():
    ends = (("SET", KEY, "w"), ("DEL", KEY), ("UNLINK", KEY), ("GETDEL", KEY), ("RENAME", KEY, "other"),
            ("RENAME", "spare", KEY), ("COPY", "spare", KEY, "REPLACE"), ("FLUSHDB",), ("FLUSHALL",),
            ("MOVE", KEY, 1))
    keeps = (("APPEND", KEY, "w"), ("EXPIRE", KEY, 10), ("PERSIST", KEY), ("GET", KEY), ("STALE", KEY), ("GETEX", KEY, "EX", 10))
    with world() as (_, raw, _):
        for call in ends + keeps:
            raw.call("FLUSHALL")
            raw.call("SET", "spare", "s")
            raw.call("SET", KEY, "v", "EX", 100)
            raw.call("STALE", KEY)
            equal(get(raw)[1], "refresh")
            assert not raw.call(*call).startswith(b"-"), call
            raw.call("STALE", KEY)
            state = get(raw)[1]
            equal(state in ("refresh", "fill"), call in ends, f"after {call}: {state}")


@own
def a_right_does_not_end_with_an_expired_or_evicted_value():
    with world() as (daemon, raw, _):
        raw.call("SET", KEY, "v", "PX", 100, "SOFT", 10)
        daemon.step(50)
        equal(get(raw, "LEASE", 100), (b"v", "refresh"))
        daemon.step(51)
        equal(get(raw), (None, "missing"))


@own
def a_filler_that_finds_nothing_gives_up_with_del():
    with world(2) as (_, raw, others):
        equal(get(raw), (None, "fill"))
        line_up(raw, others)
        equal(raw.call("DEL", KEY), b":0\r\n")
        equal(parsed(others[0].reply()), (None, "fill"))
        assert not others[1].has_more()


@own
def rights_belong_to_a_database():
    with world() as (_, raw, _):
        equal(get(raw), (None, "fill"))
        raw.call("SELECT", 1)
        equal(get(raw), (None, "fill"))
        raw.call("SWAPDB", 0, 2)
        raw.call("SELECT", 0)
        equal(get(raw), (None, "fill"))
        raw.call("SELECT", 2)
        equal(get(raw), (None, "missing"))


@own
def ended_rights_take_no_memory():
    def used(raw):
        return info(raw, "memory", "used_memory")

    with world() as (daemon, raw, _):
        before = used(raw)
        for number in range(2000):
            equal(get(raw, "LEASE", 10, key=f"{'key' * 30}{number}")[1], "fill")
        assert used(raw) > before + 200_000, used(raw) - before
        daemon.step(10)
        assert wait_for(lambda: used(raw) < before + 20_000), used(raw) - before


# --- waiting -----------------------------------------------------------------------------------


@own
def a_thousand_clients_at_a_missing_key_cause_one_fill():
    with world(1000) as (_, raw, others):
        for other in others:
            wait(other)
        await_blocked(raw, len(others) - 1)
        fillers = [other for other in others if other.has_more()]
        equal([parsed(filler.reply()) for filler in fillers], [(None, "fill")])
        raw.call("SET", KEY, "v", "EX", 100, "SOFT", 10)
        for other in others:
            if other not in fillers:
                equal(parsed(other.reply()), (b"v", "fresh"))


@own
def a_filler_that_dies_costs_one_lease():
    with world(3) as (daemon, raw, others):
        equal(get(raw, "LEASE", 100), (None, "fill"))
        line_up(raw, others, "LEASE", 50)
        daemon.step(99)
        assert not any(other.has_more() for other in others)
        daemon.step(1)
        equal(parsed(others[0].reply()), (None, "fill"))
        daemon.step(50)
        equal(parsed(others[1].reply()), (None, "fill"))
        assert not others[2].has_more()


@own
def whatever_creates_the_string_wakes_those_who_wait():
    makers = (("SET", KEY, "v"), ("APPEND", KEY, "v"), ("SETRANGE", KEY, 0, "v"), ("RENAME", "spare", KEY),
              ("COPY", "spare", KEY), ("MSET", KEY, "v"), ("SETNX", KEY, "v"), ("BITOP", "OR", KEY, "spare"))
    for maker in makers:
        with world(1) as (_, raw, others):
            raw.call("SET", "spare", "v")
            equal(get(raw), (None, "fill"))
            line_up(raw, others)
            raw.call(*maker)
            equal(parsed(others[0].reply()), (b"v", "fresh"), f"after {maker}")


@own
def a_timeout_answers_missing():
    with world(2) as (daemon, raw, others):
        equal(get(raw), (None, "fill"))
        others[0].send(encode("GETFRESH", KEY, "WAIT", 20))
        others[1].send(encode("GETFRESH", KEY, "WAIT", 30))
        await_blocked(raw, 2)
        daemon.step(20)
        equal(parsed(others[0].reply()), (None, "missing"))
        daemon.step(9)
        assert not others[1].has_more()
        daemon.step(1)
        equal(parsed(others[1].reply()), (None, "missing"))


@own
def client_unblock_answers_missing():
    with world(1) as (_, raw, others):
        equal(get(raw), (None, "fill"))
        number = plain(read_reply(others[0].call("CLIENT", "ID"))[0])
        line_up(raw, others)
        equal(raw.call("CLIENT", "UNBLOCK", number), b":1\r\n")
        equal(parsed(others[0].reply()), (None, "missing"))


@own
def nothing_waits_in_a_transaction_or_a_script():
    with world() as (_, raw, _):
        equal(get(raw), (None, "fill"))
        raw.send(encode("MULTI") + encode("GETFRESH", KEY, "WAIT", 0) + encode("EXEC"))
        equal(raw.replies(3)[2], b"*1\r\n*2\r\n$-1\r\n$7\r\nmissing\r\n")
        script = "local r = redis.call('GETFRESH', KEYS[1], 'WAIT', 0) return {tostring(r[1]), r[2]}"
        equal(raw.call("EVAL", script, 1, KEY), b"*2\r\n$5\r\nfalse\r\n$7\r\nmissing\r\n")


@own
def a_client_that_waits_gets_an_error_if_the_key_gets_another_type():
    with world(1) as (daemon, raw, others):
        equal(get(raw, "LEASE", 10), (None, "fill"))
        line_up(raw, others)
        raw.call("SADD", KEY, "m")
        daemon.step(10)
        assert others[0].reply().startswith(b"-WRONGTYPE")


# --- carried along -----------------------------------------------------------------------------


@own
def copies_and_payloads_have_the_soft_deadline():
    with world() as (daemon, raw, _):
        for text in ("7", "x" * 100):
            raw.call("FLUSHALL")
            raw.call("SET", KEY, text, "PX", 100, "SOFT", 40)
            raw.call("COPY", KEY, "copy")
            payload = plain(read_reply(raw.call("DUMP", KEY))[0])
            equal(raw.call("RESTORE", "restored", 100, payload), b"+OK\r\n")
            raw.call("RENAME", KEY, "renamed")
            for key in ("copy", "restored", "renamed"):
                equal(raw.call("SOFTTTL", key), b":40\r\n", key)
                equal(raw.call("PTTL", key), b":100\r\n", key)
                equal(plain(read_reply(raw.call("GET", key))[0]), text.encode(), key)


@own
def files_have_the_soft_deadline():
    with Daemon("--appendonly", "yes", "--appendfsync", "always") as daemon:
        daemon.hold()
        with daemon.raw() as raw:
            raw.call("SET", "a", "1", "PX", 10_000, "SOFT", 4000)
            raw.call("INCR", "a")
            raw.call("SET", "b", "v", "SOFT", 4000)
            raw.call("STALE", "b")
            raw.call("SET", "c", "v", "SOFT", 4000)
            raw.call("SET", "c", "w")
            before = raw.call("DEBUG", "DIGEST")
        for rewrite in (False, True):
            if rewrite:
                daemon.redis().bgrewriteaof()
                daemon.stop()
            else:
                daemon.kill()
            daemon.start()
            daemon.hold()
            with daemon.raw() as raw:
                equal(raw.call("DEBUG", "DIGEST"), before, f"rewrite: {rewrite}")
                equal([raw.call("SOFTTTL", key) for key in "abc"], [b":4000\r\n", b":0\r\n", b":-1\r\n"])
                equal(raw.call("GET", "a"), b"$1\r\n2\r\n")


@own
def replicas_have_the_soft_deadline_and_grant_no_right():
    with group(2) as (master, replica), replica.raw() as reader, replica.raw() as waiter:
        master.call("SET", KEY, "v", "PX", 10 ** 7, "SOFT", 1)
        master.call("STALE", KEY)
        await_caught_up(master, replica)
        equal(get(reader), (b"v", "stale"))
        equal(get(reader, key="none"), (None, "missing"))
        wait(waiter, key="none")
        await_blocked(reader, 1)
        master.call("SET", "none", "w")
        equal(parsed(waiter.reply()), (b"w", "fresh"))
        equal(get(master.conn), (b"v", "refresh"))
        check_same(master, replica)


# --- a clock that is set -----------------------------------------------------------------------


@own
def a_right_is_a_span_of_time():
    for by in (-10 ** 6, -1):
        with Daemon("--clock", "stepped") as daemon, daemon.raw() as raw, daemon.raw() as waiter:
            raw.call("CLOCK", "SET", NOON)
            equal(get(raw, "LEASE", 100), (None, "fill"))
            wait(waiter)
            await_blocked(raw, 1)
            raw.call("CLOCK", "SET", NOON + by)
            equal(get(raw), (None, "missing"))
            raw.call("CLOCK", "ADVANCE", 99)
            equal(get(raw), (None, "missing"))
            assert not waiter.has_more()
            raw.call("CLOCK", "ADVANCE", 1)
            equal(parsed(waiter.reply()), (None, "fill"))


# --- bad input ---------------------------------------------------------------------------------


@own
def bad_input_is_refused_and_changes_nothing():
    largest = 2 ** 63 - 1
    late = b"-ERR the soft deadline is after the deadline\r\n"
    syntax = b"-ERR syntax error\r\n"
    number = b"-ERR value is not an integer or out of range\r\n"
    expire = b"-ERR invalid expire time in 'set' command\r\n"
    wrong = {
        ("SET", KEY, "w", "SOFT"): syntax,
        ("SET", KEY, "w", "SOFT", "x"): number,
        ("SET", KEY, "w", "SOFT", 0): expire,
        ("SET", KEY, "w", "SOFT", -1): expire,
        ("SET", KEY, "w", "SOFT", largest): expire,
        ("SET", KEY, "w", "PX", 10, "SOFT", 11): late,
        ("SET", KEY, "w", "PXAT", 1, "SOFT", 1): late,
        ("SET", KEY, "w", "KEEPTTL", "SOFT", 101): late,
        ("GETFRESH", KEY, "WAIT"): b"-ERR syntax error: WAIT needs a value\r\n",
        ("GETFRESH", KEY, "LATER", 1): b"-ERR syntax error: unknown option 'LATER'\r\n",
        ("GETFRESH", KEY, "WAIT", "x"): number,
        ("GETFRESH", KEY, "WAIT", -1): b"-ERR value is out of range, must be positive\r\n",
        ("GETFRESH", KEY, "LEASE", 0): b"-ERR value is out of range, must be positive\r\n",
        ("GETFRESH", KEY, "EARLY", -1): b"-ERR value is out of range, must be positive\r\n",
        ("GETFRESH", KEY, "LEASE", largest): b"-ERR the ttl is longer than lease-max-ttl (60000 ms)\r\n",
        ("GETFRESH", KEY, "LEASE", 60_001): b"-ERR the ttl is longer than lease-max-ttl (60000 ms)\r\n",
    }
    with world() as (_, raw, _):
        raw.call("SET", KEY, "v", "PX", 100, "SOFT", 40)
        digest = raw.call("DEBUG", "DIGEST")
        for call, error in wrong.items():
            equal(raw.call(*call), error, str(call))
        equal(raw.call("DEBUG", "DIGEST"), digest)
        equal(raw.call("SET", KEY, "v", "PX", 10, "SOFT", 10), b"+OK\r\n")
        equal(get(raw, "EARLY", largest, "WAIT", largest), (b"v", "refresh"))
        raw.call("SADD", "set", "m")
        assert raw.call("GETFRESH", "set").startswith(b"-WRONGTYPE")


main(120)
