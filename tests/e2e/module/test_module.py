#!/usr/bin/python3 -B
"""expired.so in a host: every key of the engine expires on time. The time is the
engine's and real, so deadlines are short and bounds generous."""

import sys

import redis

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Skipped, encode, equal, happens, main, test, wait_for
from engines import MODULE, SYNCED, engine, policy, stats_of
from process import STRETCH

SOON = int(500 * STRETCH)  # ms: time enough for the commands before it
LATE = 10_000   # seconds: no test runs that long


def events(client, *classes):
    """A subscriber that hears the events of these classes."""
    client.config_set("notify-keyspace-events", "E" + "".join(classes))
    listener = client.pubsub(ignore_subscribe_messages=True)
    listener.psubscribe("__keyevent@*")
    wait_for(lambda: client.pubsub_numpat() > 0)
    return listener


def next_event(listener):
    message = wait_for(lambda: listener.get_message(timeout=0.2))
    assert message, "no event came"
    return message["channel"].decode().split("__:")[1], message["data"].decode()


def gone_by_itself(client, count=0):
    """Waits until the database has this many keys; nothing reads them meanwhile."""
    wait_for(lambda: client.dbsize() == count)
    equal(client.dbsize(), count, "keys left")


@test
def module_cannot_tell_why_a_key_is_gone():
    with engine() as (_, client):
        for words in (("EXPIRY", "WHY", "k"), ("EXPIRED.EXPIRY", "WHY", "k"), ("POLICY", "STATS", "s:*")):
            try:
                client.execute_command(*words)
            except redis.ResponseError as error:
                assert "unknown command" in str(error).lower(), error
            else:
                raise AssertionError(words)
        # What the host tells of an end: the event and the name. A log has more, of what expires.
        policy(client, "SET", "s:*", "EXPIRED", "TO", "ended")
        listener = events(client, "gx")
        client.set("s:1", "v", px=SOON)
        client.set("s:2", "v")
        client.delete("s:2")
        equal([next_event(listener) for _ in range(3)], [("expire", "s:1"), ("del", "s:2"), ("expired", "s:1")])
        assert wait_for(lambda: client.xlen("ended") == 1)
        _, entry = client.xrange("ended")[0]
        equal(entry[b"key"], b"s:1")


@test
def without_the_module_nothing_expires_here():
    with engine(module=False) as (_, client):
        client.set("k", "v", px=1)
        happens(lambda: client.time()[1] and client.dbsize() == 0, 0.3)
        equal(client.dbsize(), 1, "the engine's own search should be off")


@test
def a_key_expires_on_time_with_the_engines_event():
    with engine() as (server, client):
        listener = events(client, "x")
        client.set("k", "v", px=SOON)
        equal(next_event(listener), ("expired", "k"))
        equal(client.dbsize(), 0)
        figures = server.stats()
        equal((figures["keys"], figures["expired"], figures["stale-nodes"]), (0, 1, 0))
        assert figures["lag-max"] < 20_000, figures
        equal(client.info("stats")["expired_keys"], 1)


@test
def every_command_that_sets_a_deadline_is_noticed():
    with engine() as (server, client):
        now = client.time()
        at = now[0] * 1000 + now[1] // 1000 + SOON
        client.set("set", "v", px=SOON)
        client.psetex("psetex", SOON, "v")
        for name in ("pexpire", "pexpireat", "getex", "renamed", "moved", "copied", "restored"):
            client.set(name, "v")
        client.pexpire("pexpire", SOON)
        client.pexpireat("pexpireat", at)
        client.getex("getex", px=SOON)
        client.pexpire("renamed", SOON)
        client.rename("renamed", "renamed2")
        client.pexpire("moved", SOON)
        client.move("moved", 1)
        client.pexpire("copied", SOON)
        client.copy("copied", "copied2")
        client.restore("restored", at, client.dump("restored"), replace=True, absttl=True)
        client.eval("redis.call('SET', 'script', 'v', 'PX', ARGV[1])", 0, SOON)
        client.hset("hash", "f", "v")
        client.pexpire("hash", SOON)
        gone_by_itself(client)
        with server.redis(db=1) as other:
            gone_by_itself(other)
        equal(server.stats()["expired"], 12)


