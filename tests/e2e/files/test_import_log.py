#!/usr/bin/python3 -B
"""Imports of append-only files that redis-server writes here: both servers then have equal replies."""
import glob
import os
import shutil
import sys

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import beside_redis, equal, folder, main, own, wait_for
from import_data import contents, fill, ours, refused, same, theirs
from stream_data import carry_streams, fill_streams, same_streams, stream_replies


def fill_log(server):
    """Adds to a log what a dump does not have: commands of every kind, and transactions."""
    fill(server, seed=2)
    with server.pipeline(transaction=True) as pipe:
        pipe.set("tx:a", 1).incrby("tx:a", 41).rpush("tx:l", "x", "y").execute()
    server.set("later", "v", ex=100000)
    server.expire("tx:l", 100000)
    server.incrbyfloat("float", 1.25)
    server.execute_command("GETEX", "float", "PX", "100000000")
    server.setrange("range", 5, "abc")
    server.setbit("bits", 100, 1)
    server.execute_command("BITFIELD", "bits", "SET", "u8", "0", "200")
    server.lpush("moved", *range(20))
    server.lmove("moved", "moved:to", "LEFT", "RIGHT")
    server.ltrim("moved", 2, 10)
    server.linsert("moved", "BEFORE", "9", "new")
    server.lset("moved", 0, "zero")
    server.lrem("moved", 0, "12")
    server.sadd("popped", *range(20))
    server.spop("popped", 5)
    server.spop("popped")
    server.smove("popped", "popped:to", server.srandmember("popped"))
    server.zadd("scores", {f"m{i}": i for i in range(20)})
    server.zpopmin("scores", 2)
    server.zincrby("scores", 1.5, "m10")
    server.zremrangebyscore("scores", 15, 17)
    server.zunionstore("union", ["scores", "popped"])
    server.geoadd("geo", (13.361389, 38.115556, "Palermo"))
    server.hincrbyfloat("fields", "f", 0.5)
    server.hdel("hash:5:10", *server.hkeys("hash:5:10")[:2])
    server.pfadd("string:hll", "one more")
    server.rename("string:44", "renamed")
    server.copy("renamed", "copied")
    server.move("renamed", 3)
    server.sort("list:1:3", store="sorted", alpha=True)
    server.swapdb(7, 8)
    server.restore("restored", 0, server.dump("zset:600:5"))
    server.restore("restored:later", 100000000, server.dump("hash:600:5"))
    server.execute_command("LPOP", "list:600:5", "10")
    server.delete("set:600:5")
    server.unlink("string:run")


def write_log(source):
    """Writes a log with a base that is not empty, and further commands; stops the server. Returns
    its contents."""
    with source.redis() as server:
        fill(server, seed=5)
        server.bgrewriteaof()
        assert wait_for(lambda: server.info()["aof_rewrite_scheduled"] == 0 and
                        server.info()["aof_rewrite_in_progress"] == 0)
        server.flushall()
        fill_log(server)
        server.rename("scores", "scores:renamed")
    wanted = contents(source)
    source.stop()
    return wanted


def base_of(source, preamble):
    """The path of the log's only base."""
    ending = "rdb" if preamble == "yes" else "aof"
    base, = glob.glob(f"{source.dir}/appendonlydir/*.base.{ending}")
    return base


def each_preamble(function):
    """A test of logs whose base is an RDB file, and one of logs whose base is commands."""
    for preamble in ("yes", "no"):
        def run(preamble=preamble):
            with theirs("--appendonly", "yes", "--aof-use-rdb-preamble", preamble,
                        "--aof-timestamp-enabled", "yes") as source, folder() as directory:
                function(source, directory, preamble)
        run.__name__ = f"{function.__name__}, aof-use-rdb-preamble {preamble}"
        beside_redis(run)


@each_preamble
def log_of_several_files_becomes_ours(source, directory, preamble):
    wanted = write_log(source)
    base_of(source, preamble)
    shutil.copytree(source.dir + "/appendonlydir", directory + "/appendonlydir")
    before = sorted(os.listdir(directory + "/appendonlydir"))
    with ours("--dir", directory, "--import", "appendonly.aof.manifest") as daemon:
        same(contents(daemon), wanted)
        equal(sorted(os.listdir(directory + "/appendonlydir")), before)
        names = os.listdir(directory + "/appendonlydir.exp")
        equal(len(names), 3, names)
        assert any(name.endswith(".base.exp") for name in names), names
        with daemon.redis() as server:
            server.set("mine", "too")
        wanted = contents(daemon)
        daemon.stop()
        daemon.start()
        same(contents(daemon), wanted)


