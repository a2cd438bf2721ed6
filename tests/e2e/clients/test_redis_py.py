#!/usr/bin/python3 -B
"""Connections and errors as redis-py makes them."""
import sys

import redis

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import Daemon, equal, main, test


def raises(kind, function, *arguments):
    try:
        function(*arguments)
    except kind:
        return
    raise AssertionError(f"{function} did not raise {kind.__name__}")

@test
def redis_py_connects_by_tcp_and_unix_with_name_and_database():
    with Daemon(tcp=True) as daemon:
        with redis.Redis(port=daemon.port, db=3, client_name="shop") as client:
            equal(client.ping(), True)
            equal(client.client_getname(), "shop")
            equal(client.set("k", "v"), True)
            equal(client.client_id() > 0, True)
            equal([entry["name"] for entry in client.client_list()], ["shop"])
            equal(client.info()["redis_version"], "7.0.15")
            equal(client.info("keyspace")["db3"]["keys"], 1)
        with daemon.redis() as client:
            equal(client.get("k"), None)
            with daemon.redis(db=3) as third:
                equal(third.get("k"), b"v")


@test
def redis_py_gives_errors_as_its_own_exceptions():
    with Daemon("--requirepass", "secret") as daemon:
        with daemon.redis() as client:
            raises(redis.RedisError, client.ping)
        with daemon.redis(password="wrong") as client:
            raises(redis.RedisError, client.ping)
        with daemon.redis(password="secret") as client:
            equal(client.ping(), True)
            client.lpush("l", "a")
            raises(redis.ResponseError, client.get, "l")
            raises(redis.ResponseError, client.execute_command, "NOSUCH")
            raises(redis.ResponseError, client.execute_command, "GET")


main()
