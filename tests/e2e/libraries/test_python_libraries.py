#!/usr/bin/python3 -B
"""Rows of doc/libraries.md whose remedy is a command of expired, for libraries of Debian: limits, dogpile.cache
and Beaker."""
import sys
import threading
import time

from beaker.cache import CacheManager
from dogpile.cache import make_region
from limits import RateLimitItemPerSecond
from limits.storage import RedisStorage
from limits.strategies import FixedWindowRateLimiter

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, equal, fork, kill_child, main, own, wait_for


def together(count, run):
    """What each of that many threads returns, or raises."""
    found, ready = [], threading.Barrier(count)

    def thread():
        ready.wait()
        try:
            found.append(run())
        except Exception as error:  # pylint: disable=broad-except # of any library
            found.append(type(error).__name__)

    threads = [threading.Thread(target=thread) for _ in range(count)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return found


@own
def limits_names_a_time_that_is_too_early_and_cl_throttlems_does_not():
    with Daemon(tcp=True) as daemon, daemon.redis() as client:
        storage = RedisStorage(f"redis://127.0.0.1:{daemon.port}")  # the limiter refers to it weakly
        limiter = FixedWindowRateLimiter(storage)
        item = RateLimitItemPerSecond(1, 2)
        equal([limiter.hit(item, "ann"), limiter.hit(item, "ann")], [True, False])
        [key] = client.keys()
        client.pexpire(key, 1400)  # 600 ms of the window have passed
        until, _ = limiter.get_window_stats(item, "ann")
        ends = time.time() + client.pttl(key) / 1000
        assert until < ends - 0.2, (until, ends)  # TTL says 1 s, and the fraction of the time is cut too

        equal(client.execute_command("CL.THROTTLEMS", "api:ann", 0, 1, 2000)[0], 0)
        limited, _, _, wait, _ = client.execute_command("CL.THROTTLEMS", "api:ann", 0, 1, 2000)
        assert limited == 1 and 1000 < wait <= 2000, wait


@own
def dogpile_makes_a_slow_value_twice_and_getfresh_does_not():
    with Daemon(tcp=True) as daemon, daemon.redis() as client:
        region = make_region().configure("dogpile.cache.redis", expiration_time=60, arguments={
            "host": "127.0.0.1", "port": daemon.port, "distributed_lock": True, "lock_timeout": 1,
            "thread_local_lock": False})
        made = []

        def create():
            made.append(1)
            wait_for(lambda: len(made) >= 2)  # takes longer than lock_timeout, if that lets another one in
            return "value"
        found = together(4, lambda: region.get_or_create("page", create))
        assert len(made) >= 2 and "LockError" in found, (made, found)

        filled = []

        def read():
            value, state = client.execute_command("GETFRESH", "fresh", "LEASE", 30_000, "WAIT", 10_000)
            if state == b"fill":
                filled.append(1)
                assert wait_for(lambda: client.info("clients")["blocked_clients"] == 3)
                client.set("fresh", "value", px=60_000)
                value = b"value"
            return value
        equal(together(4, read), [b"value"] * 4)
        equal(len(filled), 1)


@own
def beaker_keeps_the_lock_of_a_killed_maker_and_getfresh_gives_the_right_to_the_next():
    with Daemon(tcp=True) as daemon, daemon.redis() as client:
        cache = CacheManager(type="ext:redis", url=f"redis://127.0.0.1:{daemon.port}").get_cache("pages", expire=60)
        maker = fork(lambda: cache.get(key="page", createfunc=threading.Event().wait))
        try:
            assert wait_for(lambda: client.keys("beaker_lock:*"))
        finally:
            kill_child(maker)
        [lock] = client.keys("beaker_lock:*")
        assert 800 < client.ttl(lock) <= 900, client.ttl(lock)  # and so long every other caller waits

        daemon.hold()
        equal(client.execute_command("GETFRESH", "page", "LEASE", 2000), [None, b"fill"])
        daemon.step(1999)
        equal(client.execute_command("GETFRESH", "page", "LEASE", 2000), [None, b"missing"])
        daemon.step(1)
        equal(client.execute_command("GETFRESH", "page", "LEASE", 2000), [None, b"fill"])


main()