@each_preamble
def log_in_one_file_becomes_ours(source, directory, preamble):
    wanted = write_log(source)
    path = os.path.join(directory, "appendonly.aof")
    tails = sorted(glob.glob(source.dir + "/appendonlydir/*.incr.aof"))
    with open(path, "wb") as whole:
        for name in [base_of(source, preamble), *tails]:
            with open(name, "rb") as file:
                shutil.copyfileobj(file, whole)
    with ours("--import", path) as daemon:
        same(contents(daemon), wanted)
        daemon.stop()
        daemon.start()
        same(contents(daemon), wanted)


@each_preamble
def streams_in_a_log_become_ours(source, directory, preamble):
    with source.redis() as server, source.redis(db=1) as other:
        fill_streams(server)
        server.bgrewriteaof()
        assert wait_for(lambda: server.info()["aof_rewrite_scheduled"] == 0 and
                        server.info()["aof_rewrite_in_progress"] == 0)
        fill_streams(other, seed=2)
    base_of(source, preamble)
    source.stop()
    shutil.copytree(source.dir + "/appendonlydir", directory + "/appendonlydir")
    source.start()
    with ours("--dir", directory, "--import", "appendonly.aof.manifest") as daemon:
        for restarts in range(2):
            for number in (0, 1):
                # Redis loses the pending entries of deleted entries when it rewrites commands.
                with source.redis(db=number) as server, daemon.redis(db=number) as giver, \
                        theirs() as copy, copy.redis() as taker:
                    carry_streams(giver, taker)
                    same_streams(stream_replies(taker), stream_replies(server))
            if restarts == 0:
                daemon.stop()
                daemon.start()


@each_preamble
def empty_log_becomes_ours(source, directory, _preamble):
    source.stop()
    shutil.copytree(source.dir + "/appendonlydir", directory + "/appendonlydir")
    with ours("--dir", directory, "--import", directory) as daemon:
        same(contents(daemon), {})
        with daemon.redis() as server:
            server.set("k", "v")
        daemon.stop()
        daemon.start()
        with daemon.redis() as server:
            equal(server.get("k"), b"v")


def log_of(*commands):
    out = b""
    for command in commands:
        words = command.split()
        out += b"*%d\r\n" % len(words)
        for word in words:
            out += b"$%d\r\n%s\r\n" % (len(word), word.encode())
    return out


def write_bytes(path, data):
    with open(path, "wb") as file:
        file.write(data)
    return path


@own
def a_torn_end_of_a_log_is_left_out_or_refused():
    whole = log_of("SELECT 0", "SET a 1", "MULTI", "SET b 2")
    with folder() as directory:
        path = write_bytes(directory + "/file.aof", whole)
        with ours("--import", path) as daemon, daemon.redis() as server:
            equal(server.keys(), [b"a"])
            assert "is torn at byte 50: its last" in daemon.log(), daemon.log()
        assert "aof-load-truncated" in refused(directory, "--import", path,
                                               "--aof-load-truncated", "no")
        os.mkdir(directory + "/appendonlydir")
        for number, data in ((1, whole), (2, log_of("SET c 3"))):
            write_bytes(f"{directory}/appendonlydir/appendonly.aof.{number}.incr.aof", data)
        with open(directory + "/appendonlydir/appendonly.aof.manifest", "w",
                  encoding="ascii") as file:
            for number in (1, 2):
                file.write(f"file appendonly.aof.{number}.incr.aof seq {number} type i\n")
        assert "continues in another file" in refused(directory, "--import", "appendonlydir")


@own
def a_log_with_an_error_in_it_is_refused():
    with folder() as directory:
        for commands, wanted in (
                (["SET a 1", "LPUSH a x", "SET b 2"], "at byte 27: the command LPUSH"),
                (["SET a 1", "XADD a 1-1 f v"], "at byte 27: the command XADD"),
                (["SET a 1", "XADD s 0-0 f v"], "at byte 27: the command XADD"),
                (["SET a 1", "EVAL x 0"], "at byte 27: the command EVAL"),
                (["SET a 1", "SET b"], "at byte 27: the command SET"),
                (["SELECT 16"], "at byte 0: the command SELECT")):
            path = write_bytes(directory + "/file.aof", log_of(*commands))
            said = refused(directory, "--import", path)
            assert wanted in said, said


main()
