#!/usr/bin/python3 -B
"""Every bit of small data files flipped, and every length cut: damage is refused, or what is missing is exactly what a
crash may lose.

expired-check judges all variants, by the code that the daemon loads files with. The daemon itself, of which each start
takes about 13 ms of CPU, has to agree in a sample, and in `make crash` in as many as the time allows."""
import os
import re
import shutil
import subprocess
import tempfile

from crash import CHILDREN, EIO, EVER, ROOT, SECONDS, WRITE, Budget, Kept, calls, equal, run, seeded, test

CHECK = os.path.join(os.environ.get("BUILD") or os.path.join(ROOT, "build"), "tools", "expired-check")
BITS = int(os.environ.get("BITS_N") or 8)  # of each byte; TEST_SEED chooses them if they are fewer
BATCH = 250  # variants that one process checks
SAMPLE = 10  # flips and cuts for the daemon, of each file
FIRST_LINE = 20  # bytes of a journal without records
VERDICTS = {"whole": "whole", "torn": "torn", "damaged": "bad", "can't": "bad"}


class Data:
    """The files of a daemon that has ended, and the digests of its data."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.pristine = os.path.join(daemon.dir, "pristine")
        self.digests = {}  # by the name and the length of a journal
        self.last = None
        self.files = {}

    def write(self, *command):
        """Writes one record, unless the command is a second one."""
        assert not self.daemon.call(*command).startswith(b"-"), command
        self.note()

    def note(self):
        self.last = os.path.relpath(self.daemon.segment(), self.daemon.data)
        length = os.path.getsize(self.daemon.segment())
        self.digests[self.last, length] = self.daemon.digest()[1:-2].decode()

    def ended(self):
        shutil.copytree(self.daemon.data, self.pristine)
        for name in self.daemon.files():
            with open(os.path.join(self.pristine, name), "rb") as file:
                self.files[name] = file.read()

    def put(self, name, text):
        """The daemon's files, one of them with another content."""
        shutil.rmtree(self.daemon.data)
        shutil.copytree(self.pristine, self.daemon.data)
        put(os.path.join(self.daemon.data, name), text)

    def link(self, name, folder):
        """Links to all files but one, in another folder."""
        os.makedirs(os.path.join(folder, os.path.dirname(name)))
        for other in self.files:
            if other != name:
                os.link(os.path.join(self.pristine, other), os.path.join(folder, other))


def put(path, text):
    with open(path, "wb") as file:
        file.write(text)


def flips(text):
    rng = seeded("bits", len(text))
    for at in range(len(text)):
        for bit in sorted(rng.sample(range(8), BITS)):
            yield f"bit {bit} of byte {at}", at, text[:at] + bytes((text[at] ^ 1 << bit,)) + text[at + 1:]


def cuts(text):
    for length in range(len(text)):
        yield f"cut at byte {length}", length, text[:length]


def check(folder, paths, deep):
    """What expired-check says of each of the paths 0/..., 1/...: (verdict, digest or None)."""
    done = subprocess.run([CHECK, *["--deep"] * deep, *paths], cwd=folder, capture_output=True, text=True,
                          errors="replace", check=False)
    assert done.returncode in (0, 1, 2, 3), done
    verdicts, digests = [set() for _ in paths], [None] * len(paths)
    number = None
    for line in done.stdout.splitlines():
        if found := re.match(r"(\d+)/", line):
            number = int(found[1])
        elif found := re.match(r"  (whole|torn|damaged|can't)\b", line):
            verdicts[number].add(VERDICTS[found[1]])
        elif found := re.match(r"total: \d+ keys, digest (\w+)", line):
            digests[number] = found[1]
    assert all(verdicts), done.stdout
    return [("bad" if "bad" in found else "torn" if "torn" in found else "whole", digest)
            for found, digest in zip(verdicts, digests)]


def judged(data, name, variants, deep):
    """All variants of a file, and the verdict and the digest of each."""
    with tempfile.TemporaryDirectory(dir=data.daemon.dir) as folder:
        for number in range(min(BATCH, len(variants))):
            data.link(name, os.path.join(folder, str(number)))
        for first in range(0, len(variants), BATCH):
            batch = variants[first:first + BATCH]
            for number, (_, _, text) in enumerate(batch):
                put(os.path.join(folder, str(number), name), text)
            checked = os.path.dirname(name) or name  # the set, or the snapshot
            paths = [f"{number}/{checked}" for number in range(len(batch))]
            yield from zip(batch, check(folder, paths, deep))


