#!/usr/bin/python3 -B
"""MAXLEN and MEMBERTTL of policies, and their events, counts and databases."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import equal, main, own
from policies import WEEK, Policies


def events_of(po, *calls):
    """The events of the calls: "event key"."""
    listener = po.daemon.raw()
    listener.call("PSUBSCRIBE", "__keyevent@0__:*")
    for call in calls:
        po.raw.call(*call)
    po.raw.call("PUBLISH", "__keyevent@0__:end", "")
    events = []
    while not events or not events[-1].startswith("end "):
        parts = listener.reply().split(b"\r\n")
        events.append(parts[6].decode().split(":", 1)[1] + " " + parts[8].decode())
    listener.close()
    return events[:-1]

@own
def a_recency_list_is_one_zadd():
    """Does what otherwise needs MULTI, ZADD, ZREMRANGEBYRANK, EXPIRE and EXEC."""
    with Policies() as po:
        po.rule("rv:*", "MAXLEN", 30, "TTL", WEEK, "REFRESH", "WRITE")
        for i in range(100):
            equal(po.run("ZADD", "rv:7", po.now, f"product{i}"), 1)
            equal(po.ttl("rv:7"), WEEK)
            po.step(1000)
        equal(po.run("ZREVRANGE", "rv:7", 0, -1), [b"product%d" % i for i in range(99, 69, -1)])
        equal(po.run("ZADD", "rv:7", po.now, "product80"), 0, "seen again")
        equal(po.run("ZCARD", "rv:7"), 30)
        equal(po.run("ZREVRANGE", "rv:7", 0, 0), [b"product80"])
        po.step(WEEK)
        equal(po.run("EXISTS", "rv:7"), 1)
        po.step(1)
        equal(po.run("EXISTS", "rv:7"), 0)


@own
def a_sorted_set_is_cut_by_every_command_that_adds_to_it():
    with Policies() as po:
        po.rule("high", "MAXLEN", 2)
        po.rule("low", "MAXLEN", 2, "KEEP", "LOW")
        po.run("ZADD", "src", 1, "a", 2, "b", 3, "c", 4, "d")
        for key, kept in (("high", [b"c", b"d"]), ("low", [b"a", b"b"])):
            for way in (("ZADD", key, 1, "a", 2, "b", 3, "c", 4, "d"), ("COPY", "src", key),
                        ("ZUNIONSTORE", key, 1, "src"), ("ZRANGESTORE", key, "src", 0, -1)):
                po.run("DEL", key)
                po.run(*way)
                equal(po.run("ZRANGE", key, 0, -1), kept, " ".join(map(str, way)))
        po.run("POLICY", "DEL", "high")
        po.run("ZUNIONSTORE", "high", 1, "src")
        po.rule("high", "MAXLEN", 2)
        po.settled()
        equal(po.run("ZRANGE", "high", 0, -1), [b"c", b"d"])
        po.run("ZREM", "high", "d")
        po.run("ZINCRBY", "high", 10, "new")
        po.run("ZINCRBY", "high", 10, "newer")
        equal(po.run("ZRANGE", "high", 0, -1), [b"new", b"newer"])


@own
def a_list_keeps_those_pushed_last():
    with Policies() as po:
        po.rule("l*", "MAXLEN", 3)
        equal(po.run("LPUSH", "l1", "a", "b", "c", "d"), 4, "the reply is of before the cut")
        equal(po.run("LRANGE", "l1", 0, -1), [b"d", b"c", b"b"])
        equal(po.run("RPUSH", "l2", "a", "b", "c", "d"), 4)
        equal(po.run("LRANGE", "l2", 0, -1), [b"b", b"c", b"d"])
        po.run("RPUSH", "l1", "e")
        equal(po.run("LRANGE", "l1", 0, -1), [b"c", b"b", b"e"])
        po.run("LINSERT", "l1", "BEFORE", "c", "x")
        equal(po.run("LRANGE", "l1", 0, -1), [b"x", b"c", b"b"], "from the far end")
        po.run("LINSERT", "l1", "AFTER", "b", "y")
        equal(po.run("LRANGE", "l1", 0, -1), [b"c", b"b", b"y"])
        po.run("LMOVE", "l1", "l2", "LEFT", "RIGHT")
        equal(po.run("LRANGE", "l2", 0, -1), [b"c", b"d", b"c"])
        po.run("RPUSH", "whole", 1, 2, 3, 4, 5)
        po.run("SORT", "whole", "STORE", "l3")
        equal(po.run("LRANGE", "l3", 0, -1), [b"3", b"4", b"5"])


# --- MEMBERTTL ----------------------------------------------------------------------------------


@own
def memberttl_expires_old_members():
    with Policies() as po:
        po.rule("activities", "MEMBERTTL", 5000)
        for i in range(10):
            equal(po.run("ZADD", "activities", i, f"a{i}"), 1)
            po.step(1000)
        equal(po.run("ZRANGE", "activities", 0, -1), [b"a5", b"a6", b"a7", b"a8", b"a9"],
              "alive at the deadline")
        po.step(1)
        equal(po.run("ZCARD", "activities"), 4)
        po.step(5000)
        equal(po.run("EXISTS", "activities"), 0)


@own
def a_member_added_again_lives_anew():
    with Policies() as po:
        po.rule("k*", "MEMBERTTL", 1000)
        po.run("SADD", "k1", "a", "b")
        po.run("HSET", "k2", "a", 1, "b", 1)
        po.run("ZADD", "k3", 1, "a", 1, "b")
        po.step(600)
        equal(po.run("SADD", "k1", "a"), 0)
        equal(po.run("HSET", "k2", "a", 2), 0)
        equal(po.run("ZADD", "k3", 1, "a"), 0)
        equal(po.run("SPTTL", "k1", "MEMBERS", 2, "a", "b"), [1000, 400])
        equal(po.run("HPTTL", "k2", "FIELDS", 2, "a", "b"), [1000, 400])
        equal(po.run("ZPTTL", "k3", "MEMBERS", 2, "a", "b"), [1000, 400])
        po.run("HINCRBY", "k2", "b", 1)
        po.run("ZINCRBY", "k3", 1, "b")
        equal(po.run("HPTTL", "k2", "FIELDS", 1, "b"), [400], "a count keeps its deadline")
        equal(po.run("ZPTTL", "k3", "MEMBERS", 1, "b"), [400])
        po.step(401)
        equal(po.run("SMEMBERS", "k1"), [b"a"])
        equal(po.run("HGETALL", "k2"), {b"a": b"2"})
        equal(po.run("ZCARD", "k3"), 1)


@own
def the_command_s_own_deadline_goes_first():
    with Policies() as po:
        po.rule("k*", "MEMBERTTL", 1000)
        po.run("SADDEX", "k1", 5, "a")
        equal(po.run("SPTTL", "k1", "MEMBERS", 1, "a"), [5000])
        po.run("HSETEX", "k2", "PX", 77, "FIELDS", 1, "f", "v")
        equal(po.run("HPTTL", "k2", "FIELDS", 1, "f"), [77])
        po.run("ZADDEX", "k3", "PX", 78, 1, "m")
        equal(po.run("ZPTTL", "k3", "MEMBERS", 1, "m"), [78])
        po.run("HPERSIST", "k2", "FIELDS", 1, "f")
        equal(po.run("HPTTL", "k2", "FIELDS", 1, "f"), [-1])


@own
def stored_results_are_members_that_were_added():
    with Policies() as po:
        po.rule("k", "MEMBERTTL", 1000)
        po.run("ZADD", "src", 1, "a", 2, "b")
        for way in (("SUNIONSTORE", "k", "set"), ("ZUNIONSTORE", "k", 1, "src")):
            po.run("SADD", "set", "a", "b")
            po.run(*way)
            family = "S" if way[0][0] == "S" else "Z"
            equal(po.run(family + "PTTL", "k", "MEMBERS", 2, "a", "b"), [1000, 1000], way[0])
        po.run("COPY", "src", "k", "REPLACE")
        equal(po.run("ZPTTL", "k", "MEMBERS", 1, "a"), [-1], "a copy is as it was")


# --- events, counts and databases ---------------------------------------------------------------


@own
def events_follow_the_command_s_own():
    with Policies("--notify-keyspace-events", "EA") as po:
        po.rule("rv:*", "MAXLEN", 2, "TTL", WEEK, "REFRESH", "WRITE")
        equal(events_of(po, ("ZADD", "rv:7", 1, "a", 2, "b", 3, "c")),
              ["zadd rv:7", "zremrangebyrank rv:7", "expire rv:7"])
        po.step(1)
        equal(events_of(po, ("ZADD", "rv:7", 4, "d"), ("ZADD", "rv:7", 5, "c")),
              ["zadd rv:7", "zremrangebyrank rv:7", "expire rv:7", "zadd rv:7"])
        po.rule("s", "TTL", 500)
        equal(events_of(po, ("SET", "s", "v"), ("GET", "s"), ("POLICY", "DEL", "s")),
              ["set s", "expire s"])
        po.rule("l", "MAXLEN", 1)
        equal(events_of(po, ("LPUSH", "l", "a", "b")), ["lpush l", "ltrim l"])
        po.rule("m", "MEMBERTTL", 500)
        equal(events_of(po, ("SADD", "m", "a", "b")), ["sadd m", "sexpire m"])


@own
def info_counts_what_policies_time():
    with Policies() as po:
        po.rule("k:*", "TTL", 1000)
        for i in range(10):
            po.run("SET", f"k:{i}", "v")
        equal(po.client.info("keyspace")["db0"]["expires"], 10)
        po.step(1001)
        equal(po.run("DBSIZE"), 0)
        equal(po.client.info("stats")["expired_keys"], 10)


@own
def policies_hold_in_every_database_and_outlive_flushes():
    with Policies() as po:
        po.rule("k", "TTL", 1000)
        po.run("FLUSHALL")
        po.raw.call("SELECT", 5)
        po.says(b"+OK\r\n", "SET", "k", "v")
        po.says(b":1000\r\n", "PTTL", "k")
        po.says(b"+OK\r\n", "SWAPDB", 5, 0)
        po.raw.call("SELECT", 0)
        po.says(b":1000\r\n", "PTTL", "k")
        equal(list(po.run("POLICY", "LIST")), [b"k"])


@own
def policies_in_a_transaction_hold_from_where_they_stand():
    with Policies() as po:
        pipe = po.client.pipeline(transaction=True)
        for call in (("SET", "a", "v"), ("POLICY", "SET", "*", "TTL", 1000), ("SET", "b", "v"),
                     ("RPUSH", "c", "x"), ("POLICY", "DEL", "*"), ("SET", "d", "v"),
                     ("PTTL", "a"), ("PTTL", "b"), ("PTTL", "c"), ("PTTL", "d")):
            pipe.execute_command(*call)
        equal(pipe.execute()[6:], [-1, 1000, 1000, -1])


main()
