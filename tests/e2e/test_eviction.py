#!/usr/bin/python3 -B
"""Under maxmemory, keys give way by maxmemory-policy, or commands are refused."""
from daemon import Daemon, equal, main, test

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
def evictions_are_told():
    with under("allkeys-random") as daemon, daemon.redis() as redis:
        redis.config_set("notify-keyspace-events", "Ee")
        events = redis.pubsub()
        events.subscribe("__keyevent@0__:evicted")
        events.get_message(timeout=5)
        fill(redis, 50_000)
        message = events.get_message(timeout=5)
        assert message["data"].startswith(b"key:"), message


@test
def volatile_policies_spare_what_has_no_deadline_and_then_refuse():
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


main()
