#!/usr/bin/python3 -B
"""Deadlines on replicas: at each instant a replica shows the same as its master, even when the master's
removals have not come; after a promotion everything that is overdue expires, with events."""
import random
import sys
from contextlib import contextmanager

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import NOON, REPLY_SECONDS, Daemon, Raw, beside_redis, encode, equal, happens, main, oracle, own, wait_for
from followers import await_caught_up, await_linked, is_linked
from replicas import check_same, group, step_all
EVERY = 10  # milliseconds between two deadlines
LAST = 60
HOUR = 3_600_000


def fill(master, rng):
    """Keys and members of every type with deadlines at NOON + 10, 20, ..."""
    def ttl():
        return EVERY * rng.randrange(1, LAST // EVERY)

    calls = [("REDE.PUSH", "d:claims", 0, "p", "e"), ("REDE.CLAIM", "d:claims", ttl(), "COUNT", 1)]
    for number in range(10):
        calls += [("SET", f"k{number}", "v", "PX", ttl()), ("SET", f"forever{number}", "v"),
                  ("RPUSH", f"l{number}", "a", "b"), ("PEXPIRE", f"l{number}", ttl()),
                  ("REDE.PUSH", "d", ttl(), "payload", f"e{number}"),
                  # Without elements, these are kept until something else ends.
                  ("REDE.PAUSE", f"dp{number}", "UNTIL", NOON + ttl()),
                  ("REDE.PUSH", f"dm{number}", 0, "p", "e", "REMEMBER", ttl()), ("REDE.POLL", f"dm{number}"),
                  ("POLICY", "SET", f"dr{number}", "RATE", 1, "PER", ttl()),
                  ("REDE.PUSH", f"dr{number}", 0, "p", "e"), ("REDE.POLL", f"dr{number}")]
        members = [f"m{one}" for one in range(rng.choice((1, 3, 12)))]
        for name in (f"{number}", f"x{number}"):
            calls += [("SADD", "s" + name, *members), ("HSET", "h" + name, *members, *members)]
            calls += [("ZADD", "z" + name, one, member) for one, member in enumerate(members)]
        for member in members:
            calls += [("SPEXPIRE", f"s{number}", ttl(), "MEMBERS", 1, member),
                      ("HPEXPIRE", f"h{number}", ttl(), "FIELDS", 1, member),
                      ("ZPEXPIRE", f"z{number}", ttl(), "MEMBERS", 1, member)]
        calls += [("PEXPIRE", kind + f"x{number}", ttl()) for kind in "shz"]
    for words, reply in zip(calls, master.conn.calls(calls)):
        assert not reply.startswith(b"-"), (words, reply)


def sorted_reply(server, *words):
    reply = server.redis().execute_command(*words)
    if isinstance(reply, dict):
        return sorted(reply.items())
    if words[0].endswith("SCAN"):
        return sorted(reply[1].items() if isinstance(reply[1], dict) else reply[1])
    return sorted(reply)


def view(server):
    """What reads show of the data of fill."""
    calls = [("DBSIZE",), ("REDE.LEN", "d"), ("REDE.TTN", "d"), ("REDE.RANGE", "d", "-", "+"),
             ("REDE.LEN", "d:claims", "CLAIMED"), ("REDE.LEN", "d:claims", "DUE"), ("REDE.TTN", "d:claims"),
             ("SINTERCARD", 2, "s1", "s2"), ("PFCOUNT", "k1"),
             ("MGET", *(f"k{number}" for number in range(10)))]
    for number in range(10):
        for kind in ("k", "l", "s", "h", "z", "sx", "hx", "zx", "dp", "dm", "dr"):
            key = kind + str(number)
            calls += [("EXISTS", key), ("TYPE", key), ("PTTL", key), ("PEXPIRETIME", key),
                      ("OBJECT", "ENCODING", key)]
        calls += [("GET", f"k{number}"), ("STRLEN", f"k{number}"), ("LRANGE", f"l{number}", 0, -1),
                  ("LLEN", f"l{number}"), ("SORT_RO", f"l{number}", "ALPHA")]
        for kind in ("", "x"):
            name, members = f"{kind}{number}", [f"m{one}" for one in range(12)]
            calls += [("SCARD", "s" + name), ("HLEN", "h" + name), ("ZCARD", "z" + name),
                      ("SMISMEMBER", "s" + name, *members), ("HMGET", "h" + name, *members),
                      ("ZMSCORE", "z" + name, *members), ("ZRANGE", "z" + name, 0, -1),
                      ("ZCOUNT", "z" + name, 2, 7), ("ZRANK", "z" + name, "m5"),
                      ("ZRANGEBYSCORE", "z" + name, 3, 9, "LIMIT", 1, 2),
                      ("SPTTL", "s" + name, "MEMBERS", 12, *members),
                      ("HPTTL", "h" + name, "FIELDS", 12, *members),
                      ("HSTRLEN", "h" + name, "m0")]
    with server.raw() as raw:
        found = list(zip(calls, raw.calls(calls)))
    for words in [("KEYS", "*"), ("SCAN", 0, "COUNT", 1000), ("SUNION", "s1", "s2", "s3"),
                  ("SRANDMEMBER", "s1", 50), ("HRANDFIELD", "h1", 50), ("ZRANDMEMBER", "z1", 50),
                  ("SSCAN", "s2", 0), ("HSCAN", "h2", 0), ("ZSCAN", "z2", 0),
                  *((command, kind + str(number)) for number in range(10)
                    for command, kind in (("SMEMBERS", "s"), ("HGETALL", "h"), ("HKEYS", "h"),
                                          ("HVALS", "h")))]:
        found.append((words, sorted_reply(server, *words)))
    return found


def check_view(replica, wanted, when):
    for (words, got), (_, want) in zip(view(replica), wanted):
        equal(got, want, f"{when}: {words}")


@own
def replica_shows_at_each_instant_what_its_master_shows():
    rng = random.Random(5)
    with group(3) as (master, early, late):
        fill(master, rng)
        check_same(master, early, late)
        at = 0
        for instant in [due + by for due in range(EVERY, LAST, EVERY) for by in (-1, 0, 1)]:
            early.now = early.hold(NOON + instant)
            early_view = view(early)
            master.now = master.hold(NOON + instant)
            wanted = view(master)
            for (words, got), (_, want) in zip(early_view, wanted):
                equal(got, want, f"at +{instant} before the master: {words}")
            check_same(master, early)
            late.now = late.hold(NOON + instant)
            check_same(master, late)
            check_view(early, wanted, f"at +{instant}, early")
            check_view(late, wanted, f"at +{instant}, late")
            at = instant
        assert at == LAST - EVERY + 1
        equal(late.call("DBSIZE"), master.call("DBSIZE"))


@own
def replica_with_a_clock_an_hour_ahead_shows_nothing_that_is_overdue_and_removes_nothing():
    with group(2) as (master, replica):
        fill(master, random.Random(6))
        check_same(master, replica)
        wanted = view(master)
        digest = master.digest()
        step_all(replica, msec=HOUR)
        equal(replica.call("EXISTS", "k1", "l1", "s1", "h1", "z1"), b":0\r\n")
        equal(replica.call("KEYS", "k*"), b"*0\r\n")
        step_all(replica, msec=-HOUR)
        check_view(replica, wanted, "with the clock set back")
        equal(replica.digest(), digest)


@own
def clocks_an_hour_apart_lose_nothing_in_the_stream_and_in_copies():
    with group(3) as (master, ahead, behind):
        fill(master, random.Random(8))
        check_same(master, ahead, behind)
        step_all(ahead, msec=HOUR)
        step_all(behind, msec=-HOUR)
        master.ok("SET", "later", "v", "PX", 1000)
        await_caught_up(master, ahead, behind)
        equal((ahead.call("EXISTS", "later"), behind.call("PTTL", "later")),
              (b":0\r\n", b":%d\r\n" % (HOUR + 1000)))
        for replica in (ahead, behind):
            replica.again()  # gets a full copy
            replica.follow(master)
        await_linked(ahead, behind)
        step_all(master, msec=LAST // 2)
        equal(master.call("EXISTS", "later", "forever1"), b":2\r\n")
        await_caught_up(master, ahead, behind)
        equal(behind.call("DBSIZE"), master.call("DBSIZE"))
        step_all(ahead, msec=LAST // 2 - HOUR)
        step_all(behind, msec=LAST // 2 + HOUR)
        check_same(master, ahead, behind)
        wanted = view(master)
        check_view(ahead, wanted, "the clock that was ahead")
        check_view(behind, wanted, "the clock that was behind")


@own
def everything_overdue_expires_with_events_after_a_promotion():
    with group(2) as (master, replica):
        fill(master, random.Random(7))
        check_same(master, replica)
        replica.ok("CONFIG", "SET", "notify-keyspace-events", "KEA")
        with Raw(replica.path) as events:
            events.call("PSUBSCRIBE", "__keyevent@0__:*")
            master.kill()
            step_all(replica, msec=1000)
            assert wait_for(lambda: not is_linked(replica))
            equal(events.heard(), b"")
            replica.follow(None)
            seen = []

            def all_seen():
                seen.extend(reply.split(b"\r\n")[6::2][:2] for reply in events.heard_replies())
                return len([1 for event in seen if event[0].endswith(b":expired")]) >= 10 + 10 + 30
            assert wait_for(all_seen), seen
        keys = {key for channel, key in seen if channel == b"__keyevent@0__:expired"}
        assert keys >= {b"k1", b"l1", b"sx1", b"hx1", b"zx1"}, keys
        assert wait_for(lambda: replica.call("DBSIZE") == b":12\r\n"), replica.call("DBSIZE")
        equal(replica.call("EXISTS", "s1", "h1", "z1"), b":0\r\n")


@own
def hidden_keys_are_counted_as_their_master_changes_them():
    with group(2) as (master, replica):
        for n in range(3000):
            master.ok("SET", f"k{n}", "v", "PX", 1000 + n % 50)
        for n in range(100):
            master.call("SADDEX", f"s{n}", "PX", 1000, "MEMBERS", 1, "m")
        master.ok("SET", "stays", "v")
        check_same(master, replica)

        def hour_ahead_has(*keys):
            await_caught_up(master, replica)
            equal(replica.call("DBSIZE"), b":%d\r\n" % len(keys))
            equal(sorted(replica.call("KEYS", "*").split(b"\r\n")[2::2]), sorted(keys))
            assert replica.call("RANDOMKEY").split(b"\r\n")[1] in keys
            replica.ok("DEBUG", "CHECK")

        step_all(replica, msec=HOUR)
        hour_ahead_has(b"stays")
        equal(replica.call("EXPIRY", "NEXT"), b"*0\r\n")
        equal(master.call("PERSIST", "k1"), b":1\r\n")
        equal(master.call("PEXPIRE", "k2", 2 * HOUR), b":1\r\n")
        master.ok("RENAME", "k3", "renamed")
        equal(master.call("DEL", "k4"), b":1\r\n")
        equal(master.call("SADD", "s1", "without deadline"), b":1\r\n")
        hour_ahead_has(b"stays", b"k1", b"k2", b"s1")
        equal(replica.call("EXPIRY", "NEXT").split(b"\r\n")[3], b"k2")
        equal(master.call("SREM", "s1", "without deadline"), b":1\r\n")
        hour_ahead_has(b"stays", b"k1", b"k2")
        master.ok("SWAPDB", 0, 1)
        await_caught_up(master, replica)
        equal(replica.call("DBSIZE"), b":0\r\n")
        master.ok("SWAPDB", 0, 1)
        hour_ahead_has(b"stays", b"k1", b"k2")
        step_all(replica, msec=-HOUR)
        check_same(master, replica)
        equal(replica.call("DBSIZE"), b":3100\r\n")
        step_all(replica, msec=HOUR)
        hour_ahead_has(b"stays", b"k1", b"k2")
        replica.follow(None)
        assert wait_for(lambda: b"\r\nexpired_keys:2997\r\n" in replica.call("INFO", "expiry"))
        equal(replica.call("DBSIZE"), b":3\r\n")
        replica.ok("DEBUG", "CHECK")


@contextmanager
def reader_of_idle_entries(replica, idle):
    """On a replica that takes writes: waits until a pending entry of "s" has been idle for this long."""
    replica.ok("CONFIG", "SET", "replica-read-only", "no")
    replica.call("XADD", "s", "*", "f", "v")
    replica.ok("XGROUP", "CREATE", "s", "g", 0)
    replica.call("XREADGROUP", "GROUP", "g", "ann", "STREAMS", "s", ">")
    with replica.raw() as raw:
        raw.send(encode("XREADGROUP", "GROUP", "g", "bob", "BLOCK", 0, "CLAIM", idle,
                        "STREAMS", "s", ">"))
        assert wait_for(lambda: replica.info("clients")["blocked_clients"] == "1")
        yield raw


@own
def blocked_writes_of_a_writable_replica_see_no_hidden_data():
    with group(2) as (master, replica):
        master.ok("POLICY", "SET", "s", "MAXDELIVERIES", 1, "TO", "dead")
        master.ok("POLICY", "SET", "dead", "RETAIN", 100)
        master.call("XADD", "dead", "*", "old", "entry")
        check_same(master, replica)
        with reader_of_idle_entries(replica, 50):
            replica.step(300)  # the entry of "s" can be claimed, that of "dead" has expired
            assert wait_for(lambda: b"origin" in replica.call("XRANGE", "dead", "-", "+"))
            assert b"old" not in replica.call("XRANGE", "dead", "-", "+")


class Redis(Daemon):
    def __init__(self, *options):
        super().__init__(*options, binary=oracle(), tcp=True)


def events_of(client, calls, expires=0):
    """[(line, replies of its calls, their keyspace events)] Each line expires this many keys, in Redis later."""
    listener = client.pubsub()
    listener.psubscribe("__keyevent@0__:*")
    equal(listener.get_message(timeout=REPLY_SECONDS)["type"], "psubscribe")
    found = []
    for number, line in enumerate(calls, 1):
        replies = [client.execute_command(*words.split()) for words in line.split("; ")]
        assert wait_for(lambda many=number * expires: client.info("stats")["expired_keys"] == many), line
        client.execute_command("PUBLISH", "__keyevent@0__:end", "")
        events = []
        while not events or events[-1] != "end":
            message = listener.get_message(timeout=REPLY_SECONDS)
            events.append(message["channel"].decode().split(":")[1])
        found.append((line, replies, events[:-1]))
    return found


@contextmanager
def writable_replica(kind):
    """A client of it. The master has a key and a hash."""
    with kind() as master, kind("--replicaof", f"127.0.0.1 {master.port}", "--replica-read-only", "no",
                                "--notify-keyspace-events", "KEA", "--repl-ping-replica-period", "1") as replica:
        master.redis().set("master's", "v")
        master.redis().hset("hash", mapping={"f": "v", "g": "v"})
        client = replica.redis()
        assert wait_for(lambda: client.exists("master's", "hash") == 2)
        yield client


def tcp_daemon(*options):
    return Daemon("--repl-diskless-sync-delay", "0", *options, tcp=True)


@beside_redis
def deadline_in_the_past_ends_a_key_on_a_writable_replica_as_in_redis():
    calls = ("SET k v; EXPIRE k -1; EXISTS k", "EXPIRE master's -1; EXISTS master's",
             "SET k v; PEXPIREAT k 1; TTL k", "SET k v; GETEX k PXAT 1; GETEX k",
             "EVAL return(redis.call('RESTORE',KEYS[1],1,redis.call('DUMP','hash'),'ABSTTL')) 1 restored; "
             "EXISTS restored")
    with writable_replica(tcp_daemon) as ours:
        found = events_of(ours, calls, expires=1)
        equal(ours.dbsize(), 1)
    with writable_replica(lambda *options: Redis("--repl-diskless-sync", "no", *options)) as theirs:
        wanted = events_of(theirs, calls, expires=1)
        equal(theirs.dbsize(), 1)
    for (line, replies, events), (_, wanted_replies, wanted_events) in zip(found, wanted):
        equal((replies, events), (wanted_replies, wanted_events), line)


@own
def deadline_in_the_past_hides_a_member_on_a_writable_replica():
    # The replies and events of Redis 8.0.6 and Valkey 9.1.2, except that they count such a field.
    with writable_replica(tcp_daemon) as client:
        equal([found[1:] for found in events_of(client, (
            "HPEXPIREAT hash 1 FIELDS 1 f; HEXISTS hash f; HLEN hash",
            "HSETEX new PXAT 1 FIELDS 1 f v; HGET new f",
            "HSET other f v g w; HGETEX other PXAT 1 FIELDS 1 f; HGET other f",
            "SADD s a b; SPEXPIREAT s 1 MEMBERS 1 a; SMEMBERS s",
            "ZADD z 1 a 2 b; ZPEXPIREAT z 1 MEMBERS 1 a; ZCARD z", "HSET last f v; HPEXPIRE last 0 FIELDS 1 f"))],
              [([[1], False, 1], ["hexpire"]),
               ([1, None], ["hset", "hexpire"]),
               ([2, [b"v"], None], ["hset", "hexpire"]),
               ([2, [1], {b"b"}], ["sadd", "sexpire"]), ([2, [1], 1], ["zadd", "zexpire"]), ([1, [1]], ["hset", "hexpire"])])


@own
def watched_keys_of_a_replica_expire_for_exec_and_are_not_removed():
    with group(2) as (master, replica):
        master.ok("SET", "k", "v", "PX", 100)
        master.call("SADD", "s", "stays", "goes")
        master.call("SPEXPIRE", "s", 100, "MEMBERS", 1, "goes")
        check_same(master, replica)
        digest = replica.digest()
        replica.ok("WATCH", "k", "s")
        step_all(replica, msec=1000)
        replica.ok("MULTI")
        replica.call("GET", "k")
        equal(replica.call("EXEC"), b"*-1\r\n")
        replica.ok("WATCH", "k", "s")  # they are gone already
        replica.ok("MULTI")
        replica.call("GET", "k")
        replica.call("SCARD", "s")
        equal(replica.call("EXEC"), b"*2\r\n$-1\r\n:1\r\n")
        step_all(replica, msec=-1000)
        equal(replica.digest(), digest)
        check_same(master, replica)


@own
def paused_replica_waits_for_the_end_of_the_pause_without_spinning():
    with group(2) as (_, replica):
        replica.clock("REAL")
        with reader_of_idle_entries(replica, 300) as raw:
            replica.ok("CLIENT", "PAUSE", 1500, "WRITE")
            before = replica.cpu_seconds()
            spins = happens(lambda: replica.cpu_seconds() - before > 0.3, 1)
            assert spins is False, "it spins"
            assert b"$1\r\nv\r\n" in raw.reply()  # after the pause


@own
def master_that_becomes_a_replica_stops_removing():
    with group(2) as (master, other):
        master.ok("SET", "k", "v", "PX", 10)
        check_same(master, other)
        other.follow(None)
        master.follow(other)
        await_linked(master)
        step_all(master, msec=20)
        equal(master.call("GET", "k"), b"$-1\r\n")
        equal(other.call("GET", "k"), b"$1\r\nv\r\n")
        equal(other.call("PERSIST", "k"), b":1\r\n")
        check_same(other, master)
        equal(master.call("GET", "k"), b"$1\r\nv\r\n")


main()
