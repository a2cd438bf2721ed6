#!/usr/bin/python3 -B
"""redis-py's Lock, register_script and functions, unchanged."""
import sys
import threading

import redis
from redis.exceptions import (
    LockError, LockNotOwnedError, NoScriptError, ReadOnlyError, ResponseError)
from redis.lock import Lock

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, equal, main, own, stepped, test, wait_for

ADD = "return redis.call('INCRBY', KEYS[1], ARGV[1])"
LIBRARY = """#!lua name=shop
redis.register_function('add', function(keys, args)
    return redis.call('INCRBY', keys[1], args[1])
end)
redis.register_function{function_name='get', flags={'no-writes'}, callback=function(keys)
    return redis.call('GET', keys[1])
end}
"""


def raises(kind, function, *arguments, **options):
    """The exception."""
    try:
        function(*arguments, **options)
    except kind as error:
        return error
    raise AssertionError(f"{function} did not raise {kind.__name__}")


# --- Lock --------------------------------------------------------------------------------------

@test
def a_lock_is_held_by_one_until_it_is_released():
    with Daemon() as daemon, daemon.redis() as client:
        first, second = client.lock("l"), client.lock("l")
        equal([first.locked(), first.owned()], [False, False])
        equal(first.acquire(blocking=False), True)
        equal(client.get("l"), first.local.token)
        equal([first.locked(), first.owned(), second.locked(), second.owned()],
              [True, True, True, False])
        equal(second.acquire(blocking=False), False)
        equal(str(raises(LockError, second.release)), "Cannot release an unlocked lock")
        first.release()
        equal([client.exists("l"), second.acquire(blocking=False)], [0, True])
        raises(LockError, first.release)
        second.release()


@test
def a_lock_with_a_timeout_can_be_extended_and_reacquired():
    with Daemon() as daemon, daemon.redis() as client:
        lock = client.lock("l", timeout=100)
        equal(str(raises(LockError, lock.extend, 5)), "Cannot extend an unlocked lock")
        raises(LockError, lock.reacquire)
        lock.acquire()
        assert 90_000 < client.pttl("l") <= 100_000
        equal(lock.extend(100), True)
        assert 190_000 < client.pttl("l") <= 200_000
        equal(lock.extend(50, replace_ttl=True), True)
        assert 40_000 < client.pttl("l") <= 50_000
        equal(lock.reacquire(), True)
        assert 90_000 < client.pttl("l") <= 100_000
        lock.release()
        forever = client.lock("forever")
        forever.acquire()
        equal(str(raises(LockError, forever.extend, 5)), "Cannot extend a lock with no timeout")
        raises(LockError, forever.reacquire)
        forever.release()


@stepped
def a_lock_ends_at_its_timeout_and_another_takes_it():
    with Daemon() as daemon, daemon.redis() as client:
        daemon.hold()
        first, second = client.lock("l", timeout=10), client.lock("l", timeout=10)
        first.acquire()
        daemon.step(4000)
        first.extend(5)
        equal(client.pttl("l"), 11_000)
        daemon.step(11_000)
        equal([first.owned(), second.acquire(blocking=False)], [True, False])
        daemon.step(1)
        equal([first.owned(), second.acquire(blocking=False)], [False, True])
        raises(LockNotOwnedError, first.extend, 5)
        raises(LockNotOwnedError, first.reacquire)
        equal(client.pttl("l"), 10_000)
        raises(LockNotOwnedError, first.release)
        equal([second.owned(), client.get("l")], [True, second.local.token])
        second.release()


@test
def acquire_waits_no_longer_than_its_timeout():
    with Daemon() as daemon, daemon.redis() as client:
        client.set("l", "someone else's")
        lock = Lock(client, "l", sleep=0.01, blocking_timeout=0.05)
        equal(lock.acquire(), False)
        raises(LockError, lock.__enter__)
        client.delete("l")
        with lock as held:
            equal(held.owned(), True)
        equal(client.exists("l"), 0)


@test
def a_released_lock_goes_to_the_client_that_waits():
    with Daemon() as daemon, daemon.redis() as client, daemon.redis() as other:
        lock = client.lock("l")
        lock.acquire()
        taken = []
        waiting = Lock(other, "l", sleep=0.01, thread_local=False)
        thread = threading.Thread(target=lambda: taken.append(waiting.acquire()))
        thread.start()
        tries = [0]

        def has_tried():
            tries[0] = client.info("commandstats").get("cmdstat_set", {}).get("calls", 0)
            return tries[0] >= 3
        assert wait_for(has_tried)
        equal(taken, [])
        lock.release()
        thread.join()
        equal([taken, waiting.owned()], [[True], True])
        waiting.release()


@test
def two_holders_never_hold_the_same_lock():
    with Daemon() as daemon:
        inside, most, failures = [0], [0], []

        def work():
            with daemon.redis() as client:
                try:
                    for _ in range(40):
                        with Lock(client, "l", timeout=20, sleep=0.001):
                            inside[0] += 1
                            most[0] = max(most[0], inside[0])
                            client.incr("n")
                            inside[0] -= 1
                except redis.RedisError as error:
                    failures.append(error)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with daemon.redis() as client:
            equal([failures, most[0], client.get("n"), client.exists("l")], [[], 1, b"160", 0])


