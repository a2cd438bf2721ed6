"""caching: clients that keep what they have read until an invalidation, in RESP3. At rest no cached value
differs from the server's."""
from world import LOST, Error

KEYS = 6


class Caching:
    def __init__(self, run, clients=2):
        self.rng = run.random_for(type(self).__name__)
        self.run, self.clients, self.serial = run, clients, 0
        self.caches = []

    def tasks(self):
        return [self.write()] + [self.read(number) for number in range(self.clients)]

    def write(self):
        run, rng = self.run, self.rng
        client = run.client("cache writer")
        while not run.stopping:
            yield rng.expovariate(30)
            self.serial += 1
            key, other = (f"cached:{number}" for number in rng.sample(range(KEYS), 2))
            yield client.call(*rng.choice((("SET", key, self.serial), ("INCR", key), ("DEL", key),
                                           ("MSET", key, self.serial, other, self.serial),
                                           ("SET", key, self.serial, "PX", rng.choice((5, 200))))))
            run.count("cache write")

    def read(self, number):
        run, rng = self.run, self.rng
        cache = {}

        def forget(push):
            if push[0] == b"invalidate":
                if push[1] is None:
                    cache.clear()
                for key in push[1] or []:
                    cache.pop(key.decode(), None)
                run.count("invalidation")
        client = run.client(f"cache {number}", hello=3, on_push=forget)
        connection = None
        while True:
            if client.socket < 0 or client.connections != connection:
                cache.clear()
                client.close()
                client.node = run.master
                reply = yield client.call("CLIENT", "TRACKING", "ON", *rng.choice(((), ("BCAST",))))
                connection = client.connections if reply == b"OK" else None
                if connection is None:
                    yield 0.05
                    continue
            if run.stopping:
                break
            yield rng.expovariate(30)
            key = f"cached:{rng.randrange(KEYS)}"
            if client.connections != connection or client.socket < 0:
                continue
            future = client.call("GET", key)
            future.waiting.append(lambda value, key=key: cache.__setitem__(key, value)
                                  if value is not LOST and not isinstance(value, Error) else None)
            yield future
        self.caches.append((client, connection, cache))

    def finish(self):
        run = self.run
        reader = run.client("cache end")
        for number, (client, connection, cache) in enumerate(self.caches):
            if client.connections != connection or client.socket < 0:
                continue
            for key, value in sorted(cache.items()):
                now = yield from run.sure(reader, "GET", key)
                if now != value and key in cache:
                    run.broken(f"client {number} has {key} = {value}, the server has {now}")
