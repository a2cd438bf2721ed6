#!/usr/bin/python3 -B
"""Recipes for expiring data as users write them with redis-py."""
import multiprocessing
import sys
import time

import redis

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import NOON, REPLY_SECONDS, Daemon, equal, main, own, stepped, test


# --- 1: the time-expired set -------------------------------------------------------------------


class ExpiringSet:
    """A set whose elements are removed ttl seconds after they were pushed."""

    def __init__(self, client, key, ttl, now=time.time):
        self.client, self.key, self.ttl, self.now = client, key, ttl, now

    def push(self, value, score=None, unique=False):
        score = self.now() if score is None else score
        pipe = self.client.pipeline(transaction=True)
        pipe.zremrangebyscore(self.key, 0, self.now() - self.ttl)
        if unique:
            pipe.zremrangebyscore(self.key, score, score)
        pipe.zadd(self.key, {value: score})
        return pipe.execute()

    def elements(self):
        self.client.zremrangebyscore(self.key, 0, self.now() - self.ttl)
        return self.client.zrange(self.key, 0, -1)


@test
def an_expiring_set_has_the_pushed_elements_in_order():
    with Daemon() as daemon, daemon.redis() as client:
        recent = ExpiringSet(client, "recent", 10)
        equal(recent.push("one"), [0, 1])
        equal(recent.push("two"), [0, 1])
        equal(recent.push("one"), [0, 0])
        equal(sorted(recent.elements()), [b"one", b"two"])
        equal(recent.elements()[0], b"two")


@test
def an_expiring_set_drops_elements_older_than_its_ttl():
    now = [1000.5]
    with Daemon() as daemon, daemon.redis() as client:
        recent = ExpiringSet(client, "recent", 10, now=lambda: now[0])
        recent.push("a")
        now[0] = 1001.25
        recent.push("b")
        now[0] = 1010.499999
        equal(recent.elements(), [b"a", b"b"])
        now[0] = 1010.5  # the bound is inclusive
        equal(recent.elements(), [b"b"])
        now[0] = 1011.25
        equal(recent.push("c"), [1, 1])
        equal(recent.elements(), [b"c"])
        now[0] = 2000
        equal(recent.elements(), [])
        equal(client.exists("recent"), 0)


@test
def a_unique_push_replaces_elements_with_its_score():
    with Daemon() as daemon, daemon.redis() as client:
        recent = ExpiringSet(client, "recent", 10, now=lambda: 100)
        equal(recent.push("a", score=95.5, unique=True), [0, 0, 1])
        equal(recent.push("b", score=95.5, unique=True), [0, 1, 1])
        equal(recent.push("c", score=95.25, unique=True), [0, 0, 1])
        equal(recent.push("late", score=90), [0, 1])
        equal(client.zrange("recent", 0, -1, withscores=True),
              [(b"late", 90.0), (b"c", 95.25), (b"b", 95.5)])
        equal(recent.elements(), [b"c", b"b"])


def push_many(path, name, barrier):
    client = redis.Redis(unix_socket_path=path)
    recent = ExpiringSet(client, "recent", 3600, now=lambda: 5000)
    barrier.wait()
    for score in range(4000, 4200):
        recent.push(f"{name} {score}", score=score, unique=True)
    client.close()


@test
def two_processes_that_push_under_one_score_leave_one_element():
    with Daemon() as daemon:
        barrier = multiprocessing.Barrier(2)
        pushers = [multiprocessing.Process(target=push_many, args=(daemon.path, name, barrier),
                                           daemon=True) for name in ("left", "right")]
        for pusher in pushers:
            pusher.start()
        for pusher in pushers:
            pusher.join()
            equal(pusher.exitcode, 0)
        with daemon.redis() as client:
            found = client.zrange("recent", 0, -1, withscores=True)
        equal([score for _, score in found], [float(score) for score in range(4000, 4200)])


@test
def the_older_variant_walks_a_list_of_keys():
    with Daemon() as daemon, daemon.redis() as client:
        for name in ("key1", "key2", "key3"):
            client.lpush("list", name)
            client.set(name, "v")
            equal(client.expire(name, 10), True)
        client.delete("key2")
        equal(client.lrange("list", 0, -1), [b"key3", b"key2", b"key1"])
        alive = [name for name in client.lrange("list", 0, -1) if client.ttl(name) > 0]
        equal(alive, [b"key3", b"key1"])
        assert 8 <= client.ttl("key1") <= 10
        equal(client.ttl("key2"), -2)
        equal(client.ttl("list"), -1)


