"""Commands that take something, such as an element or a lease, and commands that wait.

redis-py closes a connection if a reply takes longer than socket_timeout, then may send the command again, as its retry
options say. A command that waits in the server is cut too early, and each repetition of one that takes an element takes
another. So for these commands
- socket_timeout counts from the end of the server's wait, and is at least MARGIN;
- what was sent is never sent again: after a timeout or a lost connection the error reaches the caller. Connecting,
  before anything is sent, is retried as for other commands.

`SyncOnce` and `AsyncOnce` do this for redis-py's classes, by the method that sends a command and reads its reply. Other
classes, pipelines and clusters have `Once`, which sends such a command like any other.
"""
from typing import Any

import redis

MARGIN = 1  # second
LOST = (redis.ConnectionError, redis.TimeoutError, OSError)


class Once:
    execute_command: Any

    def execute_once(self, wait: Any, *words: Any) -> Any:
        return self.execute_command(*words)


class Sent(Exception):
    """A command failed after it was sent. It carries the error past redis-py's retries, which do not know it."""


def limit_of(wait, limit):
    """For the reply to a command that waits this many seconds: 0 for ever, None not at all."""
    if wait is None or limit is None:
        return limit
    try:
        wait = float(wait)
    except (TypeError, ValueError):
        return limit  # the server will refuse it
    return wait + max(limit, MARGIN) if wait > 0 else None


def inner_of(connection):
    """Since version 5.1 a client-side cache wraps the connection."""
    return getattr(connection, "_conn", connection)


class SyncOnce:
    def execute_once(self, wait, *words):
        try:
            return self.execute_command(*words, wait_once=(wait,))
        except Sent as sent:
            raise sent.__cause__ from None

    def _send_command_parse_response(self, connection, name, *words, wait_once=None, **options):
        if wait_once is None:
            return super()._send_command_parse_response(connection, name, *words, **options)
        connection.connect()
        try:
            connection.send_command(*words)
            inner = inner_of(connection)
            socket = inner._sock
            socket.settimeout(limit_of(*wait_once, inner.socket_timeout))
            try:
                return self.parse_response(connection, name, **options)
            finally:
                if inner._sock is socket:
                    socket.settimeout(inner.socket_timeout)
        except LOST as error:
            connection.disconnect()
            raise Sent from error


class AsyncOnce:
    async def execute_once(self, wait, *words):
        try:
            return await self.execute_command(*words, wait_once=(wait,))
        except Sent as sent:
            raise sent.__cause__ from None

    async def _send_command_parse_response(self, connection, name, *words, wait_once=None, **options):
        if wait_once is None:
            return await super()._send_command_parse_response(connection, name, *words, **options)
        await connection.connect()
        try:
            await connection.send_command(*words)
            limit = limit_of(*wait_once, connection.socket_timeout)
            clocks = [(owner, attribute, getattr(owner, attribute)) for owner, attribute in clocks_of(connection)]
            for owner, attribute, _ in clocks:
                setattr(owner, attribute, limit)
            try:
                return await self.parse_response(connection, name, **options)
            finally:
                for owner, attribute, before in clocks:
                    setattr(owner, attribute, before)
        except LOST as error:
            await connection.disconnect()
            raise Sent from error


def clocks_of(connection):
    """Where redis.asyncio keeps socket_timeout: until 4.4 in the parser or its buffer too."""
    parser = connection._parser
    buffer = getattr(parser, "_buffer", None)
    for owner, attribute in ((connection, "socket_timeout"), (parser, "_socket_timeout"), (buffer, "socket_timeout")):
        if hasattr(owner, attribute):
            yield owner, attribute
