#!/usr/bin/python3 -B
"""Messages and keyspace events that the subscribers of a replica get, compared with Redis' replicas."""
import sys
from contextlib import ExitStack

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, beside_redis, equal, main, oracle, own
from followers import await_caught_up, call, follow

# Changes whose effect is the command itself: a replica of Redis sends the same events.
CHANGES = """
SET s a
SET s b PX 100000000
APPEND s c
SETRANGE s 1 xy
EXPIRE s 1000
PERSIST s
MSET s 1 t 2
DEL s t
RPUSH l a b c d
LPUSH l x y
LPOP l
RPOP l 2
LSET l 0 z
LINSERT l BEFORE z w
LTRIM l 0 2
LREM l 0 w
SADD u a b c
SREM u a b
SREM u c
HSET h f 1 g 2
HDEL h f
ZADD z 1 a 2 b 3 c
ZREM z a
ZREMRANGEBYRANK z 0 0
RENAME z y
COPY y z
MOVE z 3
MULTI
SADD u a b
PUBLISH news hello
SADD u c
SPUBLISH shard hello
EXEC
PUBLISH news bye
DEL u
SWAPDB 0 3
"""


STREAM_CHANGES = """
XADD x 1-1 f v
XADD x 2-1 f v
XGROUP CREATE x g 0
XGROUP CREATECONSUMER x g c
XGROUP SETID x g 1-1
XGROUP DELCONSUMER x g c
XGROUP DESTROY x g
XDEL x 1-1
XTRIM x MAXLEN = 0
"""


class Pair:
    """A master and its replica."""

    def __init__(self, stack, **how):
        self.master, self.replica = (stack.enter_context(Daemon(
            "--repl-diskless-sync-delay", "0", "--notify-keyspace-events", "KEA", tcp=True, **how))
            for _ in range(2))
        follow(self.replica, self.master)

    def heard(self, lines):
        """What the replica's subscribers get while its master runs the commands."""
        with self.replica.raw() as listener, self.master.raw() as raw:
            listener.calls([("HELLO", "3"), ("PSUBSCRIBE", "*"), ("SSUBSCRIBE", "shard")])
            for line in lines:
                reply = raw.call(*line.split())
                assert not reply.startswith(b"-"), (line, reply)
            raw.call("PUBLISH", "end", "end")
            await_caught_up(self.master, self.replica)
            heard = []
            while heard[-1:] != [b"end end"]:
                heard.append(b" ".join(listener.reply().split(b"\r\n")[-4::2]))
        return heard


@beside_redis
def events_on_a_replica_are_those_of_a_replica_of_redis():
    lines = CHANGES.strip().splitlines()
    with ExitStack() as stack:
        ours, theirs = Pair(stack), Pair(stack, binary=oracle())
        if call(ours.master, "COMMAND", "INFO", "XADD") != [None]:
            lines += STREAM_CHANGES.strip().splitlines()
        equal(ours.heard(lines), theirs.heard(lines))


@beside_redis
def messages_reach_subscribers_of_a_redis_that_follows():
    with Daemon("--repl-diskless-sync-delay", "0", tcp=True) as master, \
            Daemon(binary=oracle(), tcp=True) as replica:
        follow(replica, master)
        with replica.raw() as listener, master.raw() as raw:
            listener.calls([("HELLO", "3"), ("PSUBSCRIBE", "*"), ("SSUBSCRIBE", "shard")])
            raw.call("EVAL", "redis.call('SADDEX', 'k', 'EX', 100, 'MEMBERS', 1, 'm') "
                     "redis.call('PUBLISH', 'a', 'b') redis.call('SPUBLISH', 'shard', 'c')", "0")
            equal(listener.reply(), b">4\r\n$8\r\npmessage\r\n$1\r\n*\r\n$1\r\na\r\n$1\r\nb\r\n")
            equal(listener.reply(), b">3\r\n$8\r\nsmessage\r\n$5\r\nshard\r\n$1\r\nc\r\n")


@own
def a_message_to_a_replica_stays_there():
    with Daemon("--repl-diskless-sync-delay", "0", tcp=True) as master, Daemon(tcp=True) as replica:
        follow(replica, master)
        with master.raw() as listener, replica.raw() as raw:
            listener.call("SUBSCRIBE", "c")
            equal(raw.call("PUBLISH", "c", "lost"), b":0\r\n")
            with master.raw() as other:
                other.call("PUBLISH", "c", "heard")
            assert b"heard" in listener.reply()


@own
def members_have_events_on_a_replica():
    with ExitStack() as stack:
        pair = Pair(stack)
        lines = ["SADDEX s EX 1000 MEMBERS 1 a", "SPERSIST s MEMBERS 1 a", "HSET h f v",
                 "HEXPIRE h 1000 FIELDS 1 f", "REDE.PUSH d 0 one x", "REDE.POLL d"]
        words = [reply.split()[-1] for reply in pair.heard(lines)
                 if reply.startswith(b"__keyspace@0__")]
        equal(words, [b"sadd", b"sexpire", b"spersist", b"hset", b"hexpire", b"rede.push",
                      b"rede.pull", b"del"])


main()
