#!/usr/bin/python3 -B
"""Data brought over from Redis: RDB files and append-only files that redis-server writes here, and
payloads of DUMP in both directions. Both servers then answer the same."""
import glob
import os
import random
import shutil
import subprocess

import redis

from daemon import (BINARY, NOON, ORACLE, Daemon, beside_redis, die_with_parent, equal, folder,
                    main, own, wait_for)

DATABASES = 16


# --- data ----------------------------------------------------------------------------------------


def texts(generator, count, length):
    return ["".join(generator.choice("abcdefgh \n\r\0\xff") for _ in range(length))
            .encode("latin-1") + b"%d" % number for number in range(count)]


def fill_strings(server, generator):
    for number in (0, 1, -1, 127, -128, 128, 32767, -32769, 2**31 - 1, -2**31, 2**31, 2**63 - 1,
                   -2**63):
        server.set(f"string:int:{number}", number)
    for name, value in (("empty", b""), ("zeros", b"007"), ("plus", b"+1"), ("space", b" 1"),
                        ("float", b"3.0e5"), ("binary", bytes(range(256))), ("run", b"x" * 100000),
                        ("random", generator.randbytes(70000)), ("short", b"abc"),
                        ("44", b"y" * 44), ("45", b"y" * 45)):
        server.set("string:" + name, value)
    server.append("string:short", "d")
    server.setrange("string:holes", 70, "end")
    server.pfadd("string:hll", *range(1000))


def fill_collections(server, generator, count, length):
    name = f"{count}:{length}"
    words = texts(generator, count, length)
    numbers = [generator.randrange(-2**generator.choice((3, 7, 15, 31, 62)),
                                   2**generator.choice((3, 7, 12, 15, 23, 31, 62)))
               for _ in range(count)]
    server.rpush("list:" + name, *words, *numbers)
    server.sadd("set:" + name, *words)
    server.sadd("numbers:" + name, *numbers)
    server.sadd("shorts:" + name, *[number % 1000 for number in numbers])
    server.hset("hash:" + name, mapping=dict(zip(words, numbers)))
    server.hset("hash:numbers:" + name, mapping=dict(zip(numbers, words)))
    server.zadd("zset:" + name, {word: generator.choice(
        (0, 1, -1.5, 1e300, float("inf"), float("-inf"), 0.1, number)) for word, number in
        zip(words, numbers)})


def fill(server, seed=1):
    """Every type, small and large, with deadlines, in several databases."""
    generator = random.Random(seed)
    fill_strings(server, generator)
    for count, length in ((1, 3), (5, 10), (60, 30), (129, 8), (600, 5), (20, 65), (3, 9000)):
        fill_collections(server, generator, count, length)
    for key in list(server.scan_iter(count=1000)):
        if generator.random() < 0.3:
            server.pexpireat(key, 4_000_000_000_000 + generator.randrange(10**9))
    for number in (1, 7, 15):
        server.execute_command("SELECT", number)
        server.mset({f"key:{i}": i for i in range(number)})
        server.rpush("list", *range(number))
    server.execute_command("SELECT", 0)


VALUES = {
    b"string": lambda server, key: server.get(key),
    b"list": lambda server, key: server.lrange(key, 0, -1),
    b"set": lambda server, key: server.smembers(key),
    b"hash": lambda server, key: server.hgetall(key),
    b"zset": lambda server, key: server.zrange(key, 0, -1, withscores=True),
}


def contents(daemon, encodings=False):
    """{(database, key): (type, value, deadline)} and perhaps the encoding."""
    found = {}
    for number in range(DATABASES):
        with daemon.redis(db=number) as server:
            for key in server.keys():
                kind = server.type(key)
                found[number, key] = (kind, VALUES[kind](server, key), server.pexpiretime(key),
                                      server.object("encoding", key) if encodings else None)
    return found


def same(got, wanted):
    equal(sorted(got.keys()), sorted(wanted.keys()), "the keys")
    for key, value in wanted.items():
        assert got[key] == value, f"{key}: {repr(got[key])[:300]} instead of {repr(value)[:300]}"


