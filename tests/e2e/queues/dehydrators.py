"""dehydrators: a daemon with a held clock, and clients, for tests of dehydrators."""
from daemon import Daemon, encode, equal

WRONGTYPE = b"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"
BAD_TTL = b"-ERR ttl is not an integer or out of range\r\n"
DEHYDRATING = b"-ERROR: Element already dehydrating.\r\n"

class Dehydrators:
    """A daemon whose clock is held, a client, and a raw connection."""

    def __init__(self, *options):
        self.daemon = Daemon(*options)

    def __enter__(self):
        self.daemon.__enter__()
        self.daemon.hold()
        self.client, self.raw = self.daemon.redis(), self.daemon.raw()
        return self

    def __exit__(self, *exception):
        self.client.close()
        self.raw.close()
        return self.daemon.__exit__(*exception)

    def run(self, *arguments):
        return self.client.execute_command(*arguments)

    def step(self, msec):
        self.daemon.step(msec)

    def says(self, wanted, *arguments):
        equal(self.raw.call(*arguments), wanted, " ".join(map(str, arguments)))

def events_of(de, *calls):
    """The events of the calls: [event, key]. Without rede.due, whose place is not fixed."""
    listener = de.daemon.raw()
    listener.call("PSUBSCRIBE", "__keyevent@0__:*")
    for call in calls:
        de.raw.call(*call)
    de.raw.call("PUBLISH", "__keyevent@0__:end", "")
    events = []
    while not events or events[-1][0] != "end":
        parts = listener.reply().split(b"\r\n")
        event = parts[6].decode().split(":", 1)[1]
        if event != "rede.due":
            events.append([event, parts[8].decode()])
    listener.close()
    return events[:-1]


def wait(de, *arguments):
    """A connection that waits."""
    raw, before = de.daemon.raw(), de.client.info("clients")["blocked_clients"]
    raw.send(encode(*arguments))
    while de.client.info("clients")["blocked_clients"] == before:
        pass
    return raw


def fields(de, *call):
    """A map that a call replies, which is a list in RESP2."""
    words = de.run(*call)
    return dict(zip(words[::2], words[1::2]))