@test
def a_deadline_that_was_moved_or_removed_does_not_count():
    with engine() as (server, client):
        for name in ("persisted", "longer", "overwritten", "deleted", "evaded"):
            client.set(name, "v", px=SOON)
        client.persist("persisted")
        client.expire("longer", LATE)
        client.set("overwritten", "new")
        client.delete("deleted")
        client.rename("evaded", "elsewhere")
        client.persist("elsewhere")
        client.set("last", "v", px=2 * SOON)
        gone_by_itself(client, 4)
        equal(sorted(client.keys()), [b"elsewhere", b"longer", b"overwritten", b"persisted"])
        figures = server.stats()
        equal((figures["keys"], figures["expired"]), (1, 1))
        equal(figures["stale-nodes"], 2, "the overwritten one, and the longer one")


@test
def keys_that_were_there_before_the_module_expire():
    with engine(module=False) as (_, client):
        for i in range(1000):
            client.set(f"k{i}", "v", px=2 * SOON + i % 10)
        client.set("kept", "v")
        client.execute_command("MODULE", "LOAD", MODULE)
        gone_by_itself(client, 1)
        equal(stats_of(client)["expired"], 1000)


@test
def keys_expire_after_a_restart_from_a_snapshot_or_the_aof():
    for options, aof in ((("--save", "3600 1"), False), (("--appendonly", "yes", *SYNCED), True)):
        with engine(*options) as (server, client):
            with client.pipeline(transaction=False) as calls:  # with one sync, not 400
                for i in range(200):
                    calls.set(f"k{i}", "v", px=4 * SOON)
                    calls.set(f"n{i}", "v")
                calls.set("late", "v", ex=LATE)
                calls.execute()
            if not aof:
                client.save()
            server.kill()
            server.start()
            with server.redis() as again:
                equal(stats_of(again)["keys"], 201)
                gone_by_itself(again, 201)
                equal(stats_of(again)["expired"], 200)
                equal(again.exists("late"), 1)


@test
def flushing_and_swapping_include_the_deadlines():
    with engine() as (server, client):
        with server.redis(db=1) as other:
            for i in range(3000):
                client.set(f"k{i}", "v", ex=LATE)
            other.set("flushed", "v", ex=LATE)
            client.set("swapped", "v", px=2 * SOON)
            client.swapdb(0, 1)
            client.flushdb()
            equal(server.stats()["keys"], 3001)
            gone_by_itself(other, 3000)
            client.flushall()
            wait_for(lambda: server.stats()["bytes"] < 4096)
            figures = server.stats()
            equal((figures["keys"], figures["stale-nodes"]), (0, 0))
            assert figures["bytes"] < 4096, figures


@test
def names_that_wait_to_be_read_are_bounded():
    """However fast clients write: a turn leaves at most 65536 names for the next one."""
    with engine() as (server, client), server.redis() as other:
        other.ping()
        script = "for i = 1, 300000 do redis.call('SET', 'k' .. i, 'v', 'EX', 1000) end"
        with client.pipeline(transaction=False) as calls:
            flat = calls.eval(script, 0).execute_command("EXPIRED.STATS").execute()[1]
        equal(flat[flat.index(b"queued") + 1], 300_000)
        assert (waiting := stats_of(other)["queued"]) <= 65_536, waiting
        assert wait_for(lambda: server.stats()["queued"] == 0)
        equal(server.stats()["keys"], 300_000)


@test
def keys_expire_though_the_engines_cron_runs_in_every_turn():
    turns = 3 * SOON // 20
    # A turn reads 16 KiB, so it runs one of them.
    slow = encode("DEBUG", "SLEEP", "0.02") + encode("SET", "pad", "x" * 16_350)
    with engine("--hz", "100") as (server, client), server.raw() as busy:
        for i in range(100):
            client.set(f"k{i}", "v", px=SOON)
        busy.send(slow * turns + encode("DBSIZE"))
        equal(busy.replies(2 * turns + 1)[-1], b":1\r\n")


@test
def a_burst_of_keys_expires_in_slices_that_others_hardly_feel():
    count = 100_000
    with engine() as (server, client):
        client.eval("for i = 1, ARGV[1] do redis.call('SET', 'k' .. i, 'v', 'PXAT', ARGV[2]) end",
                    0, count, 1000 * client.time()[0] + 2000 + 2 * SOON)
        wait_for(lambda: client.dbsize() == 0)
        figures = server.stats()
        equal((figures["keys"], figures["expired"]), (0, count))
        assert figures["lag-max"] < 20_000, figures


