"""mixed: random commands of all types, in databases that the other workloads do not use. The data is judged,
not the replies: all nodes agree at rest, and a node that starts from a journal that ends after any of its
transactions has the data that a node had then.

For the second check a client now and then reads the clock and the digest in a transaction whose last change is a
mark. At rest the files of a node are copied to another one, the journal is cut behind the mark, and the other
node starts with its clock at that time. Transactions share records, so the part of the record up to the mark gets
a checksum."""
import re
import shutil
import sys

from world import HERE, Client

sys.path[:0] = [str(HERE.parent / "crash"), str(HERE.parent / "lib")]

from crc32c import crc32c  # noqa: E402
from programs import DATABASES, KINDS, Program  # noqa: E402

SPARE = (8, 7, 6, 5)  # nodes that start from a cut journal
END = re.compile(rb"#[0-9a-f]{8}\r\n")  # of a journal record; no value of a program looks like it
MARK = re.compile(rb"mark-\d+\.(?:\r\n)?")  # the value of a SET, which ends with it, in brief form or as a command
NOTHING_OVERDUE = re.compile(rb"overdue_keys:0\r\noverdue_members:0\r\n")
LIBRARY = """#!lua name=mixed
redis.register_function('put{0}', function(keys, args)
  redis.call('SET', keys[1], args[1], 'PX', 700)
  redis.call('SADDEX', keys[2], 'PX', 300, 'MEMBERS', 1, args[1])
  return redis.call('TIME')
end)"""
SCRIPT = """
for i = 1, 3 do redis.call('RPUSH', KEYS[1], ARGV[1] .. i) end
redis.call('HSET', KEYS[2], ARGV[1], redis.call('LLEN', KEYS[1]))
return redis.call('SPOP', KEYS[3])"""
SETTINGS = (("hash-max-listpack-entries", 512, 4), ("zset-max-listpack-entries", 128, 3),
            ("set-max-intset-entries", 512, 2), ("stream-node-max-entries", 100, 3),
            ("slowlog-log-slower-than", 10000, 0))


class Wild(Program):
    """Also changes by chance, which a program that two servers run by themselves may not contain."""

    def plain_key(self, kind, count=2):
        """Few keys, so that they grow."""
        return super().plain_key(kind, min(count, 2))

    def word(self):
        """Now and then one that does not fit into a buffer."""
        if self.rng.random() < 0.01:
            return self.rng.choice("abcdefgh") * self.rng.choice((5000, 40000, 300000, 1000000))
        return super().word()

    def kind(self):
        return self.rng.choice(("string", "list", "set", "hash", "zset", "rede", "stream"))

    def command(self):
        return self.rng.choice(WILD)(self)

    def on_whole_key(self):
        kind, database = self.kind(), self.rng.randrange(1, DATABASES)
        key, other = self.key(kind), self.key(kind)
        return self.rng.choice((
            ["COPY", key, other, "DB", database, "REPLACE"], ["COPY", key, other],
            ["RENAME", key, other], ["RENAMENX", key, other], ["MOVE", key, database],
            ["EXPIRE", key, 1, "GT"], ["PEXPIRE", key, self.ttl(), "NX"], ["SWAPDB", 1, 2],
            ["SORT", self.key("list"), "ALPHA", "STORE", self.key("list")], ["DEL", key, other]))

    def on_chance(self):
        key = self.key("set")
        return self.rng.choice((
            ["SPOP", key], ["SPOP", key, 3], ["XADD", self.key("stream", 2), "*", "n", self.word()],
            ["POLICY", "SET", f"{self.key('set')}{self.rng.getrandbits(40):x}", "TTL", 3000, "JITTER", 20],
            ["REDE.GIDPUSH", self.key("rede", 2), self.ttl(), self.word()]))

    def on_code(self):
        keys = [self.key("list"), self.key("hash"), self.key("set")]
        number = self.rng.randrange(2)
        return self.rng.choice((
            ["EVAL", SCRIPT, 3, *keys, self.member()], ["EVAL", SCRIPT, 3, *keys, self.member()],
            ["FUNCTION", "LOAD", "REPLACE", LIBRARY.format(number)], ["FUNCTION", "DELETE", "mixed"],
            ["FCALL", f"put{number}", 2, self.key("string"), keys[2], self.member()]))

    def on_admin(self):
        name, usual, small = self.rng.choice(SETTINGS)
        return self.rng.choice((
            ["CONFIG", "SET", name, self.rng.choice((usual, small))],
            ["ACL", "SETUSER", f"u{self.rng.randrange(3)}", "on", ">pass", "~c*", "+@all"],
            ["ACL", "DELUSER", f"u{self.rng.randrange(3)}"], ["FLUSHDB"]))

    def on_stores(self):
        sets, zsets = [self.key("set") for _ in range(3)], [self.key("zset") for _ in range(3)]
        return self.rng.choice((
            ["SINTERSTORE", *sets], ["SDIFFSTORE", *sets], ["ZRANGESTORE", zsets[0], zsets[1], 0, 3],
            ["ZDIFFSTORE", zsets[0], 2, *zsets[1:]], ["PFMERGE", self.key("hll"), self.key("hll")],
            ["BITOP", "XOR", self.key("string"), self.key("string"), self.key("number")],
            ["GEOSEARCHSTORE", zsets[0], self.key("geo"), "FROMLONLAT", 13, 38, "BYRADIUS", 90, "km"],
            ["LMPOP", 1, self.key("list"), "RIGHT", "COUNT", 2], ["ZMPOP", 1, zsets[0], "MAX"],
            ["HSETEX", self.key("hash"), "PX", self.ttl(), "FIELDS", 1, self.member(), "v"],
            ["HGETDEL", self.key("hash"), "FIELDS", 1, self.member()],
            ["HGETEX", self.key("hash"), "PX", self.ttl(), "FIELDS", 1, self.member()]))


