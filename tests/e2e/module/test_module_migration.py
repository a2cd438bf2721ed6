#!/usr/bin/python3 -B
"""CLUSTER MIGRATESLOTS of Valkey 9 with keys of expired.so: a node that imports slots expires and announces
nothing in them before it owns them, and then all of it. Other hosts do not have the command. Most tests hold a
migration while changes are sent, so that deadlines come during an import. The time is real."""
import contextlib
import sys

import redis

sys.path.insert(1, sys.path[0] + "/../../lib")
from clusters import Node, migration_state, require_migrations
from daemon import equal, main, test, wait_for
from engines import SYNCED, policy
from process import STRETCH

SOON = int(400 * STRETCH)  # ms
FAR = 4 * 10**12        # an instant, in Unix ms
ENDS = ("expired", "sexpired", "hexpired", "zexpired", "rede.due")


@contextlib.contextmanager
def two_masters(*options):
    """The node that owns all slots, another one, and a client of each."""
    require_migrations()
    with Node(*options) as source, Node(*options) as target, source.redis() as one, target.redis() as two:
        one.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        one.execute_command("CLUSTER", "MEET", "127.0.0.1", target.port, target.bus)
        def is_ready():
            return all(node.cluster("INFO")["cluster_state"] == "ok" and
                       node.cluster("INFO")["cluster_known_nodes"] == "2" for node in (one, two))
        assert wait_for(is_ready), source.log()
        yield source, target, one, two


def migrate(source, target):
    """Begins to move all slots."""
    with source.redis() as client:
        client.execute_command("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", 0, 16383, "NODE", target.id)


def hold(source, target):
    """Begins to move all slots; the target has the data, and gets changes until let_go."""
    with source.redis() as client:
        client.execute_command("DEBUG", "SLOTMIGRATION", "PREVENT-PAUSE", 1)
        migrate(source, target)
        assert wait_for(lambda: migration_state(client) == "waiting-to-pause"), (migration_state(client), source.log())


def let_go(source, target):
    with source.redis() as client, target.redis() as other:
        client.execute_command("DEBUG", "SLOTMIGRATION", "PREVENT-PAUSE", 0)
        for node in (client, other):
            assert wait_for(lambda node=node: migration_state(node) == "success"), \
                (migration_state(node), source.log(), target.log())


def fill(client):
    run = client.execute_command
    run("SET", "string", "v", "PXAT", FAR)
    run("SET", "kept", "v")
    run("E.SADD", "s", "kept", "a\x00\r\n", "")
    run("E.SADDEX", "s", "PXAT", FAR, "MEMBERS", 1, "timed")
    run("E.HSETEX", "h", "PXAT", FAR + 1, "FIELDS", 2, "timed", "\xff", "other", "")
    run("E.ZADDEX", "z", "PXAT", FAR + 2, "1e300", "timed", 0.1, "tenth")
    run("E.SADDEX", "many", "PXAT", FAR + 3, "MEMBERS", 1000, *range(1000))
    run("PEXPIREAT", "many", FAR + 4)
    for at, name in ((FAR, "far"), (1000, "claimed"), (1001, "due")):
        run("REDE.PUSHAT", "d", at, "payload", name)
    run("REDE.CLAIM", "d", 10**7, "COUNT", 1)


def content(client):
    run = client.execute_command
    many = sorted(run("E.SMEMBERS", "many"))
    return [sorted(client.keys()), run("PEXPIRETIME", "string"), run("PEXPIRETIME", "many"),
            sorted(run("E.SMEMBERS", "s")), run("E.SPEXPIRETIME", "s", "MEMBERS", 2, "timed", "kept"),
            run("E.HMGET", "h", "timed", "other"), run("E.HPEXPIRETIME", "h", "FIELDS", 2, "timed", "other"),
            run("E.ZRANGE", "z", 0, -1, "WITHSCORES"), run("E.ZPEXPIRETIME", "z", "MEMBERS", 2, "timed", "tenth"),
            many, run("E.SPEXPIRETIME", "many", "MEMBERS", len(many), *many),
            [client.execute_command("DEBUG", "DIGEST-VALUE", key) for key in ("s", "h", "z", "many", "d")]]


