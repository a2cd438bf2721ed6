"""rules: what policies keep by themselves. A list under MAXLEN is never longer, keys under a TTL policy end
in time, and each key that expires is in the log of its policy once, over all restarts."""
from world import LOST, Error

from run_state import refused

MOST = 5


class Rules:
    def __init__(self, run):
        self.rng = run.random_for(type(self).__name__)
        self.run = run
        self.serial = 0
        self.logged = {}  # key: its deadline

    def tasks(self):
        return [self.work(0), self.work(1)]

    def set_up(self, client):
        calls = (("POLICY", "SET", "recent:*", "MAXLEN", MOST),
                 ("POLICY", "SET", "logged:*", "EXPIRED", "TO", "ends", "VALUE"),
                 ("REDE.PUSHAT", "queued ends", 2 ** 50, "", "makes the key"),
                 ("POLICY", "SET", "queued:*", "EXPIRED", "TO", "queued ends"))
        replies = yield from self.run.all_sure(client, *calls)
        for arguments, reply in zip(calls, replies):
            if isinstance(reply, Error) and "already dehydrating" not in str(reply):
                self.run.broken(f"{arguments}: {reply}")

    def work(self, number):
        run, rng = self.run, self.rng
        client = run.client(f"rules {number}")
        yield from self.set_up(client)
        confirmed = run.world.now
        while not run.stopping:
            yield rng.expovariate(30)
            if run.may_be_lost(confirmed):
                yield from self.set_up(client)
                confirmed = run.world.now
                continue
            self.serial += 1
            if rng.random() < 0.5:
                key = f"recent:{rng.randrange(3)}"
                replies = yield client.pipeline(("ZADD", key, self.serial, f"m{self.serial}"),
                                                ("ZCARD", key))
                if isinstance(replies[1], int) and replies[1] > MOST and not run.may_be_lost(confirmed):
                    run.broken(f"{key} has {replies[1]} members")
                run.count("recent")
                continue
            key, ttl = f"{rng.choice(('logged', 'queued'))}:{self.serial}", rng.choice((5, 100, 1000))
            deadline = int(client.node.wall) + ttl
            reply = yield client.call("SET", key, f"value {self.serial}", "PXAT", deadline)
            if reply == b"OK" and client.node.wall < deadline and not run.may_be_lost(confirmed):
                self.logged[key] = (deadline, run.world.now)
                run.count("logged")
            elif reply is not LOST and reply != b"OK" and not refused(reply):
                run.broken(f"SET: {reply}")

    def finish(self):
        run = self.run
        client = run.client("rules end")
        reply = yield from run.sure(client, "XRANGE", "ends", "-", "+")
        seen = {}
        for _, fields in reply or []:
            entry = dict(zip(fields[::2], fields[1::2]))
            key = entry[b"key"].decode()
            seen[key] = seen.get(key, 0) + 1
            if key in self.logged and int(entry[b"at"]) != self.logged[key][0]:
                run.broken(f"{key} ended at {self.logged[key][0]}, its log entry has {entry}")
            if entry.get(b"value") != b"value " + key.split(":")[1].encode():
                run.broken(f"{key}: {entry}")
        reply = yield from run.sure(client, "REDE.RANGE", "queued ends", 0, 2 ** 52)
        for key, due in reply or []:
            key = key.decode()
            if key not in self.logged:
                continue
            seen[key] = seen.get(key, 0) + 1
            payload = yield from run.sure(client, "REDE.LOOK", "queued ends", key)
            if payload != b"value " + key.split(":")[1].encode() or due < self.logged[key][0]:
                run.broken(f"{key}, due at {self.logged[key]}, is queued for {due} with {payload}")
        for key, (_, at) in self.logged.items():
            if seen.get(key, 0) != 1 and not (seen.get(key, 0) == 0 and run.may_be_lost(at)):
                run.broken(f"{key} is in the log {seen.get(key, 0)} times")
