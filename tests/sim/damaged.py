"""damaged: a copy of a node's files in which one file is damaged, and another node that starts from it. The start is
refused, or the node has the data of an undamaged copy that ends before the damage, where a crash may have torn it."""
import re
import shutil
import sys

from world import HERE, Client

sys.path[:0] = [str(HERE.parent / "crash")]

from crc32c import crc32c  # noqa: E402

NUMBER = 4  # of the other node
SECTOR = 512
FIRST_LINE = b"#EXPIRED-JOURNAL 2\r\n"
END = re.compile(rb"(#[0-9a-f]{8}\r\n)")
MARK = re.compile(rb"#synced (\d+) [0-9a-f]{8}\r\n")
LISTED = re.compile(r"^file (\S+) seq \d+ type ([bi])", re.M)
LARGEST = 100_000  # bytes of a journal that is damaged: Python sums it


def ends_of(text):
    """Where the complete records of a journal end, with its first line."""
    ends, at, total = [len(FIRST_LINE)], 0, 0
    if not text.startswith(FIRST_LINE):
        return []
    for found in END.finditer(text):
        total = crc32c(text[at:found.start(1)], total)
        at = found.start(1)
        if found[1] != b"#%08x\r\n" % total:
            continue  # a value, or the end is torn
        ends.append(found.end())
    return ends


class Copy:
    """`is_closed`: the node had written and synced all its files."""

    def __init__(self, run, node, is_closed):
        self.run, self.rng, self.is_closed, self.name = run, run.rng, is_closed, f"node {node.number}"
        self.files = {path.relative_to(node.dir): path.read_bytes()
                      for path in sorted(node.dir.rglob("*")) if path.is_file()}
        # Two minutes before the world began, so that nothing that the node has is due.
        self.instant = int(node.wall - run.world.seconds * 1000) - node.usual_clock - 120_000
        self.manifest = next((path for path in self.files if path.name == "appendonly.aof.manifest"), None)
        listed = LISTED.findall(self.files[self.manifest].decode()) if self.manifest else []
        self.bases, self.segments = ([self.manifest.parent / name for name, kind in listed if kind == wanted]
                                     for wanted in "bi")

    def check(self):
        """A task."""
        chosen = [path for path in (self.manifest, *self.bases, *self.segments) if path]
        if not chosen or not self.segments:
            return  # it had no data yet
        path = self.rng.choice(chosen)
        text = self.files[path]
        if not text or len(text) > LARGEST:
            return
        what, at, damaged = self.damage(text)
        if damaged == text:
            return
        self.run.world.note(f"damage {what}", at)
        digest = yield from self.start(path, damaged)
        if digest is None:
            self.run.count("damage refused")
            return
        kept = self.kept(path, text, damaged, at)
        where = f"{self.name}'s file {path} of {len(text)} bytes, {what} at byte {at}"
        if kept is None:
            self.run.broken(f"{where}: the start is not refused")
        wanted = yield from self.start(path, text[:kept])
        if digest != wanted:
            self.run.broken(f"{where}: digest {digest}, and {wanted} if it ends at byte {kept}")
        self.run.count("damage torn")

    def damage(self, text):
        """(what, where, the text with it)"""
        rng, at = self.rng, self.rng.randrange(len(text))
        if rng.random() < 0.5:  # near the end, where a crash may tear a journal
            at = max(0, len(text) - 1 - int(rng.expovariate(1 / 100)))
        what = rng.choice(("flip", "flip", "cut", "zeros"))
        if what == "flip":
            return what, at, text[:at] + bytes((text[at] ^ 1 << rng.randrange(8),)) + text[at + 1:]
        if what == "cut":
            ends = [found.end() for found in END.finditer(text)]
            if ends and rng.random() < 0.5:  # then only other files tell that records are missing
                at = rng.choice(ends)
            return what, at, text[:at]
        at = at // SECTOR * SECTOR
        end = min(len(text), at + SECTOR)
        return what, at, text[:at] + bytes(end - at) + text[end:]

    def kept(self, path, text, damaged, at):
        """The length that a start may cut a damaged journal to; None: it must be refused."""
        records = [name for name in self.segments if len(self.files[name]) > len(FIRST_LINE)]
        first_torn = self.segments.index(records[-1]) if records else 0
        if self.is_closed or path not in self.segments[first_torn:]:
            return None
        synced = [int(found[1]) for found in MARK.finditer(damaged, at)]
        if any(at < offset for offset in synced):
            return None
        ends = ends_of(text)
        before = [end for end in ends if end <= at]
        is_whole = bool(ends) and ends[-1] == len(text)
        intact = [end for end in ends if end > at][1:]  # records behind the damaged one
        if is_whole and intact and len(damaged) == len(text) and damaged[at:at + 1] != b"\0":
            return None
        return before[-1] if before else None  # the first line is always synced

    def start(self, path, text):
        """A task: starts the other node from the files, with this text in place of one. Its digest, or None if it
        refuses to start."""
        world = self.run.world
        node = world.nodes.get(NUMBER) or world.node(NUMBER, "--appendfsync", "no", "--auto-aof-rewrite-percentage", "0")
        shutil.rmtree(node.dir)
        for other, content in self.files.items():
            to = node.dir / other
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(text if other == path else content)
        node.set_clock(0)
        node.set_clock(self.instant - 20_000 - int(node.wall))
        said = len(node.log())
        node.may_end = True
        node.start()
        client, digest = Client(node, "damaged"), None
        for _ in range(2000):
            reply = yield client.call("PING")
            if reply == b"PONG" or not node.is_up:
                break
            yield 0.01
        if reply == b"PONG":
            yield client.call("DEBUG", "CLOCK", "HOLD", self.instant)
            for call in ("CHECK", "DIGEST"):
                digest = yield client.call("DEBUG", call)
                if not isinstance(digest, bytes) or call == "CHECK" and digest != b"OK":
                    self.run.broken(f"{self.name}'s file {path}, damaged: DEBUG {call}: {digest}")
        elif "\nexpired: " not in node.log()[said:]:
            self.run.broken(f"{self.name}'s file {path}, damaged: the start ends with:\n{node.log()[said:][-3000:]}")
        client.close()
        node.lose_power(0)  # ends it, and forgets which of its files are not synced
        return digest
