#!/usr/bin/python3 -B
"""tools/clients/python/expired/once.py: typed functions that wait are not cut by socket_timeout, and none that takes
something is sent twice. Beside each, what redis-py does with the same command by itself."""
import asyncio
import os
import sys
import threading

import redis
import redis.asyncio
from redis.backoff import NoBackoff
from redis.retry import Retry

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import ROOT, Daemon, equal, main, own, test, wait_for
from process import STRETCH

sys.path.insert(1, os.path.join(ROOT, "tools/clients/python"))
import expired
import expired.asyncio
from expired.once import limit_of

SHORT = 0.2 * STRETCH  # seconds: the socket_timeout of clients that have one, in which other commands are answered


def retrying(retry):
    """Options with which redis-py sends a command again after any loss."""
    return {"retry": retry(NoBackoff(), 3), "retry_on_error": [redis.ConnectionError, redis.TimeoutError]}


def client_of(daemon, **options):
    return expired.Redis(unix_socket_path=daemon.path, decode_responses=True, **options)


class Call(threading.Thread):
    """Runs a function; `end` waits for its result, or for what it raised."""

    def __init__(self, function, *arguments, **options):
        super().__init__(daemon=True)
        self.call = lambda: function(*arguments, **options)
        self.found = None
        self.start()

    def run(self):
        try:
            self.found = self.call()
        except redis.RedisError as error:
            self.found = error

    def end(self):
        self.join()
        assert not self.is_alive(), "it still waits"
        return self.found


def blocked(client, count):
    assert wait_for(lambda: client.info("clients")["blocked_clients"] == count), client.info("clients")


def calls(client, command):
    return client.info("commandstats").get(f"cmdstat_{command.lower()}", {"calls": 0})["calls"]


WAITING = (
    ("rede_bpoll", lambda client: client.rede_bpoll("q", 30), lambda by: by.rede_push("q", 0, "p", "i"), ["p"]),
    ("rede_claim", lambda client: client.rede_claim("q", 5000, block=30), lambda by: by.rede_push("q", 0, "p", "i"),
     [("i", "p", 1)]),
    ("bztspop", lambda client: client.bztspop("z", 1, 30), lambda by: by.zadd("z", {"m": 1}), [("m", 1.0)]),
    ("bztsmove", lambda client: client.bztsmove("z", "l", 1, 30), lambda by: by.zadd("z", {"m": 1}), ["m"]),
    ("blmovem", lambda client: client.blmovem("a", "b", "LEFT", "RIGHT", 30), lambda by: by.rpush("a", "m"), ["m"]),
    ("getfresh", lambda client: client.getfresh("s", wait=30_000), lambda by: by.set("s", "v"), ("v", "fresh")),
)


# --- limits ------------------------------------------------------------------------------------------------------

@test
def the_limit_counts_from_the_end_of_the_wait():
    equal([limit_of(5, 0.2), limit_of(5, 3), limit_of("5", 3)], [6, 8, 8])  # at least a second
    equal([limit_of(0, 3), limit_of(5, None), limit_of(None, 3), limit_of("x", 3)], [None, None, 3, 3])


@own
def no_function_that_waits_is_cut_by_socket_timeout():
    with Daemon() as daemon, daemon.redis() as by, client_of(daemon) as typed_by:
        for name, wait, give, wanted in WAITING:
            by.flushall()
            if name == "getfresh":
                equal(typed_by.getfresh("s"), (None, "fill"))  # another client is loading it
            with client_of(daemon, socket_timeout=SHORT) as client:
                typed = Call(wait, client)
                blocked(by, 1)
                # This one waits later, so when it is cut the other one's SHORT is over too.
                plain = Call(redis.Redis(unix_socket_path=daemon.path, socket_timeout=SHORT).execute_command,
                             "BLPOP", "never", 30)
                assert isinstance(plain.end(), redis.TimeoutError), (name, plain.found)
                blocked(by, 1)
                give(typed_by)
                equal(typed.end(), wanted, name)
                equal(client.connection_pool.get_connection("").socket_timeout, SHORT)


@own
def the_limit_of_a_lease_counts_from_the_end_of_the_wait():
    with Daemon() as daemon, daemon.redis() as by, client_of(daemon, socket_timeout=SHORT) as client:
        token, _ = client.lease_take("l", "ann", 30_000)
        other = Call(client.lease_take, "l", "bob", 30_000, wait=30)
        blocked(by, 1)
        assert isinstance(Call(client.execute_command, "BLPOP", "never", 30).end(), redis.TimeoutError)
        blocked(by, 1)
        client.lease_drop("l", token)
        equal(other.end()[0] > token, True)


@own
def a_dead_server_is_noticed_a_second_after_the_wait():
    with Daemon() as daemon, client_of(daemon, socket_timeout=SHORT, **retrying(Retry)) as client:
        client.ping()
        with daemon.stopped():
            waiting = Call(client.rede_bpoll, "q", 0.1)
            assert isinstance(waiting.end(), redis.TimeoutError), waiting.found
        equal(calls(client, "REDE.BPOLL") <= 1, True)


