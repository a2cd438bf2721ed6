"""redis-py with the commands of expired that Redis 7.0 does not have.

    import expired

    client = expired.Redis.from_url("redis://localhost:6379", decode_responses=True)
    client.rede_push("jobs", 5000, "payload", "job-1")

`Redis`, `Pipeline` and `RedisCluster` are redis-py's classes with the methods of `Commands`; expired.asyncio
has those of redis.asyncio. A method that redis-py has itself stays redis-py's. Connections, retries and
timeouts are redis-py's too, except for commands that wait or take something: see expired.once. Another class gets the
methods as its last base, and their replies by add_replies.
"""
from typing import Any, Optional

import redis
import redis.client
import redis.cluster

from .commands import Commands
from .once import SyncOnce
from .replies import SHAPES
from .shapes import Bulk

__all__ = ["Bulk", "Commands", "Pipeline", "Redis", "RedisCluster", "add_replies"]


def add_replies(client: Any) -> None:
    """Reads the replies of all commands that the client does not read itself."""
    callbacks = getattr(client, "cluster_response_callbacks", None)
    if callbacks is None:
        callbacks = client.response_callbacks
    for name, shape in SHAPES.items():
        if name not in callbacks:
            client.set_response_callback(name, lambda reply, shape=shape, **_: shape.read(reply))


class Pipeline(redis.client.Pipeline, Commands):
    """Its methods add a command and return the pipeline; execute() returns the replies."""


class Redis(SyncOnce, redis.Redis, Commands):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        add_replies(self)

    def pipeline(self, transaction: bool = True, shard_hint: Optional[str] = None) -> Pipeline:
        return Pipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)


class RedisCluster(redis.cluster.RedisCluster, Commands):
    """Its pipelines have no further methods; their execute_command reads replies alike."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        add_replies(self)
