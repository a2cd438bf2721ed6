#!/usr/bin/python3 -B
"""Pub/sub with clients: sharded channels, and ordinary commands between messages in RESP3."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import REPLY_SECONDS, Daemon, encode, equal, main, test


@test
def redis_py_receives_channels_patterns_and_shard_channels():
    with Daemon() as daemon, daemon.redis() as client:
        listener = client.pubsub(ignore_subscribe_messages=True)
        listener.subscribe("news")
        listener.psubscribe("n*")
        listener.get_message(timeout=REPLY_SECONDS)
        listener.get_message(timeout=REPLY_SECONDS)
        equal(client.publish("news", "hi"), 2)
        heard = [listener.get_message(timeout=REPLY_SECONDS) for _ in range(2)]
        equal([(m["type"], m["channel"], m["data"]) for m in heard],
              [("message", b"news", b"hi"), ("pmessage", b"news", b"hi")])
        listener.close()


@test
def commands_run_between_messages_in_resp3():
    with Daemon() as daemon, daemon.raw() as a, daemon.raw() as b:
        a.call("HELLO", "3")
        equal(a.call("SSUBSCRIBE", "s"), b">3\r\n$10\r\nssubscribe\r\n$1\r\ns\r\n:1\r\n")
        equal(a.call("SUBSCRIBE", "c"), b">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n")
        equal(a.call("SET", "k", "v"), b"+OK\r\n")
        equal(b.call("SPUBLISH", "s", "m"), b":1\r\n")
        equal(b.call("PUBLISH", "s", "m"), b":0\r\n")
        equal(b.call("PUBLISH", "c", "m"), b":1\r\n")
        a.send(encode("GET", "k"))
        equal(a.reply(), b">3\r\n$8\r\nsmessage\r\n$1\r\ns\r\n$1\r\nm\r\n")
        equal(a.reply(), b">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n")
        equal(a.reply(), b"$1\r\nv\r\n")
        for line in ("MULTI", "GET k", "INCR n"):
            a.call(*line.split())
        equal(a.call("EXEC"), b"*2\r\n$1\r\nv\r\n:1\r\n")
        equal(a.call("PING"), b"+PONG\r\n")


@test
def a_subscriber_in_resp2_may_not_run_other_commands():
    with Daemon() as daemon, daemon.raw() as a:
        a.call("SSUBSCRIBE", "s")
        assert a.call("GET", "k").startswith(b"-ERR Can't execute 'get'")
        equal(a.call("PING"), b"*2\r\n$4\r\npong\r\n$0\r\n\r\n")
        a.call("SUNSUBSCRIBE")
        equal(a.call("GET", "k"), b"$-1\r\n")


@test
def client_list_and_info_count_each_kind_of_subscription():
    with Daemon() as daemon, daemon.raw() as a, daemon.raw() as b:
        number = int(a.call("CLIENT", "ID")[1:])
        for line in ("SUBSCRIBE a", "SSUBSCRIBE x", "SSUBSCRIBE y", "PSUBSCRIBE p*"):
            a.call(*line.split())
        line = b.call("CLIENT", "LIST", "ID", number)
        assert b" flags=PU " in line and b" sub=1 psub=1 ssub=2 " in line, line
        info = b.call("INFO", "stats")
        for field in (b"pubsub_channels:1\r\n", b"pubsub_patterns:1\r\n",
                      b"pubsubshard_channels:2\r\n"):
            assert field in info, info
        equal(b.call("CLIENT", "KILL", "TYPE", "PUBSUB"), b":1\r\n")
        a.rest()
        assert b"pubsubshard_channels:0\r\n" in b.call("INFO", "stats")


@test
def messages_are_sent_although_replies_are_off():
    with Daemon() as daemon, daemon.raw() as a, daemon.raw() as b:
        a.call("HELLO", "3")
        a.call("SSUBSCRIBE", "s")
        a.send(encode("CLIENT", "REPLY", "OFF") + encode("PING"))
        with daemon.raw() as other:
            other.call("PING")
        b.call("SPUBLISH", "s", "m")
        equal(a.reply(), b">3\r\n$8\r\nsmessage\r\n$1\r\ns\r\n$1\r\nm\r\n")


main()