def change(client):
    """Writes whose effect depends on the time, on chance or on what is there."""
    run = client.execute_command
    run("SET", "relative", "v", "EX", 1000)
    run("E.SADDEX", "s", "EX", 1000, "MEMBERS", 1, "timed")
    run("E.HSETEX", "h2", "EX", 1000, "FIELDS", 1, "f", "v")
    run("E.SPOP", "many", 100)
    run("E.ZINCRBY", "z", 0.2, "tenth")
    run("E.SUNIONSTORE", "{s}union", "s")
    run("E.HPERSIST", "h", "FIELDS", 1, "other")
    run("REDE.PUSH", "d", 10**6, "payload", "relative")
    run("REDE.XACK", "d", "due")
    run("DEL", "kept")


def listen(client):
    client.config_set("notify-keyspace-events", "Exdshz")
    listener = client.pubsub(ignore_subscribe_messages=True)
    listener.subscribe(*(f"__keyevent@0__:{event}" for event in ENDS))
    assert wait_for(lambda: client.pubsub_numsub("__keyevent@0__:rede.due")[0][1] > 0)
    return listener


def heard(listener, count):
    """This many events of the keys of add_ending."""
    found = []
    while len(found) < count:
        message = wait_for(lambda: listener.get_message(timeout=0.2))
        assert message, found
        if b":" in message["data"]:
            found.append((message["channel"].decode().split("__:")[1], message["data"].decode()))
    return sorted(found)


def heard_nothing(listener):
    found = listener.get_message(timeout=0.05)
    assert not found, found


def add_ending(client, prefix, msec):
    """A key of each kind, in which something ends after this time; returns the events."""
    run = client.execute_command
    run("SET", prefix + "k", "v", "PX", msec)
    run("E.SADDEX", prefix + "s", "PX", msec, "MEMBERS", 1, "m")
    run("E.SADD", prefix + "s", "kept")
    run("E.HSETEX", prefix + "h", "PX", msec, "FIELDS", 1, "f", "v")
    run("E.HSET", prefix + "h", "kept", "v")
    run("E.ZADDEX", prefix + "z", "PX", msec, 1, "m")
    run("E.ZADD", prefix + "z", 1, "kept")
    run("REDE.PUSH", prefix + "d", msec, "payload", "id")
    return sorted(zip(ENDS, (prefix + end for end in "kshzd")))


@test
def all_kinds_of_keys_move_with_changes_made_meanwhile():
    for options in ((), ("--appendonly", "yes", *SYNCED)):
        with two_masters(*options) as (source, target, one, two):
            fill(one)
            hold(source, target)
            change(one)
            wanted = content(one)
            let_go(source, target)
            equal(content(two), wanted, options)
            assert wait_for(lambda: one.dbsize() == 0)
            assert wait_for(lambda: (source.stats()["keys"], source.stats()["values"]) == (0, 0)), source.stats()
            assert wait_for(lambda: (target.stats()["keys"], target.stats()["values"]) == (3, 6)), target.stats()


@test
def only_the_owner_expires_and_announces_during_a_migration():
    with two_masters() as (source, target, one, two):
        listeners = [listen(one), listen(two)]
        before = add_ending(one, "before:", 3 * SOON)
        later = add_ending(one, "later:", 20 * SOON)
        hold(source, target)
        during = add_ending(one, "during:", SOON)
        equal(heard(listeners[0], 10), sorted(before + during))
        heard_nothing(listeners[1])
        equal((target.stats()["keys"], target.stats()["values"]), (0, 0))
        equal(two.info("stats")["expired_keys"], 0)
        let_go(source, target)
        equal(heard(listeners[1], 7), sorted(later + [("rede.due", "before:d"), ("rede.due", "during:d")]))
        heard_nothing(listeners[0])
        equal(sorted(two.keys()), sorted(f"{when}:{kind}".encode() for when in ("before", "during", "later")
                                         for kind in "shzd"))


@test
def an_import_that_is_cancelled_leaves_nothing():
    with two_masters() as (source, target, one, two):
        listeners = [listen(one), listen(two)]
        fill(one)
        ends = add_ending(one, "later:", 5 * SOON)
        wanted = content(one)[1:]
        hold(source, target)
        one.execute_command("CLUSTER", "CANCELSLOTMIGRATIONS")
        assert wait_for(lambda: migration_state(two) == "failed"), target.log()
        equal(heard(listeners[0], 5), ends)
        equal(content(one)[1:], wanted)
        equal((two.dbsize(), target.stats()["keys"], target.stats()["values"]), (0, 0, 0))
        heard_nothing(listeners[1])
        one.execute_command("DEBUG", "SLOTMIGRATION", "PREVENT-PAUSE", 0)
        migrate(source, target)
        let_go(source, target)
        equal(content(two)[1:], wanted, "the next one completes")