# --- servers -------------------------------------------------------------------------------------


def theirs(*options):
    return Daemon("--databases", str(DATABASES), *options, binary=ORACLE)


def ours(*options):
    return Daemon("--appendonly", "yes", *options)


def refused(directory, *options):
    """The daemon does not start there: what it says, and the folder has no more files than
    before."""
    before = sorted(glob.glob(directory + "/**", recursive=True))
    done = subprocess.run(
        [BINARY, "--port", "0", "--unixsocket", directory + "/socket", "--dir", directory,
         "--appendonly", "yes", *options], capture_output=True, text=True, timeout=60,
        preexec_fn=die_with_parent)
    equal(done.returncode, 1, done.stdout + done.stderr)
    equal(done.stderr.count("\n"), 1, done.stderr)
    equal(sorted(glob.glob(directory + "/**", recursive=True)), before, "the files")
    return done.stderr


def journal_names(daemon):
    return sorted(os.listdir(os.path.join(daemon.dir, "appendonlydir")))


# --- RDB -----------------------------------------------------------------------------------------

SHAPES = {
    "redis' defaults": [],
    "no compression": ["--rdbcompression", "no", "--rdbchecksum", "no"],
    "nothing is packed": [
        "--list-max-listpack-size", "3", "--list-compress-depth", "1", "--set-max-intset-entries",
        "0", "--hash-max-listpack-entries", "0", "--zset-max-listpack-entries", "0"],
    "everything is packed": [
        "--list-max-listpack-size", "-5", "--set-max-intset-entries", "100000",
        "--hash-max-listpack-entries", "100000", "--hash-max-listpack-value", "100000",
        "--zset-max-listpack-entries", "100000", "--zset-max-listpack-value", "100000",
        "--rdbcompression", "no"],
    "packed and compressed": [
        "--list-max-listpack-size", "10000", "--list-compress-depth", "2",
        "--hash-max-listpack-entries", "100000", "--hash-max-listpack-value", "100000",
        "--zset-max-listpack-entries", "100000", "--zset-max-listpack-value", "100000"],
    "lists of plain nodes": [],
}


def is_named_alike(key):
    """Redis leaves packed what was packed under other limits of length."""
    return not key.startswith((b"hash", b"zset")) or not key.endswith((b":65", b":9000"))


def add_shape(name, options):
    def run():
        with theirs(*options) as source:
            if name == "lists of plain nodes":
                with source.raw() as raw:
                    equal(raw.call("DEBUG", "QUICKLIST-PACKED-THRESHOLD", "20b"), b"+OK\r\n")
            with source.redis() as server:
                fill(server)
                server.save()
            path = os.path.join(source.dir, "dump.rdb")
            wanted = contents(source)
            # What Redis calls the encodings where nothing is forced.
            with folder() as directory:
                shutil.copy(path, directory)
                with theirs("--dir", directory) as plain:
                    names = contents(plain, encodings=True)
            same(*({key: value[:3] for key, value in each.items()} for each in (names, wanted)))
            with ours("--import", path) as daemon:
                found = contents(daemon, encodings=True)
                same(*({key: each[key] for key in names if is_named_alike(key[1])}
                       for each in (found, names)))
                same(*({key: value[:3] for key, value in each.items()}
                       for each in (found, wanted)))
                equal(journal_names(daemon), ["appendonly.aof.1.base.exp",
                                              "appendonly.aof.1.incr.aof",
                                              "appendonly.aof.manifest"])
                daemon.stop()
                daemon.start()
                same(contents(daemon), wanted)
    run.__name__ = f"an RDB arrives whole: {name}"
    beside_redis(run)


for shape, shape_options in SHAPES.items():
    add_shape(shape, shape_options)


def saved(directory, fill_it, *options):
    """The path of an RDB file that redis-server has made."""
    path = os.path.join(directory, "made.rdb")
    with theirs(*options) as source:
        with source.redis() as server:
            fill_it(server)
            server.save()
        shutil.copy(os.path.join(source.dir, "dump.rdb"), path)
    return path


