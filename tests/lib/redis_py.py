"""redis_py: redis-py, imported when a test first connects by it. Depends on nothing else here.

Programs that need more of it than clients import redis themselves.
"""
import sys
import threading
import types

_importing = threading.Lock()


def redis_py():
    """The module redis. With asyncio, which only redis.asyncio uses, its import takes a third more CPU time, and half of
    the test programs import it."""
    with _importing:
        if not {"redis", "asyncio"} & sys.modules.keys():
            sys.modules["asyncio"] = types.ModuleType("asyncio")
            try:
                import redis  # pylint: disable=import-outside-toplevel
            finally:
                del sys.modules["asyncio"]
        import redis  # pylint: disable=import-outside-toplevel
        return redis