@stepped
def the_older_variant_drops_keys_to_the_millisecond():
    with Daemon() as daemon, daemon.redis() as client:
        daemon.hold()
        client.lpush("list", "key1")
        client.set("key1", "v")
        client.expire("key1", 10)
        equal(client.ttl("key1"), 10)
        daemon.step(9501)
        equal(client.ttl("key1"), 0)
        equal(client.pttl("key1"), 499)
        daemon.step(499)
        equal(client.get("key1"), b"v", "at the deadline")
        daemon.step(1)
        equal(client.get("key1"), None, "one millisecond later")
        equal(client.ttl("key1"), -2)


@stepped
def an_expiring_set_can_run_on_the_daemon_s_clock():
    with Daemon() as daemon, daemon.redis() as client:
        daemon.hold()

        def now():
            seconds, micros = client.time()
            return seconds + micros / 1e6
        recent = ExpiringSet(client, "recent", 10, now=now)
        recent.push("a")
        daemon.step(5000)
        recent.push("b")
        daemon.step(4999)
        equal(recent.elements(), [b"a", b"b"])
        daemon.step(1)
        equal(recent.elements(), [b"b"])


# --- 2: the recency list -----------------------------------------------------------------------

LENGTH = 10


def view(client, user, page, epoch, ttl=100):
    key = f"rv:{user}"
    pipe = client.pipeline()
    pipe.zadd(key, {page: epoch})
    pipe.zremrangebyrank(key, 0, -(LENGTH + 1))
    pipe.expire(key, ttl)
    return pipe.execute()


@test
def a_recency_list_keeps_the_latest_pages_first():
    with Daemon() as daemon, daemon.redis() as client:
        for epoch in range(1, 16):
            equal(view(client, "ann", f"page{epoch}", epoch),
                  [1, 1 if epoch > LENGTH else 0, True])
        equal(client.zrevrange("rv:ann", 0, -1),
              [f"page{epoch}".encode() for epoch in range(15, 5, -1)])
        equal(view(client, "ann", "page7", 16), [0, 0, True])
        equal(client.zrevrange("rv:ann", 0, 2), [b"page7", b"page15", b"page14"])
        equal(client.zcard("rv:ann"), LENGTH)
        assert 95 <= client.ttl("rv:ann") <= 100


@test
def memory_usage_of_a_recency_list_grows_and_is_small():
    with Daemon() as daemon, daemon.redis() as client:
        view(client, "ann", "page", 1)
        first = client.memory_usage("rv:ann")
        assert 20 < first < 500, first
        for epoch in range(2, LENGTH + 1):
            view(client, "ann", "https://example.org/articles/%d" % epoch, epoch)
        full = client.memory_usage("rv:ann")
        assert first < full < 5000, (first, full)
        equal(client.memory_usage("rv:nobody"), None)


@stepped
def a_recency_list_goes_when_nobody_looked_for_its_ttl():
    with Daemon() as daemon, daemon.redis() as client:
        daemon.hold()
        view(client, "ann", "page1", 1)
        daemon.step(99_000)
        view(client, "ann", "page2", 2)
        daemon.step(100_000)
        equal(client.zrevrange("rv:ann", 0, -1), [b"page2", b"page1"])
        daemon.step(1)
        equal(client.zrevrange("rv:ann", 0, -1), [])
        equal(client.dbsize(), 0)


# --- 3: the timed dictionary -------------------------------------------------------------------


def subscribed(client, *channels):
    listener = client.pubsub(ignore_subscribe_messages=True)
    listener.subscribe(*channels)
    for _ in channels:
        listener.get_message(timeout=REPLY_SECONDS)
    return listener


def message(listener):
    found = listener.get_message(timeout=REPLY_SECONDS)
    return found and found["data"]


def nothing_until_now(client, listener):
    """Asserts that no message was sent before a message of our own."""
    client.publish("mark", "mark")
    equal(message(listener), b"mark")


@test
def a_subscriber_is_called_when_a_key_expires():
    with Daemon("--notify-keyspace-events", "Ex") as daemon, daemon.redis() as client:
        listener = subscribed(client, "__keyevent@0__:expired")
        equal(client.set("k", "v", px=20), True)
        equal(message(listener), b"k")
        equal(client.get("k"), None)
        listener.close()


@stepped
def a_subscriber_is_called_after_the_deadline_and_not_at_it():
    with Daemon("--notify-keyspace-events", "Ex") as daemon, daemon.redis() as client:
        daemon.hold()
        listener = subscribed(client, "__keyevent@0__:expired", "mark")
        client.set("k", "v", px=1000)
        client.set("later", "v", px=1002)
        daemon.step(1000)
        nothing_until_now(client, listener)
        equal(client.get("k"), b"v")
        daemon.step(1)
        equal(message(listener), b"k")
        nothing_until_now(client, listener)
        daemon.step(2)
        equal(message(listener), b"later")
        equal(client.dbsize(), 0)
        listener.close()