def refused(_, verdict, __):
    return verdict == "bad"


def sweep(data, name, make, allowed):
    """`allowed(at, verdict, digest)`: may a variant with damage at this place be judged like this? Returns how many
    were not refused. Prints what doc/durability.md states."""
    rng = seeded("every bit", name)
    found = list(judged(data, name, list(make(data.files[name])), allowed != refused))
    for (what, at, _), (verdict, digest) in found:
        assert allowed(at, verdict, digest), f"{name}, {what}: {verdict}, digest {digest}"
    daemon, budget, starts = data.daemon, Budget(0.05), 0
    rng.shuffle(found)
    for (what, _, text), (verdict, digest) in found:
        if not budget.more(SAMPLE):
            break
        starts += 1
        data.put(name, text)
        try:
            if verdict == "bad":
                daemon.refuses()
                continue
            daemon.start()
            equal(daemon.digest()[1:-2].decode(), digest)
            daemon.kill()
        except Exception as error:
            raise AssertionError(f"{name}, {what}: the daemon and the verdict '{verdict}', {text}") from error
    accepted = sum(verdict != "bad" for _, (verdict, _) in found)
    print(f"{make.__name__} of {name}: {len(found)}, {accepted} not refused, {starts} starts", flush=True)
    return accepted


def grow(data):
    """A base and a journal behind it."""
    data.daemon.call("SET", "a", "1")
    data.daemon.call("ZADD", "z", "1", "m")
    assert data.daemon.rewrite(), data.daemon.log()
    data.note()
    data.write("HSET", "h", "f", "v")
    data.write("SET", "c", "3")
    data.write("SET", "c", "3", "PXAT", "4102444800000")
    data.write("RPUSH", "l", "e")
    data.write("REDE.PUSHAT", "d", "4102444800000", "p", "i")
    data.write("DEL", "a")


@test
def all_damage_after_a_clean_stop_is_refused():
    with Kept(fsync="everysec", fault=True) as daemon:
        data = Data(daemon)
        grow(data)
        # A rewrite that fails leaves another journal.
        daemon.plan.set(1, EIO, calls(WRITE), last=EVER, whose=CHILDREN)
        assert not daemon.rewrite(), daemon.log()
        data.write("SET", "d", "4")
        daemon.stop()
        daemon.plan.heal()
        data.ended()
        assert len(data.files) >= 4, list(data.files)
        for name in data.files:
            for make in (flips, cuts):
                equal(sweep(data, name, make, refused), 0, name)


@test
def damage_after_a_crash_is_refused_or_costs_its_last_records():
    """What the last record says was synced is there, or the start is refused. Of the rest a crash may lose the end."""
    with Kept(fsync="always") as daemon:
        data = Data(daemon)
        grow(data)
        daemon.kill()
        data.ended()
        text = data.files[data.last]
        synced = int(re.findall(rb"#synced (\d+) ", text)[-1])
        assert synced > FIRST_LINE, text

        def kept(at):
            """The digest after the last record before this place."""
            return data.digests[data.last, max(length for name, length in data.digests
                                               if name == data.last and length <= max(at, FIRST_LINE))]

        def flip_allowed(at, verdict, digest):
            return verdict == "bad" or at >= synced and verdict == "torn" and digest == kept(at)

        def cut_allowed(at, verdict, digest):
            if at < FIRST_LINE:  # synced before the manifest lists the file
                return verdict == "bad"
            return verdict != "bad" and digest == kept(at)

        for name in data.files:
            is_last = name == data.last
            sweep(data, name, flips, flip_allowed if is_last else refused)
            sweep(data, name, cuts, cut_allowed if is_last else refused)


@test
def all_damage_of_a_snapshot_is_refused():
    with Kept("--appendonly", "no", fsync="no") as daemon:
        data = Data(daemon)
        daemon.call("SET", "a", "1")
        daemon.call("ZADD", "z", "1", "m")
        equal(daemon.call("SAVE"), b"+OK\r\n", "SAVE")
        daemon.kill()
        data.ended()
        equal(list(data.files), ["dump.exp"])
        for make in (flips, cuts):
            equal(sweep(data, "dump.exp", make, refused), 0)


run(max(300, int(2 * SECONDS)))
