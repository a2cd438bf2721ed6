"""redis.asyncio with the commands of expired that Redis 7.0 does not have: see expired."""
from typing import Any, Optional

import redis.asyncio
import redis.asyncio.client
import redis.asyncio.cluster

from . import add_replies
from .async_commands import AsyncCommands
from .once import AsyncOnce

__all__ = ["AsyncCommands", "Pipeline", "Redis", "RedisCluster"]


class Pipeline(redis.asyncio.client.Pipeline, AsyncCommands):
    """Its methods add a command and return the pipeline; execute() returns the replies."""


class Redis(AsyncOnce, redis.asyncio.Redis, AsyncCommands):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        add_replies(self)

    def pipeline(self, transaction: bool = True, shard_hint: Optional[str] = None) -> Pipeline:
        return Pipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)


class RedisCluster(redis.asyncio.cluster.RedisCluster, AsyncCommands):
    """Its pipelines have no further methods; their execute_command reads replies alike."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        add_replies(self)
