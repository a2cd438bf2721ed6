"""import_data: fills servers with every type, reads them back, and starts them, for tests of imports."""
import glob
import os
import random
import subprocess

from daemon import BINARY, ORACLE, Daemon, die_with_parent, equal

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
    """The daemon must not start in this folder, and leave no new files there. Returns its output."""
    before = sorted(glob.glob(directory + "/**", recursive=True))
    done = subprocess.run(
        [BINARY, "--port", "0", "--unixsocket", directory + "/socket", "--dir", directory,
         "--appendonly", "yes", *options], capture_output=True, text=True,
        preexec_fn=die_with_parent)
    equal(done.returncode, 1, done.stdout + done.stderr)
    equal(done.stderr.count("\n"), 1, done.stderr)
    equal(sorted(glob.glob(directory + "/**", recursive=True)), before, "the files")
    return done.stderr


def journal_names(daemon):
    return sorted(os.listdir(os.path.join(daemon.dir, "appendonlydir")))

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