@test
def what_is_due_while_a_migration_pauses_writes_waits_for_its_end():
    with two_masters() as (source, target, one, two):
        listeners = [listen(one), listen(two)]
        ends = add_ending(one, "later:", 3 * SOON)
        two.execute_command("DEBUG", "SLOTMIGRATION", "PREVENT-FAILOVER", 1)
        migrate(source, target)
        assert wait_for(lambda: migration_state(one) == "failover-granted"), source.log()
        assert wait_for(lambda: not one.exists("later:k") and one.execute_command("E.SCARD", "later:s") == 1)
        heard_nothing(listeners[0])
        one.execute_command("CLUSTER", "CANCELSLOTMIGRATIONS")
        equal(heard(listeners[0], 5), ends)
        heard_nothing(listeners[1])
        equal((two.dbsize(), target.stats()["keys"]), (0, 0))


@test
def a_target_that_dies_during_an_import_has_nothing_of_it():
    with two_masters("--appendonly", "yes", *SYNCED) as (source, target, one, _):
        fill(one)
        wanted = content(one)
        hold(source, target)
        target.kill()
        target.start()
        with target.redis() as again:
            assert wait_for(lambda: migration_state(one) == "failed"), source.log()
            assert wait_for(lambda: again.dbsize() == 0 and target.stats()["values"] == 0), target.stats()
            equal(content(one), wanted)
            one.execute_command("DEBUG", "SLOTMIGRATION", "PREVENT-PAUSE", 0)
            assert wait_for(lambda: again.cluster("INFO")["cluster_state"] == "ok"), target.log()
            migrate(source, target)
            let_go(source, target)
            equal(content(again), wanted)
            target.kill()
            target.start()
        with target.redis() as again:
            assert wait_for(lambda: again.cluster("INFO")["cluster_state"] == "ok"), target.log()
            equal(content(again), wanted, "from its file")
            assert wait_for(lambda: target.stats()["values"] == 5), target.stats()


@test
def policies_are_applied_by_the_owner_alone():
    with two_masters() as (source, target, one, two):
        for client in (one, two):
            policy(client, "SET", "s:*", "TTL", "1h", "JITTER", "50")
            policy(client, "SET", "l:*", "MAXLEN", "2")
            policy(client, "SET", "x:*", "EXPIRED", "TO", "log:{a}", "VALUE")
        names = [f"s:{i}" for i in range(50)]
        for name in names[:25]:
            one.set(name, "v")
        hold(source, target)
        for name in names[25:]:
            one.set(name, "v")
        one.rpush("l:", 1, 2, 3)
        one.set("x:{a}1", "v", px=SOON)
        one.set("x:{a}2", "v", px=10 * SOON)
        assert wait_for(lambda: all(one.pttl(name) > 0 for name in names) and one.xlen("log:{a}") == 1)
        wanted = [one.pexpiretime(name) for name in names]
        let_go(source, target)
        equal([two.pexpiretime(name) for name in names], wanted)
        equal(two.lrange("l:", 0, -1), [b"2", b"3"])
        assert wait_for(lambda: two.xlen("log:{a}") == 2)
        equal([(fields[b"key"], fields[b"value"]) for _, fields in two.xrange("log:{a}")],
              [(b"x:{a}1", b"v"), (b"x:{a}2", b"v")])


@test
def a_replica_of_the_target_has_the_same_and_can_be_promoted():
    with two_masters("--repl-diskless-sync-delay", "0") as (source, target, one, two), Node() as replica, \
            replica.redis() as three:
        three.execute_command("CLUSTER", "MEET", "127.0.0.1", target.port, target.bus)
        def is_replica():
            try:
                return three.execute_command("CLUSTER", "REPLICATE", target.id)
            except redis.ResponseError:  # it does not know the target yet
                return False
        assert wait_for(is_replica), replica.log()
        assert wait_for(lambda: three.info("replication").get("master_link_status") == "up"), replica.log()
        fill(one)
        hold(source, target)
        change(one)
        let_go(source, target)
        wanted = content(two)
        ends = add_ending(two, "later:", 5 * SOON)
        assert wait_for(lambda: three.info("replication")["slave_repl_offset"] ==
                        two.info("replication")["master_repl_offset"])
        listener = listen(three)
        three.execute_command("READONLY")
        three.execute_command("CLUSTER", "FAILOVER", "TAKEOVER")
        assert wait_for(replica.is_master), replica.log()
        equal(heard(listener, 5), ends)
        wanted[0] = sorted(wanted[0] + [f"later:{kind}".encode() for kind in "shzd"])
        equal(content(three), wanted)


main()
