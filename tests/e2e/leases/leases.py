"""What the tests of leases share: calls that return Python values."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import plain, read_reply
from resp import encode

TRYAGAIN = b"-TRYAGAIN "
KEY = "lock"


def parsed(reply):
    return plain(read_reply(reply)[0])


def take(raw, owner, ttl=1000, *options, key=KEY):
    """(token, end), or None."""
    reply = raw.call("LEASE.TAKE", key, owner, ttl, *options)
    return granted(reply)


def granted(reply):
    found = parsed(reply)
    assert found is None or isinstance(found, list), reply
    return tuple(found) if found is not None else None


def info(raw, key=KEY):
    """LEASE.INFO as a dict; holders are {owner: (token, ms left)}."""
    flat = parsed(raw.call("LEASE.INFO", key))
    found = dict(zip(flat[::2], flat[1::2]))
    found = {name.decode() if isinstance(name, bytes) else name: value for name, value in found.items()}
    found["holders"] = {owner: (token, left) for owner, token, left in found["holders"]}
    return found


def wait(raw, owner, ttl=1000, *options, timeout=0, key=KEY):
    raw.send(encode("LEASE.TAKE", key, owner, ttl, *options, "WAIT", timeout))


def await_waiting(raw, count, key=KEY):
    from daemon import wait_for
    assert wait_for(lambda: info(raw, key)["waiting"] == count), info(raw, key)
