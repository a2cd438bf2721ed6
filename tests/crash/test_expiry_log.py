#!/usr/bin/python3 -B
"""kill -9 while keys and members expire into a log: each one is in the log exactly once."""
import collections
import time

from crash import Kept, equal, run, seeded, test, wait_for

KEYS, MEMBERS = 6000, 2000


def fill(daemon, rng):
    """Everything expires 300 to 1500 ms after its command, however long the daemon takes for all."""
    with daemon.redis() as client:
        client.execute_command("POLICY", "SET", "s:*", "EXPIRED", "TO", "log", "VALUE")
        pipe = client.pipeline(transaction=False)
        for number in range(KEYS):
            pipe.set(f"s:{number}", f"value {number}", px=rng.randint(300, 1500))
        for number in range(MEMBERS):
            pipe.execute_command("HSETEX", "s:hash", "PX", rng.randint(300, 1500), "FIELDS", 1,
                                 number, f"value {number}")
        pipe.execute()


def logged(daemon):
    """How often each key or field is in the log."""
    found = collections.Counter()
    with daemon.redis() as client:
        for _, fields in client.xrange("log"):
            name = fields.get(b"member", fields[b"key"]).decode().removeprefix("s:")
            equal(fields[b"value"].decode(), f"value {name}")
            found[(b"member" in fields, int(name))] += 1
    return found


def all_gone(daemon):
    with daemon.redis() as client:
        return client.dbsize() == 1 and client.exists("s:hash") == 0


WANTED = {(False, number): 1 for number in range(KEYS)} | {(True, number): 1 for number in range(MEMBERS)}


def kill_while_they_expire(rng, **options):
    with Kept(**options) as daemon:
        fill(daemon, rng)
        for _ in range(4):
            # Real time has to pass: the deadlines are spread over it.
            time.sleep(rng.uniform(0.05, 0.4))
            daemon.kill()
            daemon.start()
        assert wait_for(lambda: all_gone(daemon)), daemon.log()
        found = logged(daemon)
        equal({name: count for name, count in found.items() if WANTED.get(name) != count}, {})
        equal(len(found), len(WANTED))
        daemon.kill()
        daemon.start()
        equal(logged(daemon), found)


@test
def each_expired_key_and_field_is_logged_once_despite_kill():
    rng = seeded("expiry_log")
    for fsync in ("always", "no"):
        kill_while_they_expire(rng, fsync=fsync)


run()
