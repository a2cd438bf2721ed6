"""registers: several clients read, write, append and swap the same strings; each key's history must be
linearizable, and sums that transactions and scripts keep must never be seen broken."""
from world import LOST, MSEC, SECOND, Error

from linear import FOREVER, is_linearizable
from run_state import refused, results

MOST = 24  # operations on one key
HELD = 20 * MSEC  # a write that waits longer for its reply may wait until the journal before is synced
NOT_EXECUTED = object()
SWAP = ("local v = redis.call('GET', KEYS[1]) or '' if v == ARGV[1] then "
        "redis.call('SET', KEYS[1], ARGV[2]) return 1 end return 0")
MOVE = ("redis.call('DECRBY', KEYS[1], ARGV[1]) redis.call('INCRBY', KEYS[2], ARGV[1]) return 1")


def text_of(reply):
    return reply.decode() if isinstance(reply, bytes) else reply


class Registers:
    def __init__(self, run, clients=3):
        self.rng = run.random_for(type(self).__name__)
        self.run, self.clients = run, clients
        self.histories, self.epoch, self.serial, self.key_count = {}, 0, 0, 0
        self.current = [self.new_key() for _ in range(2)]
        self.accounts = [f"account:{i}" for i in range(4)]
        self.sums = {0}  # more if a move was executed by half, because memory was refused

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
        run = self.run
        self.serial += 1
        new = f"v{self.serial}"
        kind = self.rng.choice(("read", "read", "write", "append", "swap", "watch", "take"))
        if kind in ("swap", "watch"):
            old = yield client.call("GET", key)
            if old is LOST or isinstance(old, Error):
                return
            argument = (old.decode() if old is not None else None, new)
        else:
            argument = new if kind in ("write", "append") else None
        index, call = len(history), run.world.now
        history.append((call, FOREVER, "swap" if kind == "watch" else kind, argument, None))
        name, argument, reply = yield from getattr(self, kind)(client, key, argument)
        if reply is NOT_EXECUTED or refused(reply):
            history[index] = None
        elif reply is LOST:
            history[index] = (call, FOREVER, name, argument, None)
        elif isinstance(reply, Error):
            run.broken(f"{kind} {key}: {reply}")
        else:
            history[index] = (call, run.world.now, name, argument, reply)
            run.count("register")

    # One of these for each kind of operation: what was executed, its argument, and its result. The result may be
    # LOST, an error, or NOT_EXECUTED.

    def read(self, client, key, _):
        reply = yield client.call("GET", key)
        return "read", None, text_of(reply)

    def write(self, client, key, new):
        reply = yield client.call(*self.rng.choice((("SET", key, new), ("SET", key, new, "EX", 5000),
                                                    ("PSETEX", key, 5000000, new))))
        return "write", new, reply

    def append(self, client, key, new):
        reply = yield client.call("APPEND", key, new)
        return "append", new, reply

    def take(self, client, key, _):
        reply = yield client.call("GETDEL", key)
        return "take", None, text_of(reply)

    def swap(self, client, key, argument):
        old, new = argument
        reply = yield client.call("EVAL", SWAP, 1, key, old or "", new)
        if isinstance(reply, Error) and "not enough memory" in str(reply):
            reply = LOST  # Lua's, before or after the write
        return "swap", argument, reply == 1 if isinstance(reply, int) else reply

    def watch(self, client, key, argument):
        old, new = argument
        replies = yield client.pipeline(("WATCH", key), ("GET", key))
        if replies[0] != b"OK" or replies[1] is LOST or isinstance(replies[1], Error):
            client.close()
            return "swap", argument, NOT_EXECUTED
        if text_of(replies[1]) != old:
            yield client.call("UNWATCH")
            return "swap", argument, NOT_EXECUTED
        replies = yield client.pipeline(("MULTI",), ("SET", key, new), ("EXEC",))
        if replies[0] is LOST and self.run.lacked_memory or refused(replies[0]):
            return "write", new, replies[1]  # without MULTI it may be executed in any case
        if replies[-1] is None:
            return "swap", argument, NOT_EXECUTED
        whole = results(replies)[0]
        return "swap", argument, True if whole == b"OK" else whole

    def bank(self):
        """Moves amounts between accounts; the sum stays 0."""
        run, rng = self.run, self.rng
        mover, reader = run.client("mover"), run.client("reader")
        while not run.stopping:
            yield rng.expovariate(40)
            one, other = rng.sample(self.accounts, 2)
            amount = rng.randrange(1, 100)
            in_script = rng.random() < 0.5
            if in_script:
                moved = mover.call("EVAL", MOVE, 2, one, other, amount)
            else:
                moved = mover.pipeline(("MULTI",), ("DECRBY", one, amount),
                                       ("INCRBY", other, amount), ("EXEC",))
            yield rng.uniform(0, 0.001)
            sums = yield reader.call("MGET", *self.accounts)
            self.check_sum(sums, amount)
            reply = yield moved
            halves = (reply, reply) if in_script else results(reply)
            if run.lacked_memory and not all(isinstance(half, int) for half in halves):
                self.sums |= {total + half for total in self.sums for half in (-amount, amount)}
                run.count("half of a transaction")
            run.count("bank")

    def check_sum(self, balances, amount=0):
        """`amount`: of a move that is under way."""
        if not isinstance(balances, list):
            return
        total = sum(int(one or 0) for one in balances)
        halves = (0, -amount, amount) if self.run.lacked_memory else (0,)
        if not any(total + half in self.sums for half in halves):
            self.run.broken(f"accounts: {balances}")

    def may_be_undone(self, one, history):
        """A client may see a change before its writer has the reply, and a failure may then lose it: a loss of power
        the change that is not synced, a kill the change that waits until another journal is synced
        (doc/durability.md): at any moment after a rewrite was asked for, otherwise only if it has waited for HELD.
        So a call that changed nothing counts only if each write before it was acknowledged, or ended with the
        failure."""
        call, end, kind, _, result = one
        if end == FOREVER or kind != "read" and (kind, result) not in (("swap", False), ("take", None)):
            return False
        for failure in ("power", "kill"):
            failures = sorted(at for at, how, *_ in self.run.losses if how == failure)
            next_failure = next((at for at in failures if at >= call), FOREVER)
            rewritten = any(0 <= next_failure - at < SECOND for at in self.run.rewrites)
            held = 0 if failure == "power" or rewritten else HELD
            since = max((at for at in failures if at < call), default=0)
            if next_failure < FOREVER and any(
                    other[1] == FOREVER and since <= other[0] <= min(end, next_failure - held) for other in history):
                return True
        return False

    def finish(self):
        run = self.run
        client = run.client("register end")
        balances = yield from run.sure(client, "MGET", *self.accounts)
        self.check_sum(balances)
        if not run.loses_nothing:
            return
        for key, history in self.histories.items():
            history = [one for one in history if one is not None]  # None: was not executed
            history = [one for one in history if not self.may_be_undone(one, history)]
            call = run.world.now
            value = yield from run.sure(client, "GET", key)
            history.append((call, run.world.now, "read", None, value.decode() if value else None))
            verdict = is_linearizable(history)
            run.count("undecided" if verdict is None else "decided")
            if verdict is False:
                run.broken(f"{key} is not linearizable:\n" + "\n".join(map(str, history)))
