#!/usr/bin/python3 -B
"""INCREX, which Redis 7.0 lacks: replies, deadlines, events, and what a restart and a replica keep."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, equal, main, own
from followers import await_caught_up, await_linked

FAR = 4_000_000_000_000  # ms
MOST = 2**63 - 1
BOUNDS = b"-ERR LBOUND can't be greater than UBOUND\r\n"
SYNTAX = b"-ERR syntax error\r\n"
INFINITE = b"-ERR applied increment would be Infinity\r\n"


def pair(value, applied):
    return b"*2\r\n:%d\r\n:%d\r\n" % (value, applied)


def texts(*values):
    return b"*2\r\n" + b"".join(b"$%d\r\n%s\r\n" % (len(text), text) for text in values)


def error(text):
    return b"-ERR %s\r\n" % text


# The value of the key before (None: absent), the call's arguments, the reply, the value after. The replies are
# those that the tests of Redis 8.8 and Valkey 9.2 expect.
CALLS = [
    (None, "", pair(1, 1), b"1"), (10, "", pair(11, 1), b"11"), (10, "BYINT -20", pair(-10, -20), b"-10"),
    (10, "BYINT 0", pair(10, 0), b"10"), (10, "BYINT 5 UBOUND 15", pair(15, 5), b"15"),
    (10, "BYINT 6 UBOUND 15", pair(10, 0), b"10"), (10, "BYINT 6 UBOUND 15 SATURATE", pair(15, 5), b"15"),
    (10, "BYINT -11 LBOUND 0", pair(10, 0), b"10"), (10, "SATURATE LBOUND 0 BYINT -11", pair(0, -10), b"0"),
    (50, "BYINT 5 UBOUND 30 SATURATE", pair(30, -20), b"30"), (50, "BYINT -25 UBOUND 30", pair(25, -25), b"25"),
    (10, "BYINT 5 LBOUND 20", pair(10, 0), b"10"), (10, "BYINT -5 LBOUND 20 SATURATE", pair(20, 10), b"20"),
    (None, "UBOUND 0", pair(0, 0), None), (None, "UBOUND 0 SATURATE", pair(0, 0), b"0"),
    (None, "LBOUND 5", pair(0, 0), None), (None, "LBOUND 5 SATURATE", pair(5, 5), b"5"),
    (MOST - 7, "BYINT 10", pair(MOST - 7, 0), b"%d" % (MOST - 7)),
    (MOST - 7, "BYINT 10 SATURATE", pair(MOST, 7), b"%d" % MOST),
    (-MOST, f"BYINT -{MOST} LBOUND -100 SATURATE", pair(-100, MOST - 100), b"-100"),
    (MOST, f"BYINT -5 UBOUND -{MOST + 1} SATURATE", error(b"applied increment would overflow"), b"%d" % MOST),
    (10, "BYINT 5 LBOUND 20 UBOUND 0", BOUNDS, b"10"), (10, "BYFLOAT 1 UBOUND -inf", BOUNDS, b"10"),
    (10, "BYFLOAT 1 LBOUND inf", BOUNDS, b"10"), (10, "BYFLOAT 1 UBOUND +inf", texts(b"11", b"1"), b"11"),
    (10, "BYFLOAT 1 LBOUND -inf UBOUND -inf", texts(b"10", b"0"), b"10"),
    (10, "BYFLOAT 1 LBOUND inf UBOUND inf SATURATE", INFINITE, b"10"),
    ("1.5", "BYFLOAT 0.25", texts(b"1.75", b"0.25"), b"1.75"), (None, "BYFLOAT 2.5", texts(b"2.5", b"2.5"), b"2.5"),
    ("0.1", "BYFLOAT 0.2", texts(b"0.3", b"0.2"), b"0.3"), (10, "BYFLOAT -2.5", texts(b"7.5", b"-2.5"), b"7.5"),
    (10, "BYFLOAT 5.5 UBOUND 12.5", texts(b"10", b"0"), b"10"),
    (10, "BYFLOAT 5.5 UBOUND 12.5 SATURATE", texts(b"12.5", b"2.5"), b"12.5"),
    (None, "BYFLOAT 15.5 UBOUND 10", texts(b"0", b"0"), None),
    (1, "NX", pair(1, 0), b"1"), (None, "NX", pair(1, 1), b"1"), (None, "XX", pair(0, 0), None),
    (None, "XX BYFLOAT 1.5", texts(b"0", b"0"), None), (1, "XX", pair(2, 1), b"2"),
    (10, "BYINT abc", error(b"Increment is not an integer or out of range"), b"10"),
    (10, "BYINT 1.5", error(b"Increment is not an integer or out of range"), b"10"),
    (10, "BYFLOAT abc", error(b"Increment is not a valid float"), b"10"),
    (10, "BYFLOAT nan", error(b"Increment is not a valid float"), b"10"),
    (10, "BYFLOAT -inf", error(b"BYFLOAT increment cannot be Infinity"), b"10"),
    ("inf", "BYFLOAT 1", error(b"value cannot be Infinity"), b"inf"),
    ("inf", "", error(b"value is not an integer or out of range"), b"inf"),
    ("abc", "BYFLOAT 1", error(b"value is not a valid float"), b"abc"),
    (10, "UBOUND 12.5", error(b"UBOUND is not an integer or out of range"), b"10"),
    (10, "LBOUND inf", error(b"LBOUND is not an integer or out of range"), b"10"),
    (10, "BYFLOAT 1 UBOUND x", error(b"UBOUND is not a valid float"), b"10"),
    (10, "BYFLOAT 1 LBOUND x", error(b"LBOUND is not a valid float"), b"10"),
    (10, "ENX", error(b"ENX flag requires an expiration"), b"10"),
    (10, "EX 0", error(b"invalid expire time in 'increx' command"), b"10"),
    (10, "PX -1", error(b"invalid expire time in 'increx' command"), b"10"),
    *[(10, words, SYNTAX, b"10") for words in (
        "FOO", "BYINT", "BYINT 1 BYFLOAT 1", "BYINT 1 BYINT 2", "LBOUND 0 LBOUND 1", "UBOUND", "UBOUND 1 UBOUND 2",
        "SATURATE SATURATE", "ENX ENX EX 10", "PERSIST PERSIST", "PERSIST ENX", "ENX PERSIST", "EX 10 PX 10",
        "EX 10 EX 10", "EX 10 PERSIST", "PERSIST EX 10", "NX XX", "NX NX", "EX")]]


@own
def replies_and_values_are_those_of_later_servers():
    with Daemon() as daemon, daemon.raw() as raw, daemon.redis() as client:
        for before, words, reply, after in CALLS:
            client.delete("k")
            if before is not None:
                client.set("k", before)
            equal(raw.call("INCREX", "k", *words.split()), reply, (before, words))
            equal(client.get("k"), after, (before, words))
        client.rpush("l", "a")
        equal(raw.call("INCREX", "l", "EXAT", 1)[:10], b"-WRONGTYPE")
        raw.call("HELLO", 3)
        client.set("k", "1.5")
        equal(raw.call("INCREX", "k", "BYFLOAT", "1"), b"*2\r\n,2.5\r\n,1\r\n")


# Deadline before (None: none), arguments, deadline after (0: the key is gone).
DEADLINES = [
    (None, "", None), (FAR, "", FAR), (FAR, "PERSIST", None), (None, "PERSIST", None),
    (None, f"PXAT {FAR}", FAR), (FAR, f"PXAT {FAR + 1}", FAR + 1), (FAR, f"EXAT {FAR // 1000 + 1}", FAR + 1000),
    (None, f"PXAT {FAR} ENX", FAR), (FAR, f"PXAT {FAR + 1} ENX", FAR), (FAR, "EXAT 1 ENX", FAR),
    (FAR, "EXAT 1", 0), (None, "PXAT 1", 0), (FAR, f"UBOUND 1 PXAT {FAR + 1}", FAR), (FAR, "UBOUND 1 PERSIST", FAR),
    (None, f"UBOUND 1 PXAT {FAR} SATURATE", FAR), (FAR, f"NX PXAT {FAR + 1}", FAR)]


def set_with(client, at):
    client.set("k", 10, pxat=at)


@own
def deadline_changes_only_with_the_value():
    with Daemon() as daemon, daemon.redis() as client:
        for before, words, after in DEADLINES:
            set_with(client, before)
            client.execute_command("INCREX", "k", *words.split())
            equal(client.pexpiretime("k"), {None: -1, 0: -2}.get(after, after), (before, words))
        equal(client.execute_command("INCREX", "new", "EXAT", 1), [1, 1])
        equal(client.exists("new"), 0)


@own
def events_are_those_of_increments_and_deadlines():
    with Daemon("--notify-keyspace-events", "KEA") as daemon, daemon.redis() as client, daemon.raw() as listener:
        listener.call("PSUBSCRIBE", "__keyevent@0__:*")
        wanted = []
        for before, words, events in ((None, "", "incrby"), (None, "BYFLOAT 1", "incrbyfloat"),
                                      (FAR, "PERSIST", "incrby persist"), (None, f"PXAT {FAR}", "incrby expire"),
                                      (FAR, "PX 1000 ENX", "incrby"), (FAR, "EXAT 1", "del"),
                                      (None, "UBOUND 1 EX 100", "")):
            set_with(client, before)
            client.execute_command("INCREX", "k", *words.split())
            wanted += ["set"] + ["expire"] * (before is not None) + events.split()
        found = [listener.reply().split(b"\r\n")[6].partition(b":")[2].decode() for _ in wanted]
        equal(found, wanted)


@own
def journal_and_replica_have_value_and_deadline():
    with Daemon("--appendonly", "yes", tcp=True) as daemon:
        with Daemon("--replicaof", f"127.0.0.1 {daemon.port}", tcp=True) as replica:
            await_linked(replica)
            with daemon.redis() as client:
                for i, (before, words, _) in enumerate(DEADLINES):
                    set_with(client, before)
                    client.execute_command("INCREX", "k", *words.split())
                    if client.exists("k"):
                        client.rename("k", f"k{i}")
                client.execute_command("INCREX", "f", "BYFLOAT", "0.1", "EX", 10**6)
                wanted = {key: (client.get(key), client.pexpiretime(key)) for key in client.keys()}
            await_caught_up(daemon, replica)
            with replica.redis() as client:
                equal({key: (client.get(key), client.pexpiretime(key)) for key in client.keys()}, wanted)
        daemon.kill()
        daemon.start()
        with daemon.redis() as client:
            equal({key: (client.get(key), client.pexpiretime(key)) for key in client.keys()}, wanted)


main()
