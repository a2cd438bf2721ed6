"""registers: several clients read, write, append and swap the same strings; each key's history must be
linearizable, and sums that transactions and scripts keep must never be seen broken."""
from world import LOST, Error

from linear import FOREVER, is_linearizable
from run_state import refused

MOST = 24  # operations on one key
SWAP = ("local v = redis.call('GET', KEYS[1]) or '' if v == ARGV[1] then "
        "redis.call('SET', KEYS[1], ARGV[2]) return 1 end return 0")
MOVE = ("redis.call('DECRBY', KEYS[1], ARGV[1]) redis.call('INCRBY', KEYS[2], ARGV[1]) return 1")


class Registers:
    def __init__(self, run, clients=3):
        self.rng = run.random_for(type(self).__name__)
        self.run, self.clients = run, clients
        self.histories, self.epoch, self.serial, self.key_count = {}, 0, 0, 0
        self.current = [self.new_key() for _ in range(2)]
        self.accounts = [f"account:{i}" for i in range(4)]
        self.opened = False

    def new_key(self):
        self.key_count += 1
        return f"reg:{self.key_count}"

    def tasks(self):
        return [self.work(number) for number in range(self.clients)] + [self.bank()]

    def work(self, number):
        run, rng = self.run, self.rng
        client = run.client(f"register {number}")
        while not run.stopping:
            yield rng.expovariate(60)
            slot = rng.randrange(len(self.current))
            key = self.current[slot]
            history = self.histories.setdefault(key, [])
            if len(history) >= MOST:
                key = self.current[slot] = self.new_key()
                history = self.histories.setdefault(key, [])
            yield from self.operate(client, key, history)

    def operate(self, client, key, history):
        run, rng = self.run, self.rng
        self.serial += 1
        new = f"v{self.serial}"
        kind = rng.choice(("read", "read", "write", "append", "swap", "watch", "take"))
        index = len(history)
        call = run.world.now
        if kind == "read":
            history.append((call, FOREVER, "read", None, None))
            reply = yield client.call("GET", key)
            result = reply.decode() if isinstance(reply, bytes) else None
        elif kind == "write":
            history.append((call, FOREVER, "write", new, None))
            reply = yield client.call(*rng.choice((("SET", key, new), ("SET", key, new, "EX", 5000),
                                                   ("PSETEX", key, 5000000, new))))
            result = None
        elif kind == "append":
            history.append((call, FOREVER, "append", new, None))
            reply = yield client.call("APPEND", key, new)
            result = reply
        elif kind == "take":
            history.append((call, FOREVER, "take", None, None))
            reply = yield client.call("GETDEL", key)
            result = reply.decode() if isinstance(reply, bytes) else None
        else:
            old = yield client.call("GET", key)
            if old is LOST or isinstance(old, Error):
                return
            old = old.decode() if old is not None else ""
            index, call = len(history), run.world.now
            history.append((call, FOREVER, "swap", (old or None, new), None))
            if kind == "swap":
                reply = yield client.call("EVAL", SWAP, 1, key, old, new)
                result = reply == 1
            else:
                replies = yield client.pipeline(("WATCH", key), ("GET", key))
                seen = replies[1]
                if seen is LOST or isinstance(seen, Error):
                    history[index] = None
                    client.close()
                    return
                if (seen.decode() if seen is not None else "") != old:
                    yield client.call("UNWATCH")
                    history[index] = None
                    return
                replies = yield client.pipeline(("MULTI",), ("SET", key, new), ("EXEC",))
                reply = replies[-1]
                result = reply is not None
                if reply is None:  # not executed, for whatever change
                    history[index] = None
                    return
        if refused(reply):
            history[index] = None
        elif reply is not LOST:
            if isinstance(reply, Error):
                run.broken(f"{kind} {key}: {reply}")
            _, _, name, argument, _ = history[index]
            history[index] = (call, run.world.now, name, argument, result)
            run.count("register")

    def bank(self):
        """Moves amounts between accounts; the sum stays 0."""
        run, rng = self.run, self.rng
        mover, reader = run.client("mover"), run.client("reader")
        while not run.stopping:
            yield rng.expovariate(40)
            one, other = rng.sample(self.accounts, 2)
            amount = rng.randrange(1, 100)
            if rng.random() < 0.5:
                moved = mover.call("EVAL", MOVE, 2, one, other, amount)
            else:
                moved = mover.pipeline(("MULTI",), ("DECRBY", one, amount),
                                       ("INCRBY", other, amount), ("EXEC",))
            yield rng.uniform(0, 0.001)
            sums = yield reader.call("MGET", *self.accounts)
            self.check_sum(sums)
            yield moved
            run.count("bank")

    def check_sum(self, balances):
        if isinstance(balances, list) and sum(int(one or 0) for one in balances) != 0:
            self.run.broken(f"accounts: {balances}")

    def finish(self):
        run = self.run
        client = run.client("register end")
        balances = yield from run.sure(client, "MGET", *self.accounts)
        self.check_sum(balances)
        if not run.loses_nothing:
            return
        for key, history in self.histories.items():
            history = [one for one in history if one is not None]  # None: was not executed
            call = run.world.now
            value = yield from run.sure(client, "GET", key)
            history.append((call, run.world.now, "read", None, value.decode() if value else None))
            verdict = is_linearizable(history)
            run.count("undecided" if verdict is None else "decided")
            if verdict is False:
                run.broken(f"{key} is not linearizable:\n" + "\n".join(map(str, history)))