@beside_redis
def what_is_overdue_comes_in_and_dies_in_the_normal_way():
    with folder() as directory:
        path = os.path.join(directory, "made.rdb")
        # The file is written before they die, so that all of them are in it.
        with theirs() as source, source.redis() as server:
            server.set("stays", 1)
            for number in range(10):
                server.psetex(f"overdue:{number}", 1000, "v")
            server.save()
            shutil.copy(os.path.join(source.dir, "dump.rdb"), path)
            wait_for(lambda: server.dbsize() == 1)
        with ours("--import", path) as daemon, daemon.redis() as server:
            assert wait_for(lambda: server.dbsize() == 1), daemon.log()
            wait_for(lambda: server.info()["expired_keys"] == 10)
            equal(server.info()["expired_keys"], 10)
            equal(server.keys(), [b"stays"])
            tail = os.path.join(daemon.dir, "appendonlydir", "appendonly.aof.1.incr.aof")
            with open(tail, "rb") as file:
                journal = file.read()
            for number in range(10):
                assert b"overdue:%d" % number in journal, journal
            assert b"DEL" in journal, journal


def fill_streams(server):
    server.set("before", 1)
    server.xadd("events", {"a": 1})
    server.xgroup_create("events", "group", "0")
    server.xadd("more", {"a": 1})
    server.set("behind", 1)


@beside_redis
def streams_are_refused_by_name_and_nothing_is_left_behind():
    with folder() as directory:
        path = saved(directory, fill_streams)
        said = refused(directory, "--import", path)
        for word in ("stream", path, "import-skip-unsupported", "at byte"):
            assert word in said, said
        assert "'events'" in said or "'more'" in said, said


@beside_redis
def streams_are_passed_over_and_counted_where_that_is_asked_for():
    with folder() as directory:
        path = saved(directory, fill_streams)
        for words in (["--import-skip-unsupported"], ["--import-skip-unsupported", "yes"]):
            with ours("--import", path, *words) as daemon, daemon.redis() as server:
                equal(sorted(server.keys()), [b"before", b"behind"])
                assert "Import: skipped 2 of the unsupported type stream" in daemon.log(), daemon.log()


@beside_redis
def functions_are_passed_over_with_a_word():
    def fill_functions(server):
        server.function_load("#!lua name=lib\nredis.register_function('f', function() end)")
        server.set("k", "v")
    with folder() as directory:
        path = saved(directory, fill_functions)
        with ours("--import", path) as daemon, daemon.redis() as server:
            equal(server.get("k"), b"v")
            assert "skipped 1 libraries of functions" in daemon.log(), daemon.log()


@beside_redis
def a_damaged_rdb_is_refused_with_the_byte_and_nothing_is_left_behind():
    generator = random.Random(3)
    with folder() as directory:
        with open(saved(directory, lambda server: fill_collections(server, generator, 60, 30)),
                  "rb") as file:
            whole = file.read()
        path = os.path.join(directory, "bad.rdb")
        for damage in range(12):
            bad = bytearray(whole)
            at = generator.randrange(9, len(bad))
            if damage % 2:
                bad[at] ^= 1 << generator.randrange(8)
            else:
                del bad[at:]
            with open(path, "wb") as file:
                file.write(bad)
            said = refused(directory, "--import", path)
            assert "bad.rdb can't be imported: at byte " in said, said


@own
def files_that_are_none_of_redis_are_refused():
    with folder() as directory:
        path = os.path.join(directory, "file")
        for text, wanted in (("REDIS9999", "RDB version 9999 is not known"),
                             ("SET k v\n", "is not a data file of expired or Redis"),
                             ("*1\r\n$4\r\nPINGPING", "at byte 12: malformed command"),
                             ("*1\r\n$4\r\nPING\r\n",
                              "at byte 0: the command PING is unknown here, or it failed")):
            with open(path, "w", encoding="ascii", newline="") as file:
                file.write(text)
            said = refused(directory, "--import", path)
            assert wanted in said, said
        assert "missing" in refused(directory, "--import", path + "-none")


