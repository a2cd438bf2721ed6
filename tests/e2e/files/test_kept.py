#!/usr/bin/python3 -B
"""Files that released versions wrote are loaded with all data and deadlines."""
import os
import shutil
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import ROOT, Daemon, equal, main, own, wait_for

KEPT = os.path.join(ROOT, "tests", "kept")
# The data set of tests/kept/0.1, as the version that wrote it saw it.
DIGEST_0_1 = b"20fc6c29e446d8fc95e0350f96ced7d0"
FAR = 4_102_444_800_000


def start_with(folder, *options):
    """A daemon with a copy of the folder's files in its directory."""
    daemon = Daemon(*options)
    start = daemon.start

    def copy_and_start():
        shutil.copytree(os.path.join(KEPT, folder), daemon.dir, dirs_exist_ok=True)
        start()
    daemon.start = copy_and_start
    return daemon


def journal(daemon):
    """The last journal in the daemon's folder."""
    folder = os.path.join(daemon.dir, "appendonlydir")
    names = [name for name in os.listdir(folder) if name.endswith(".incr.aof")]
    with open(os.path.join(folder, max(names, key=lambda name: int(name.split(".")[2]))), "rb") as file:
        return file.read()


def look(redis):
    """A few replies for each type, with the deadlines."""
    run = redis.execute_command
    equal(run("DEBUG", "DIGEST"), DIGEST_0_1)
    equal(run("HPEXPIRETIME", "hash", "FIELDS", 3, "f1", "f2", "f3"), [FAR + 1, FAR + 1, -1])
    equal(run("ZSCORE", "smallz", "three"), 5.5)
    equal(run("PEXPIRETIME", "zset"), FAR + 9)
    equal(run("SPEXPIRETIME", "deadset", "MEMBERS", 3, "x", "y", "z"), [-1, FAR + 7, -1])
    equal(run("REDE.LEN", "later"), 49)
    equal(run("REDE.LOOK", "later", "id:1"), b"other")
    equal(run("REDE.LEN", "due", "CLAIMED"), 1)
    equal(run("POLICY", "OF", "rv:ann"), b"rv:*")
    equal(redis.get("binary"), bytes(range(256)))
    equal(redis.lrange("list", 0, 1), [b"e1", b"e2"])
    equal(redis.pfcount("hll"), redis.pfcount("hll", "hll"))


@own
def a_journal_of_version_0_1_is_loaded_and_continued():
    with start_with("0.1/journal", "--appendonly", "yes") as daemon:
        with daemon.redis() as redis:
            look(redis)
            before = journal(daemon)
            assert before.startswith(b"#EXPIRED-JOURNAL 1\r\n"), before[:20]
            redis.set("since", "then")
            digest = redis.execute_command("DEBUG", "DIGEST")
        daemon.stop()
        after = journal(daemon)
        # 0.1 could read it.
        assert after.startswith(before) and b"$5\r\nsince\r\n$4\r\nthen\r\n" in after, after[len(before):]
        Daemon.start(daemon)
        with daemon.redis() as redis:
            equal(redis.execute_command("DEBUG", "DIGEST"), digest)
            redis.execute_command("BGREWRITEAOF")
            assert wait_for(lambda: redis.info("persistence")["aof_rewrite_in_progress"] == 0)
            redis.set("since", "now")
            digest = redis.execute_command("DEBUG", "DIGEST")
        daemon.stop()
        assert journal(daemon).startswith(b"#EXPIRED-JOURNAL 2\r\n"), journal(daemon)
        Daemon.start(daemon)
        with daemon.redis() as redis:
            equal(redis.execute_command("DEBUG", "DIGEST"), digest)


@own
def a_snapshot_of_version_0_1_is_loaded():
    with start_with("0.1/snapshot") as daemon, daemon.redis() as redis:
        look(redis)


main()
