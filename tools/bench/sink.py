"""sink: a replica that reads its master's stream and drops it, which costs hardly anything. So a
measurement shows only what the master does for a replica."""
import multiprocessing
import os
import time

from servers import Failed, Link

READ = 1 << 20
PAUSE = 0.004  # seconds between two reads: few wake-ups
ACK_SECONDS = 1
START_SECONDS = 30
MARK = 40  # bytes of the mark that ends a full copy


def line(link):
    while b"\n" not in link.pending:
        link.more()
    found, link.pending = link.pending.split(b"\n", 1)
    return found.strip()


def take_copy(link):
    """Until the stream begins."""
    for words in (("REPLCONF", "capa", "eof"), ("REPLCONF", "capa", "psync2")):
        if link.call(*words) != b"OK":
            raise Failed(f"{words} was refused")
    link.send("PSYNC", "?", "-1")
    said = line(link)
    if not said.startswith(b"+FULLRESYNC"):
        raise Failed(f"PSYNC was answered with {said[:100]!r}")
    while not said.startswith(b"$EOF:"):
        said = line(link)
    mark = said[-MARK:]
    while mark not in link.pending:
        link.pending = link.pending[-MARK:]
        link.more()
    acknowledge(link)


def acknowledge(link):
    link.send("REPLCONF", "ACK", "0")


def drop(port, core, pipe):
    os.sched_setaffinity(0, {core})
    link = Link(("127.0.0.1", port))
    take_copy(link)
    pipe.send(None)
    buffer, said = bytearray(READ), time.monotonic()
    while link.socket.recv_into(buffer) > 0:
        if time.monotonic() - said > ACK_SECONDS:
            acknowledge(link)
            said = time.monotonic()
        time.sleep(PAUSE)


class Sink:
    """Follows a server during `with`, on the tools' core."""

    def __init__(self, bench, master):
        self.pipe, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=drop, daemon=True,
                                               args=(master.port, bench.load_core, theirs))

    def __enter__(self):
        self.process.start()
        if not self.pipe.poll(START_SECONDS):
            self.stop()
            raise Failed("replication: a replica that drops its stream got no full copy")
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.process.kill()
        self.process.join()