@beside_redis
def an_import_is_for_the_first_start_only():
    with folder() as directory:
        path = saved(directory, lambda server: server.set("k", "theirs"))
        for options in (["--appendonly", "yes"], ["--appendonly", "no"]):
            with Daemon(*options, "--import", path) as daemon:
                with daemon.redis() as server:
                    equal(server.get("k"), b"theirs")
                    server.set("k", "ours")
                    if options[1] == "no":
                        server.save()
                daemon.stop()
                daemon.start()
                with daemon.redis() as server:
                    equal(server.get("k"), b"ours")
                assert "Not importing" in daemon.log(), daemon.log()


@beside_redis
def a_file_is_named_as_it_is_seen_from_where_the_daemon_starts():
    with folder() as directory:
        saved(directory, lambda server: server.set("k", "v"))
        with folder() as data:
            process = subprocess.Popen(
                [BINARY, "--port", "0", "--unixsocket", data + "/socket", "--dir", data,
                 "--import", "made.rdb"], cwd=directory, preexec_fn=die_with_parent,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                wait_for(lambda: os.path.exists(data + "/appendonlydir/appendonly.aof.manifest"))
                with redis.Redis(unix_socket_path=data + "/socket") as server:
                    equal(wait_for(lambda: server.get("k")), b"v")
            finally:
                process.kill()
                process.wait()


# --- append-only files ---------------------------------------------------------------------------


def fill_log(server):
    """What a log has beyond what a dump has: commands of every kind, and transactions."""
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


def add_log(preamble):
    def written(source):
        """A log with a base that is not empty, and a tail; the server stops."""
        with source.redis() as server:
            fill(server, seed=5)
            server.bgrewriteaof()
            assert wait_for(lambda: server.info()["aof_rewrite_in_progress"] == 0 and
                            server.info()["aof_rewrite_scheduled"] == 0)
            server.flushall()
            fill_log(server)
            server.rename("scores", "scores:renamed")
        wanted = contents(source)
        source.stop()
        return wanted

    options = ["--appendonly", "yes", "--aof-use-rdb-preamble", preamble,
               "--aof-timestamp-enabled", "yes"]
    suffix = "rdb" if preamble == "yes" else "aof"

    def multi():
        with theirs(*options) as source:
            wanted = written(source)
            files = glob.glob(source.dir + "/appendonlydir/*.base." + suffix)
            equal(len(files), 1, os.listdir(source.dir + "/appendonlydir"))
            with folder() as directory:
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

    def single():
        with theirs(*options) as source, folder() as directory:
            wanted = written(source)
            path = os.path.join(directory, "appendonly.aof")
            base, = glob.glob(source.dir + "/appendonlydir/*.base." + suffix)
            with open(path, "wb") as whole:
                for name in [base, *sorted(glob.glob(source.dir + "/appendonlydir/*.incr.aof"))]:
                    with open(name, "rb") as file:
                        shutil.copyfileobj(file, whole)
            with ours("--import", path) as daemon:
                same(contents(daemon), wanted)
                daemon.stop()
                daemon.start()
                same(contents(daemon), wanted)

    def empty():
        with theirs(*options) as source:
            source.stop()
            with folder() as directory:
                shutil.copytree(source.dir + "/appendonlydir", directory + "/appendonlydir")
                with ours("--dir", directory, "--import", directory) as daemon:
                    same(contents(daemon), {})
                    with daemon.redis() as server:
                        server.set("k", "v")
                    daemon.stop()
                    daemon.start()
                    with daemon.redis() as server:
                        equal(server.get("k"), b"v")

    for function, name in ((multi, "log of several files"), (single, "log in one file"),
                           (empty, "log of nothing")):
        function.__name__ = f"redis' {name} becomes ours, aof-use-rdb-preamble {preamble}"
        beside_redis(function)


add_log("yes")
add_log("no")


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
def a_log_with_commands_of_streams_is_refused_or_read_without_them():
    with folder() as directory:
        path = write_bytes(directory + "/file.aof",
                           log_of("SET a 1", "XADD s 1-1 f v", "XDEL s 1-1", "SET b 2"))
        assert "'s' is of the unsupported type stream" in refused(directory, "--import", path)
        with ours("--import", path, "--import-skip-unsupported") as daemon, \
                daemon.redis() as server:
            equal(sorted(server.keys()), [b"a", b"b"])


@own
def a_log_with_an_error_in_it_is_refused():
    with folder() as directory:
        for commands, wanted in (
                (["SET a 1", "LPUSH a x", "SET b 2"], "at byte 27: the command LPUSH"),
                (["SET a 1", "EVAL x 0"], "at byte 27: the command EVAL"),
                (["SET a 1", "SET b"], "at byte 27: the command SET"),
                (["SELECT 16"], "at byte 0: the command SELECT")):
            path = write_bytes(directory + "/file.aof", log_of(*commands))
            said = refused(directory, "--import", path)
            assert wanted in said, said


# --- payloads ------------------------------------------------------------------------------------


def carry(source, target):
    """Every key by DUMP and RESTORE."""
    for number in range(DATABASES):
        with source.redis(db=number) as giver, target.redis(db=number) as taker:
            for key in giver.keys():
                at = giver.pexpiretime(key)
                taker.restore(key, max(at, 0), giver.dump(key), absttl=at > 0)


def add_carries():
    @beside_redis
    def what_redis_dumps_is_restored_here_and_goes_back():  # pylint: disable=unused-variable
        for options in SHAPES.values():
            with theirs(*options) as source, Daemon() as daemon, theirs() as back:
                with source.redis() as server:
                    fill(server)
                wanted = contents(source)
                carry(source, daemon)
                same(contents(daemon), wanted)
                carry(daemon, back)
                same(contents(back), wanted)
                same(contents(back, encodings=True), contents(daemon, encodings=True))

    @beside_redis
    def payloads_are_redis_own_to_the_byte():  # pylint: disable=unused-variable
        with theirs("--rdbcompression", "no") as other, Daemon() as daemon:
            with other.redis() as theirs_, daemon.redis() as ours_:
                for server in theirs_, ours_:
                    for count in (1, 128, 129, 512, 513):
                        server.sadd(f"numbers:{count}", *range(-5, count - 5))
                        server.zadd(f"zset:{count}", {f"m{i}": i / 3 for i in range(count)})
                        server.rpush(f"list:{count}", *["x" * (i % 300) for i in range(count)])
                        if count < 513:
                            server.hset(f"hash:{count}", mapping={f"f{i}": i for i in range(count)})
                    server.set("long", "x" * 20000)
                for key in theirs_.keys():
                    got, wanted = ours_.dump(key), theirs_.dump(key)
                    if key in (b"hash:128", b"hash:129", b"hash:512", b"numbers:513"):
                        # Of a table: its order is its own.
                        equal((got[0], len(got)), (wanted[0], len(wanted)), key)
                    else:
                        equal(got, wanted, key)

    @beside_redis
    def redis_migrates_its_keys_to_here():  # pylint: disable=unused-variable
        with theirs() as source, Daemon(tcp=True) as daemon:
            with source.redis() as server:
                fill(server)
                wanted = {key: value for key, value in contents(source).items() if key[0] == 0}
                keys = server.keys()
                reply = server.execute_command("MIGRATE", "127.0.0.1", daemon.port, "", 0, 10000,
                                               "KEYS", *keys)
                equal(reply, b"OK")
                equal(server.dbsize(), 0)
            found = contents(daemon)
            same(*({key: value[:2] for key, value in each.items()} for each in (found, wanted)))
            for key, value in wanted.items():  # MIGRATE sends spans
                assert abs(found[key][2] - value[2]) < 10000, (key, value[2], found[key][2])

    @beside_redis
    def redis_refuses_our_own_payloads_cleanly():  # pylint: disable=unused-variable
        with Daemon() as daemon, theirs() as other:
            with daemon.redis() as server, other.redis() as taker:
                for key in fill_own(server):
                    try:
                        taker.restore(key, 0, server.dump(key))
                        raise AssertionError(f"{key} was taken")
                    except redis.ResponseError as error:
                        equal(str(error), "Bad data format")
                equal(taker.dbsize(), 0)

    @beside_redis
    def streams_and_ttls_beyond_all_times_are_refused():  # pylint: disable=unused-variable
        with Daemon() as daemon, theirs() as source:
            with source.redis() as server, daemon.redis() as taker:
                server.xadd("s", {"a": 1})
                server.set("k", "v")
                for key, ttl, wanted in (
                        ("s", 0, "Bad data format"),
                        ("k", 2**63 - 1, "invalid expire time in 'restore' command")):
                    try:
                        taker.restore(key, ttl, server.dump(key))
                        raise AssertionError(f"{key} was taken")
                    except redis.ResponseError as error:
                        equal(str(error), wanted)
                equal(taker.dbsize(), 0)


add_carries()


def fill_own(server):
    """Values that Redis has no words for; their keys."""
    server.hset("hash", mapping={"a": 1, "b": 2})
    server.execute_command("HPEXPIREAT", "hash", NOON + 1000, "FIELDS", 1, "a")
    server.execute_command("SADDEX", "set", "PXAT", NOON + 2000, "MEMBERS", 2, "a", "b")
    server.sadd("set", "c")
    server.execute_command("ZADDEX", "zset", "PXAT", NOON + 3000, 1.5, "a", "inf", "b")
    for number in range(5):
        server.execute_command("REDE.PUSHAT", "jobs", NOON - 10 + number, f"payload {number}",
                               f"id{number}")
    server.execute_command("REDE.PUSHAT", "jobs", NOON + 60000, "last", "later")
    server.execute_command("REDE.CLAIM", "jobs", 5000, "COUNT", 2)
    return ["hash", "set", "zset", "jobs"]


@own
def member_deadlines_and_leases_travel_between_ours():
    with Daemon("--enable-debug-command", "yes") as one, Daemon() as two:
        one.hold(NOON)
        two.hold(NOON)
        with one.redis() as giver, two.redis() as taker:
            for key in fill_own(giver):
                taker.restore(key, 0, giver.dump(key))
                equal(taker.dump(key), giver.dump(key))
            equal(*(server.execute_command("DEBUG", "DIGEST") for server in (giver, taker)))
            equal(taker.execute_command("REDE.LEN", "jobs", "CLAIMED"), 2)
            two.step(1001)
            equal(taker.hgetall("hash"), {b"b": b"2"})
            two.step(1000)
            equal(taker.smembers("set"), {b"c"})
            two.step(1000)
            equal(taker.exists("zset"), 0)
            equal(len(taker.execute_command("REDE.POLL", "jobs")), 3)
            two.step(2000)
            equal(taker.execute_command("REDE.CLAIM", "jobs", 1),
                  [[b"id0", b"payload 0", 2], [b"id1", b"payload 1", 2]])


@own
def what_is_restored_is_journaled():
    with ours() as daemon, Daemon() as other:
        daemon.hold(NOON)
        other.hold(NOON)
        with daemon.redis() as server, other.redis() as giver:
            for key in fill_own(giver):
                server.restore(key, 3600000, giver.dump(key))
            giver.rpush("list", *range(1000))
            server.set("list", "is replaced")
            server.restore("list", 0, giver.dump("list"), replace=True)
            server.set("gone", "v")
            server.restore("gone", 1, giver.dump("list"), replace=True, absttl=True)
            before = server.execute_command("DEBUG", "DIGEST")
            equal(server.execute_command("DEBUG", "LOADAOF"), b"OK")
            equal(server.execute_command("DEBUG", "DIGEST"), before)
            equal(server.exists("gone"), 0)
            equal(server.pexpiretime("jobs"), NOON + 3600000)


main(seconds=120)
