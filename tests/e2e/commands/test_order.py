#!/usr/bin/python3 -B
"""The order of replies, messages and events on one connection, equal to redis-server's."""
import contextlib
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import BINARY, Daemon, encode, equal, main, oracle, test


def lines_of(binary, *conversation):
    """The messages that a subscriber to everything receives while a caller sends these lines, and the
    replies."""
    with Daemon(binary=binary) as daemon, daemon.raw() as listener, daemon.raw() as caller:
        listener.call("PSUBSCRIBE", "*")
        replies = [caller.call(*line.split()) for line in conversation]
        caller.call("PUBLISH", "end", "of it")
        heard = []
        while not heard or b"of it" not in heard[-1]:
            heard.append(listener.reply())
        return replies, heard


def same(*conversation):
    equal(lines_of(BINARY, *conversation), lines_of(oracle(), *conversation))


@test
def flags_changed_in_a_transaction_apply_from_there_on():
    same("MULTI", "CONFIG SET notify-keyspace-events KEA", "SET a 1", "EXEC")
    same("CONFIG SET notify-keyspace-events KEA", "MULTI", "SET a 1",
         "CONFIG SET notify-keyspace-events E", "SET b 1", "EXEC")


@test
def a_transaction_s_events_follow_the_order_of_its_commands():
    same("CONFIG SET notify-keyspace-events E$g", "MULTI", "SET a 1", "PUBLISH ready a", "DEL a",
         "PUBLISH gone a", "EXEC")


@test
def a_killed_subscriber_no_longer_counts():
    with Daemon() as daemon, daemon.raw() as victim, daemon.raw() as caller:
        number = victim.call("CLIENT", "ID")[1:].strip()
        victim.call("SUBSCRIBE", "c")
        caller.send(encode("CLIENT", "KILL", "ID", number) + encode("PUBLISH", "c", "x") +
                    encode("PUBSUB", "NUMSUB", "c") + encode("INFO", "clients"))
        equal(caller.reply(), b":1\r\n")
        equal(caller.reply(), b":0\r\n")
        equal(caller.reply(), b"*2\r\n$1\r\nc\r\n:0\r\n")
        assert b"connected_clients:1\r\n" in caller.reply()
        with contextlib.suppress(ConnectionError):
            equal(victim.rest(), b"")


main()