WILD = (*KINDS, Wild.on_whole_key, Wild.on_whole_key, Wild.on_chance, Wild.on_code, Wild.on_admin,
        Wild.on_stores)


class Mixed:
    def __init__(self, run, clients=2):
        self.rng = run.random_for(type(self).__name__)
        self.run, self.clients, self.serial = run, clients, 0
        self.marks = {}  # mark: the clock and the digest after its transaction

    def tasks(self):
        return [self.work(number) for number in range(self.clients)] + [self.mark()]

    def program(self, number):
        return Wild(self.rng, f"c{number}", int(self.run.master.wall))

    def work(self, number):
        run, rng = self.run, self.rng
        client, program = run.client(f"mixed {number}"), self.program(number)
        while not run.stopping:
            yield rng.expovariate(40)
            program.now = int(client.node.wall)
            count = 100 if rng.random() < 0.02 else rng.choice((1, 1, 2, 8))
            commands = [program.command() for _ in range(count)]
            if rng.random() < 0.3:
                commands = [["MULTI"], *commands, ["EXEC"]]
            self.serial += 1
            last = f"echo {self.serial}"
            replies = yield client.pipeline(["SELECT", rng.choice((1, 1, 1, 2, 3))], *commands, ["ECHO", last])
            if isinstance(replies[-1], bytes) and replies[-1] != last.encode():
                run.broken(f"the reply to ECHO '{last}' is {replies[-1][:80]}")
            run.count("mixed command", len(commands))
            if rng.random() < 0.1:
                yield from self.restore(client, program)

    def restore(self, client, program):
        kind = program.kind()
        payload = yield client.call("DUMP", program.key(kind))
        if isinstance(payload, bytes):
            yield client.call("RESTORE", program.key(kind), self.rng.choice((0, program.ttl())), payload,
                              "REPLACE")
            self.run.count("restore")

    def mark(self):
        run, rng = self.run, self.rng
        client, program = run.client("mark"), self.program("m")
        serial = 0
        while not run.stopping:
            yield rng.expovariate(2)
            serial += 1
            program.now, mark = int(client.node.wall), f"mark-{serial}."
            replies = yield client.pipeline(
                ("SELECT", 1), ("MULTI",), *(program.command() for _ in range(4)), ("SET", "mark", mark),
                ("INFO", "expiry"), ("DEBUG", "CLOCK"), ("DEBUG", "DIGEST"), ("EXEC",))
            # What is overdue, at the end of a pause or of a turn, is not in the logs of expired keys yet. A server
            # that starts from this journal puts it there at once.
            if isinstance(replies[-1], list) and NOTHING_OVERDUE.search(replies[-1][-3]):
                self.marks[mark] = replies[-1][-2:]

    # ---- the journal's prefixes

    def finish(self):
        run, rng = self.run, self.rng
        for number in SPARE[:rng.choice((1, 2, 3))]:
            node = rng.choice(run.nodes)
            found = [(path, mark) for path in sorted(node.dir.glob("appendonlydir/*.incr.aof"))
                     for mark in MARK.finditer(path.read_bytes())
                     if mark[0].decode().rstrip() in self.marks]
            if found:
                yield from self.check_prefix(number, node, *rng.choice(found))

    @staticmethod
    def cut(data, end):
        """The journal with a record that ends at `end`."""
        last = None
        for last in END.finditer(data, 0, end):
            pass
        line = last.start() if last else 0
        total = crc32c(data[line:end], int(last[0][1:9], 16) if last else 0)
        return data[:end] + b"#%08x\r\n" % total

    def check_prefix(self, number, node, path, mark):
        run, rng, world = self.run, self.rng, self.run.world
        name, end = mark[0].decode().rstrip(), mark.end()
        clock, digest = self.marks[name]
        other = world.node(number, "--appendfsync", "no", "--auto-aof-rewrite-percentage", "0")
        shutil.copytree(node.dir, other.dir, dirs_exist_ok=True)
        folder, data = other.dir / "appendonlydir", path.read_bytes()
        following = END.search(data, end)
        torn = rng.randrange(following.end() - end) if following and rng.random() < 0.5 else 0
        (folder / path.name).write_bytes(self.cut(data, end) + data[end:end + torn])
        manifest = folder / "appendonly.aof.manifest"
        lines = manifest.read_text().splitlines(keepends=True)
        last = [path.name in line for line in lines].index(True)
        if " type h" in lines[last]:
            return  # a newer base is listed already, with what follows the mark
        # A crash at that time would have left a manifest that notes no later stop.
        manifest.write_text("".join(re.sub(r" synced \d+", "", line) for line in lines[:last + 1]
                                    if not line.startswith("#")))
        # Nothing that was there at that time may expire before the clock is set to it.
        other.set_clock(clock - other.wall - 5000)
        yield from run.start(other)
        client = Client(other, "prefix")
        yield client.call("DEBUG", "CLOCK", "HOLD", clock)
        for call, wanted in (("CHECK", b"OK"), ("DIGEST", digest)):
            reply = yield client.call("DEBUG", call)
            if reply != wanted:
                run.broken(f"node {node.number}'s journal {path.name}, cut at {end} of {len(data)} with {torn} "
                           f"torn bytes, after {name} at {clock}: {call} {reply}, wanted {wanted}")
        client.close()
        other.kill()
        run.count("prefix")