def calls_of_debug(client):
    return client.info("commandstats")["cmdstat_debug"]["calls"]


@test
def the_engines_own_search_is_held_in_a_burst_and_then_runs():
    with engine() as (_, client):
        before = calls_of_debug(client)
        client.eval("for i = 1, 30000 do redis.call('SET', 'k' .. i, 'v', 'PXAT', ARGV[1]) end",
                    0, 1000 * client.time()[0] + 3000 + 2 * SOON)
        wait_for(lambda: client.dbsize() == 0)
        assert wait_for(lambda: calls_of_debug(client) - before >= 2)
        assert wait_for(lambda: (calls_of_debug(client) - before) % 2 == 0), "each hold has an end"


@test
def nothing_expires_during_a_pause_and_all_of_it_afterwards():
    with engine() as (server, client):
        listener = events(client, "x")
        for i in range(100):
            client.set(f"k{i}", "v", px=SOON)
        client.execute_command("CLIENT", "PAUSE", 4 * SOON, "WRITE")
        heard = {next_event(listener) for _ in range(100)}
        equal(heard, {("expired", f"k{i}") for i in range(100)})
        figures = server.stats()
        equal((figures["expired"], figures["stale-nodes"]), (100, 0))
        assert figures["lag-max"] >= 2 * SOON, figures


@test
def looking_at_keys_leaves_no_trace():
    with engine() as (server, client):
        client.config_set("notify-keyspace-events", "KEA")
        with server.redis() as watching:
            pipe = watching.pipeline()
            client.set("k", "v", ex=LATE)
            pipe.watch("k")
            client.set("other", "v", px=SOON)
            gone_by_itself(client, 1)
            pipe.multi()
            pipe.get("k")
            equal(pipe.execute(), [b"v"], "WATCH is not touched")
        figures = client.info("stats")
        equal((figures["keyspace_hits"], figures["keyspace_misses"]), (1, 0))


@test
def a_key_stays_known_when_its_own_fields_expire():
    with engine() as (server, client):
        client.hset("h", mapping={"f": "v", "kept": "v"})
        try:
            client.execute_command("HPEXPIRE", "h", SOON // 2, "FIELDS", 1, "f")
        except redis.ResponseError:
            raise Skipped("the host has no deadlines of fields") from None
        policy(client, "SET", "h", "EXPIRED", "TO", "log")
        client.pexpire("h", 4 * SOON)
        client.execute_command("DEBUG", "SET-ACTIVE-EXPIRE", 1)
        assert wait_for(lambda: client.hlen("h") == 1)
        client.execute_command("DEBUG", "SET-ACTIVE-EXPIRE", 0)
        figures = server.stats()
        equal((figures["keys"], figures["expired"], client.xlen("log")), (1, 0, 0))
        assert wait_for(lambda: client.xlen("log") == 1)
        equal((client.exists("h"), server.stats()["expired"]), (0, 1))


@test
def info_has_the_figures():
    with engine() as (_, client):
        client.set("k", "v", ex=LATE)
        wait_for(lambda: client.info("everything")["expired_keys"] == 1)
        found = client.info("everything")
        equal(found["expired_lag_p99_9"], 0)
        assert abs(found["expired_next_due"] - client.pexpiretime("k")) <= 5000, found  # two looks at the clock


def error_of(client, *arguments):
    try:
        client.execute_command(*arguments)
    except redis.ResponseError as error:
        return str(error)
    raise AssertionError(f"{arguments}: no error")


@test
def the_module_is_loaded_once_and_stays():
    with engine() as (_, client):
        assert "Error unloading" in error_of(client, "MODULE", "UNLOAD", "expired")
        assert "Error loading" in error_of(client, "MODULE", "LOAD", MODULE)
        client.set("k", "v", px=SOON)
        gone_by_itself(client)


@test
def it_takes_no_arguments_and_stats_neither():
    with engine(module=False) as (_, client):
        assert "Error loading" in error_of(client, "MODULE", "LOAD", MODULE, "x")
        client.execute_command("MODULE", "LOAD", MODULE)
        assert "wrong number" in error_of(client, "EXPIRED.STATS", "x")


main()
