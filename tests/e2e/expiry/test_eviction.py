#!/usr/bin/python3 -B
"""maxmemory: keys are evicted by maxmemory-policy, or commands are refused."""

import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import IS_REDIS, Daemon, equal, main, test, wait_for

LIMIT = 8_000_000


def fill(redis, keys):
    pipe = redis.pipeline(transaction=False)
    for number in range(keys):
        pipe.set(f"key:{number}", "x" * 200)
    return pipe.execute(raise_on_error=False)


def under(policy):
    return Daemon("--maxmemory", str(LIMIT), "--maxmemory-policy", policy)


@test
def memory_stays_at_its_limit_and_no_write_is_refused():
    with under("allkeys-lru") as daemon, daemon.redis() as redis:
        equal(set(fill(redis, 50_000)), {True})
        info = redis.info()
        assert info["used_memory"] < LIMIT * 1.05, info["used_memory"]
        assert info["evicted_keys"] > 1000, info["evicted_keys"]


@test
def evictions_send_events():
    with under("allkeys-random") as daemon, daemon.redis() as redis:
        redis.config_set("notify-keyspace-events", "Ee")
        events = redis.pubsub()
        events.subscribe("__keyevent@0__:evicted")
        events.get_message(timeout=5)
        fill(redis, 50_000)
        message = events.get_message(timeout=5)
        assert message["data"].startswith(b"key:"), message


@test
def volatile_policies_keep_keys_without_a_deadline_and_refuse():
    with under("volatile-ttl") as daemon, daemon.redis() as redis:
        redis.set("mortal", "x", px=100_000)
        replies = fill(redis, 50_000)
        equal(redis.exists("mortal"), 0)
        equal(redis.info()["evicted_keys"], 1)
        assert "command not allowed when used memory" in str(replies[-1]), replies[-1]


@test
def often_used_keys_outlive_others_under_lfu():
    with under("allkeys-lfu") as daemon, daemon.redis() as redis:
        redis.set("loved", "x")
        for _ in range(300):
            redis.get("loved")
        fill(redis, 50_000)
        equal(redis.exists("loved"), 1)
        assert redis.object("freq", "loved") > 5


def used(redis):
    return redis.info("memory")["used_memory"]


def is_kept(redis):
    """Allows for the memory of the reply with the figure."""
    return used(redis) <= LIMIT * 1.01


@test
def lowering_maxmemory_evicts_at_once_with_events():
    with Daemon("--maxmemory-policy", "allkeys-lru") as daemon, daemon.redis() as redis:
        redis.config_set("notify-keyspace-events", "Ee")
        fill(redis, 50_000)
        events = redis.pubsub()
        events.subscribe("__keyevent@0__:evicted")
        events.get_message(timeout=5)
        assert used(redis) > LIMIT
        redis.config_set("maxmemory", LIMIT)
        assert wait_for(lambda: is_kept(redis)), used(redis)
        assert used(redis) > LIMIT * 0.9, "more keys went than had to"
        redis.config_set("maxmemory", 0)
        gone = redis.info("stats")["evicted_keys"]
        equal(gone + redis.dbsize(), 50_000)
        for _ in range(gone):
            assert events.get_message(timeout=5)["data"].startswith(b"key:")


@test
def a_policy_that_may_evict_does_so_at_once():
    with Daemon() as daemon, daemon.redis() as redis:
        fill(redis, 50_000)
        redis.config_set("maxmemory", LIMIT)
        equal(redis.dbsize(), 50_000)
        redis.config_set("maxmemory-policy", "allkeys-random")
        # DIFFERS: Redis waits for the next command that needs memory.
        if IS_REDIS:
            redis.set("one", "more")
        assert wait_for(lambda: is_kept(redis)), used(redis)


@test
def evictions_after_a_lower_limit_are_in_the_journal():
    with Daemon("--maxmemory-policy", "allkeys-random", "--appendonly", "yes") as daemon:
        with daemon.redis() as redis:
            fill(redis, 50_000)
            redis.config_set("maxmemory", LIMIT)
            assert wait_for(lambda: is_kept(redis)), used(redis)
            redis.config_set("maxmemory", 0)
            left = redis.dbsize()
        daemon.stop()
        daemon.start()
        with daemon.redis() as redis:
            wait_for(lambda: redis.info("persistence")["loading"] == 0)
            equal(redis.dbsize(), left)


@test
def the_daemon_is_idle_when_nothing_may_be_evicted():
    with Daemon("--maxmemory-policy", "volatile-lru") as daemon, daemon.redis() as redis:
        fill(redis, 20_000)
        redis.set("mortal", "x", ex=1000)
        redis.config_set("maxmemory", 1_000_000)
        assert wait_for(lambda: redis.exists("mortal") == 0)
        before = daemon.cpu_seconds()
        redis.blpop("nothing", timeout=0.6)  # CPU use at rest is measured over real time
        assert daemon.cpu_seconds() - before < 0.3, "it keeps trying"
        equal(redis.dbsize(), 20_000)


main()