@stepped
def many_keys_expire_in_the_order_of_their_deadlines():
    with Daemon("--notify-keyspace-events", "Ex") as daemon, daemon.redis() as client:
        daemon.hold()
        listener = subscribed(client, "__keyevent@0__:expired")
        pipe = client.pipeline(transaction=False)
        deadlines = [(i * 7919) % 500 + 1 for i in range(500)]
        for i, ttl in enumerate(deadlines):
            pipe.set(f"k{i}", "v", px=ttl)
        pipe.execute()
        daemon.step(600)
        got = [int(message(listener)[1:]) for _ in deadlines]
        equal([deadlines[i] for i in got], sorted(deadlines))
        listener.close()


@stepped
def a_moved_deadline_is_the_one_that_counts():
    with Daemon("--notify-keyspace-events", "Ex") as daemon, daemon.redis() as client:
        daemon.hold()
        listener = subscribed(client, "__keyevent@0__:expired", "mark")
        client.set("longer", "v", px=1000)
        client.set("shorter", "v", px=1000)
        client.set("kept", "v", px=1000)
        client.set("over", "v", px=1000)
        client.set("renamed", "v", px=1000)
        equal(client.pexpire("longer", 2000), True)
        equal(client.pexpire("shorter", 500), True)
        equal(client.persist("kept"), True)
        client.set("over", "w")
        client.rename("renamed", "new name")
        daemon.step(501)
        equal(message(listener), b"shorter")
        daemon.step(500)
        equal(message(listener), b"new name")
        nothing_until_now(client, listener)
        daemon.step(1000)
        equal(message(listener), b"longer")
        nothing_until_now(client, listener)
        equal(sorted(client.keys()), [b"kept", b"over"])
        listener.close()


@test
def conditions_decide_whether_a_deadline_moves():
    with Daemon() as daemon, daemon.redis() as client:
        client.set("k", "v")
        equal(client.expire("k", 100, xx=True), False)
        equal(client.expire("k", 100, gt=True), False)
        equal(client.expire("k", 100, nx=True), True)
        equal(client.expire("k", 200, nx=True), False)
        equal(client.expire("k", 200, lt=True), False)
        equal(client.expire("k", 200, gt=True), True)
        equal(client.pexpire("k", 150_000, gt=True), False)
        equal(client.pexpire("k", 150_000, lt=True), True)
        equal(client.pexpire("k", 300_000, xx=True), True)
        assert 298 <= client.ttl("k") <= 300
        equal(client.persist("k"), True)
        equal(client.persist("k"), False)
        equal(client.ttl("k"), -1)
        equal(client.expire("k", 100, lt=True), True)
        equal(client.expire("nosuch", 100), False)


@test
def a_dictionary_can_be_counted_and_walked():
    with Daemon() as daemon, daemon.redis() as client:
        names = {f"word:{i}".encode() for i in range(300)}
        for name in names:
            client.set(name, "v", px=100_000)
        client.set("other", "v")
        equal(client.dbsize(), 301)
        equal(set(client.keys("word:*")), names)
        equal(set(client.scan_iter(match="word:*")), names)
        equal(set(client.scan_iter(count=1000)), names | {b"other"})
        equal(client.keys("oth?r"), [b"other"])


@stepped
def dead_keys_are_neither_counted_nor_listed():
    with Daemon() as daemon, daemon.redis() as client:
        daemon.hold()
        client.set("stays", "v")
        for i in range(100):
            client.set(f"goes{i}", "v", px=100)
        equal(client.dbsize(), 101)
        daemon.step(100)
        equal(client.dbsize(), 101)
        daemon.step(1)
        equal(client.dbsize(), 1)
        equal(client.keys(), [b"stays"])
        equal(list(client.scan_iter()), [b"stays"])
        equal(client.randomkey(), b"stays")
        equal(client.exists("goes1", "stays"), 1)


@stepped
def a_transaction_has_one_time_and_expiry_touches_its_watch():
    with Daemon() as daemon, daemon.redis() as client, daemon.redis() as other:
        daemon.hold()
        client.set("k", "v", px=100)
        with client.pipeline() as pipe:
            pipe.watch("k")
            daemon.step(101)
            pipe.multi()
            pipe.set("seen", "1")
            try:
                pipe.execute()
                stopped = False
            except redis.WatchError:
                stopped = True
        equal(stopped, True)
        equal(other.exists("seen", "k"), 0)