@own
def the_connection_keeps_its_own_limit_afterwards():
    with Daemon() as daemon, client_of(daemon, socket_timeout=SHORT, single_connection_client=True) as client:
        client.rede_push("q", 0, "p", "i")
        equal(client.rede_bpoll("q", 30), ["p"])
        assert isinstance(Call(client.execute_command, "BLPOP", "never", 30).end(), redis.TimeoutError)


# --- repetition --------------------------------------------------------------------------------------------------

def lose(by, count):
    """The connections that wait are lost, after they have sent their command."""
    blocked(by, count)
    by.client_kill_filter(_type="normal", skipme=True)


@own
def a_command_that_takes_is_not_sent_again():
    with Daemon() as daemon, daemon.redis() as by, client_of(daemon, **retrying(Retry)) as client:
        waiting = Call(client.rede_bpoll, "q", 30)
        lose(by, 1)
        assert isinstance(waiting.end(), redis.ConnectionError), waiting.found
        equal(calls(by, "REDE.BPOLL"), 1)
        client.rede_push("q", 0, "p", "i")
        equal(client.rede_bpoll("q", 30), ["p"])


@own
def redis_py_itself_sends_a_command_again():
    with Daemon() as daemon, daemon.redis() as by, client_of(daemon, **retrying(Retry)) as client:
        waiting = Call(client.execute_command, "REDE.BPOLL", "q", 30)
        lose(by, 1)
        assert wait_for(lambda: calls(by, "REDE.BPOLL") == 2)
        client.rede_push("q", 0, "p", "i")
        equal(waiting.end(), ["p"])


@own
def connecting_is_still_retried():
    class Refusing(redis.UnixDomainSocketConnection):
        left = 2

        def _connect(self):
            if Refusing.left > 0:
                Refusing.left -= 1
                raise redis.ConnectionError("refused")
            return super()._connect()

    with Daemon() as daemon:
        pool = redis.ConnectionPool(connection_class=Refusing, path=daemon.path, decode_responses=True,
                                    **retrying(Retry))
        client = expired.Redis(connection_pool=pool)
        equal([client.rede_bpoll("q", 0.01), Refusing.left], [None, 0])


@own
def other_commands_are_repeated_as_redis_py_does():
    with Daemon() as daemon, daemon.redis() as by, client_of(daemon, **retrying(Retry)) as client:
        waiting = Call(client.blpop, "l", 30)
        lose(by, 1)
        blocked(by, 1)
        by.rpush("l", "a")
        equal(waiting.end(), ("l", "a"))


# --- asyncio -----------------------------------------------------------------------------------------------------

def with_async(run, **options):
    async def within(daemon):
        async with expired.asyncio.Redis(unix_socket_path=daemon.path, decode_responses=True, **options) as client:
            await run(daemon, client)
            await client.connection_pool.disconnect()
    with Daemon() as daemon:
        asyncio.run(within(daemon))


async def raised(awaitable):
    try:
        return await awaitable
    except redis.RedisError as error:
        return error


async def blocked_for(client, count):
    while (await client.info("clients"))["blocked_clients"] != count:
        pass


@own
def asyncio_is_not_cut_by_socket_timeout():
    async def run(_daemon, client):
        typed = asyncio.ensure_future(client.rede_bpoll("q", 30))
        await blocked_for(client, 1)
        assert isinstance(await raised(client.blpop("never", 30)), redis.TimeoutError)
        await blocked_for(client, 1)
        await client.rede_push("q", 0, "p", "i")
        equal(await typed, ["p"])
        assert isinstance(await raised(client.blpop("never", 30)), redis.TimeoutError)  # its own limit again
    with_async(run, socket_timeout=SHORT)


@own
def asyncio_notices_a_dead_server():
    async def run(daemon, client):
        await client.ping()
        with daemon.stopped():
            assert isinstance(await raised(client.rede_bpoll("q", 0.1)), redis.TimeoutError)
    with_async(run, socket_timeout=SHORT, **retrying(redis.asyncio.retry.Retry))


@own
def asyncio_does_not_send_again_what_takes():
    async def run(daemon, client):
        typed = asyncio.ensure_future(raised(client.rede_claim("q", 5000, block=30)))
        await blocked_for(client, 1)
        with daemon.redis() as by:
            lose(by, 1)
            assert isinstance(await typed, redis.ConnectionError)
            equal(calls(by, "REDE.CLAIM"), 1)
        plain = asyncio.ensure_future(client.execute_command("REDE.CLAIM", "q", 5000, "BLOCK", 30))
        await blocked_for(client, 1)
        with daemon.redis() as by:
            lose(by, 1)
            await blocked_for(client, 1)
            equal(calls(by, "REDE.CLAIM"), 3)
        await client.rede_push("q", 0, "p", "i")
        equal(await plain, [("i", "p", 1)])
    with_async(run, **retrying(redis.asyncio.retry.Retry))


@own
def a_cancelled_wait_takes_nothing():
    async def run(_daemon, client):
        typed = asyncio.ensure_future(client.rede_bpoll("q", 30))
        await blocked_for(client, 1)
        typed.cancel()
        await blocked_for(client, 0)
        await client.rede_push("q", 0, "p", "i")
        equal(await client.rede_bpoll("q", 30), ["p"])
    with_async(run)


main()