@test
def a_lock_works_after_script_flush_and_with_decoded_replies():
    with Daemon() as daemon, daemon.redis(decode_responses=True) as client:
        lock = client.lock("l", timeout=100)
        lock.acquire(token="mine")
        equal(client.get("l"), "mine")
        client.script_flush()
        equal([lock.owned(), lock.extend(10), lock.reacquire()], [True, True, True])
        client.script_flush()
        lock.release()
        equal(client.exists("l"), 0)


# --- scripts -----------------------------------------------------------------------------------

@test
def a_registered_script_is_loaded_when_it_is_missing():
    with Daemon() as daemon, daemon.redis() as client:
        add = client.register_script(ADD)
        equal(client.script_exists(add.sha), [False])
        equal(str(raises(NoScriptError, client.evalsha, add.sha, 1, "n", 1)),
              "No matching script. Please use EVAL.")
        equal([add(keys=["n"], args=[5]), add(keys=["n"], args=[6])], [5, 11])
        equal(client.script_exists(add.sha, "f" * 40), [True, False])
        client.script_flush()
        equal(add(keys=["n"], args=[1]), 12)
        equal(client.script_flush("ASYNC"), True)
        equal(client.script_load(ADD), add.sha)
        equal(client.evalsha(add.sha, 1, "n", 8), 20)


@test
def scripts_run_in_pipelines():
    with Daemon() as daemon, daemon.redis() as client:
        add = client.register_script(ADD)
        for transaction in (True, False):
            client.script_flush()
            client.delete("n")
            with client.pipeline(transaction=transaction) as pipe:
                pipe.set("k", "v")
                add(keys=["n"], args=[2], client=pipe)
                add(keys=["n"], args=[3], client=pipe)
                pipe.eval("return {KEYS[1], ARGV[1], 3.99}", 1, "a", "b")
                pipe.get("n")
                equal(pipe.execute(), [True, 2, 5, [b"a", b"b", 3], b"5"])
        with client.pipeline() as pipe:
            pipe.incr("n")
            pipe.eval("return redis.call('INCR', 'k')", 0)
            pipe.incr("n")
            replies = pipe.execute(raise_on_error=False)
        equal([replies[0], replies[2], type(replies[1])], [6, 7, ResponseError])


@test
def scripts_return_values_and_errors_as_python_has_them():
    with Daemon() as daemon, daemon.redis() as client:
        for script, wanted in (("return 3.99", 3), ("return 'a'", b"a"), ("return true", 1),
                               ("return false", None), ("return {1, 'b', {2, false}}",
                                                        [1, b"b", [2, None]]),
                               ("return {}", []), ("return {ok = 'fine'}", b"fine"),
                               ("return {1, nil, 3}", [1])):
            equal(client.eval(script, 0), wanted, script)
        client.set("k", "v")
        for script, words in (
                ("return redis.call('INCR', 'k')", "value is not an integer or out of range"),
                ("return redis.error_reply('MY own')", "MY own"), ("error('stop')", "stop"),
                ("return +", "Error compiling script (new function): user_script:1:"),
                ("nosuch = 1", "Attempt to modify a readonly table"),
                ("return nosuch", "Script attempted to access nonexistent global variable")):
            said = str(raises(ResponseError, client.eval, script, 0))
            assert words in said, said
        raises(ResponseError, client.eval_ro, "return redis.call('SET', 'k', 1)", 0)
        equal(client.eval_ro("return redis.call('GET', 'k')", 1, "k"), b"v")


@own
def scripts_that_end_redis_server_get_an_error():
    with Daemon() as daemon, daemon.redis() as client:
        for script in ("error({})", "error({1, 2})", "error({ok = 'x'})",
                       "error(redis.status_reply('x'))", "error(setmetatable({}, {}))",
                       "error({err = {}})"):
            assert str(raises(ResponseError, client.eval, script, 0)), script
            equal(client.eval("return 1", 0), 1)


# --- functions ---------------------------------------------------------------------------------

@test
def functions_are_loaded_listed_called_and_deleted():
    with Daemon() as daemon, daemon.redis() as client:
        equal(client.function_load(LIBRARY), b"shop")
        raises(ResponseError, client.function_load, LIBRARY)
        equal(client.function_load(LIBRARY, replace=True), b"shop")
        equal(client.fcall("add", 1, "n", 5), 5)
        equal(client.fcall_ro("get", 1, "n"), b"5")
        raises((ResponseError, ReadOnlyError), client.fcall_ro, "add", 1, "n", 5)
        raises(ResponseError, client.fcall, "nosuch", 0)
        listed = client.function_list(library="shop", withcode=True)[0]
        assert LIBRARY.encode() in listed and b"shop" in listed, listed
        payload = client.function_dump()
        equal(client.function_delete("shop"), True)
        equal(client.function_list(), [])
        equal(client.function_restore(payload), True)
        with client.pipeline() as pipe:
            pipe.fcall("add", 1, "n", 1)
            pipe.fcall_ro("get", 1, "n")
            equal(pipe.execute(), [6, b"6"])
        equal(client.function_flush(), True)
        raises(ResponseError, client.fcall, "add", 1, "n", 5)


main()