@own
def the_clock_answers_the_time_in_force():
    with Daemon() as daemon, daemon.redis() as client:
        equal(daemon.hold(), NOON)
        equal(daemon.step(1), NOON + 1)
        equal(client.time(), (NOON // 1000, 1000))
        assert abs(daemon.clock("REAL") - time.time() * 1000) < 60_000


# --- the short forms: a policy, or one command, instead of the clean-up --------------------------


def policy(client, name, *options):
    equal(client.execute_command("POLICY", "SET", name, *options), b"OK")


@stepped
def a_policy_keeps_a_recency_list_short_and_lets_it_go():
    with Daemon() as daemon, daemon.redis() as client:
        daemon.hold()
        policy(client, "rv:*", "MAXLEN", LENGTH, "TTL", 100_000, "REFRESH", "WRITE")
        for epoch in range(1, 16):
            equal(client.zadd("rv:ann", {f"page{epoch}": epoch}), 1)
            equal(client.zcard("rv:ann"), min(epoch, LENGTH))
        equal(client.zrevrange("rv:ann", 0, -1),
              [f"page{epoch}".encode() for epoch in range(15, 5, -1)])
        equal(client.zadd("rv:ann", {"page7": 16}), 0)
        equal(client.zrevrange("rv:ann", 0, 2), [b"page7", b"page15", b"page14"])
        daemon.step(99_000)
        client.zadd("rv:ann", {"page16": 17})
        daemon.step(100_000)
        equal(client.zcard("rv:ann"), LENGTH)
        daemon.step(1)
        equal(client.zrevrange("rv:ann", 0, -1), [])
        equal(client.dbsize(), 0)


@stepped
def a_policy_lets_each_item_of_a_set_end_by_itself():
    with Daemon() as daemon, daemon.redis() as client:
        daemon.hold()
        policy(client, "recent*", "MEMBERTTL", 10_000)
        equal(client.sadd("recent", "a"), 1)
        equal(client.zadd("recent by time", {"a": 1}), 1)
        daemon.step(750)
        equal(client.sadd("recent", "b"), 1)
        equal(client.zadd("recent by time", {"b": 2}), 1)
        daemon.step(9_250)
        equal(client.smembers("recent"), {b"a", b"b"})
        daemon.step(1)
        equal(client.smembers("recent"), {b"b"})
        equal(client.zrange("recent by time", 0, -1), [b"b"])
        equal(client.zrank("recent by time", "b"), 0)
        equal(client.sadd("recent", "b"), 0, "its time begins anew")
        daemon.step(750)
        equal(client.keys(), [b"recent"])
        daemon.step(9_250)
        equal(client.dbsize(), 1)
        daemon.step(1)
        equal(client.dbsize(), 0)


@stepped
def each_item_can_end_at_a_time_of_its_own():
    with Daemon() as daemon, daemon.redis() as client:
        daemon.hold()
        run = client.execute_command
        equal(run("SADDEX", "coupons", "PXAT", NOON + 5000, "MEMBERS", 2, "spring", "summer"), 2)
        equal(run("SADDEX", "coupons", 60, "autumn"), 1)
        equal(run("SPEXPIRE", "coupons", 9000, "MEMBERS", 1, "summer"), [1])
        equal(run("STTL", "coupons", "MEMBERS", 3, "spring", "summer", "winter"), [5, 9, -2])
        equal(client.hset("cart", mapping={"boots": 1, "tent": 2}), 2)
        equal(run("HPEXPIRE", "cart", 7000, "FIELDS", 1, "tent"), [1])
        daemon.step(5001)
        equal(client.smembers("coupons"), {b"summer", b"autumn"})
        equal(run("SPERSIST", "coupons", "MEMBERS", 1, "autumn"), [1])
        daemon.step(2000)
        equal(client.hgetall("cart"), {b"boots": b"1"})
        daemon.step(100_000)
        equal(client.smembers("coupons"), {b"autumn"})


@stepped
def a_policy_keeps_a_set_of_those_present():
    with Daemon() as daemon, daemon.redis() as client:
        daemon.hold()
        policy(client, "online", "MEMBERTTL", 30_000)
        client.sadd("online", "ann", "bob")
        daemon.step(20_000)
        client.sadd("online", "ann")
        equal(client.scard("online"), 2)
        daemon.step(10_001)
        equal(client.scard("online"), 1)
        equal(client.sismember("online", "ann"), True)
        equal(client.sismember("online", "bob"), False)
        equal(client.srandmember("online", 5), [b"ann"])
        daemon.step(20_000)
        equal(client.exists("online"), 0)


@stepped
def a_rate_limiter_does_not_count_rejected_requests():
    with Daemon() as daemon, daemon.redis() as client:
        daemon.hold()
        policy(client, "limit:*", "TTL", "1m", "REFRESH", "WRITE")
        run = client.execute_command
        equal(run("REDE.MPUSH", "limit:ann", 0, "", 1, 0, "", 2), 2)
        admitted = lambda: bool(run("REDE.CLAIM", "limit:ann", 60_000, "COUNT", 1))
        equal(admitted(), True)
        daemon.step(30_000)
        equal([admitted(), admitted()], [True, False])
        equal(run("REDE.TTN", "limit:ann"), 30_000)
        for _ in range(29):
            daemon.step(1000)
            equal(admitted(), False)
        daemon.step(1000)
        equal(run("REDE.TTN", "limit:ann"), 0)
        equal([admitted(), admitted()], [True, False])
        equal(run("REDE.TTN", "limit:ann"), 30_000)
        daemon.step(60_001)
        equal(client.dbsize(), 0)


@stepped
def a_policy_ends_sessions_that_nobody_uses():
    with Daemon() as daemon, daemon.redis() as client:
        daemon.hold()
        policy(client, "session:*", "TTL", 1_800_000, "REFRESH", "ACCESS")
        client.hset("session:1", "user", "ann")
        client.set("session:2", "bob")
        daemon.step(1_799_000)
        equal(client.hget("session:1", "user"), b"ann")
        equal(client.ttl("session:1"), 1800)
        equal(client.ttl("session:2"), 1, "asking for the TTL is no use")
        daemon.step(1001)
        equal(client.keys(), [b"session:1"])
        daemon.step(1_798_999)
        equal(client.exists("session:1"), 1)
        daemon.step(1)
        equal(client.exists("session:1"), 0)


@stepped
def a_policy_bounds_what_a_cache_keeps_and_spreads_its_ends():
    with Daemon() as daemon, daemon.redis() as client:
        daemon.hold()
        policy(client, "cache:*", "TTL", 600_000, "JITTER", 10, "MAXTTL", 3_600_000)
        for i in range(200):
            client.set(f"cache:{i}", "v")
        ttls = [client.pttl(f"cache:{i}") for i in range(200)]
        assert all(540_000 <= ttl <= 660_000 for ttl in ttls), ttls
        assert len(set(ttls)) > 150, ttls
        client.set("cache:long", "v", ex=86_400)
        equal(client.ttl("cache:long"), 3600)
        client.set("cache:short", "v", ex=5)
        equal(client.ttl("cache:short"), 5)
        client.set("elsewhere", "v", ex=86_400)
        equal(client.ttl("elsewhere"), 86_400)
        equal(client.execute_command("POLICY", "OF", "cache:1"), b"cache:*")
        daemon.step(660_001)
        equal(sorted(client.keys()), [b"cache:long", b"elsewhere"])


@stepped
def a_subscriber_hears_which_member_has_ended():
    with Daemon("--notify-keyspace-events", "Tsh") as daemon, daemon.redis() as client:
        daemon.hold()
        listener = subscribed(client, "__subkeyevent@0__:sexpired", "__subkeyevent@0__:hexpired",
                              "mark")
        client.execute_command("SADDEX", "online", "PX", 1000, "MEMBERS", 1, "ann")
        client.hset("cart", "tent", 1)
        client.execute_command("HPEXPIRE", "cart", 2000, "FIELDS", 1, "tent")
        daemon.step(1000)
        nothing_until_now(client, listener)
        daemon.step(1)
        equal(message(listener), b"6:online|3:ann")
        daemon.step(1000)
        equal(message(listener), b"4:cart|4:tent")
        listener.close()


@stepped
def expiry_next_lists_the_next_deadlines():
    with Daemon() as daemon, daemon.redis() as client:
        daemon.hold()
        client.set("job:7", "mail", px=90_000)
        client.execute_command("SADDEX", "coupons", "PX", 5000, "MEMBERS", 1, "spring")
        client.execute_command("HSETEX", "cart", "PX", 7000, "FIELDS", 1, "tent", 2)
        equal(client.execute_command("EXPIRY", "NEXT", 2),
              [[b"coupons", NOON + 5000, b"member"], [b"cart", NOON + 7000, b"field"]])
        daemon.step(7001)
        equal(client.execute_command("EXPIRY", "NEXT"), [[b"job:7", NOON + 90_000, b"key"]])


main()
