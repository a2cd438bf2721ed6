"""proxy: a TCP proxy with faults: it cuts connections after random numbers of bytes, sends in small
pieces, and pauses. Depends on nothing else here."""
import random
import selectors
import socket
import threading
import time

PIECES = (1, 1, 3, 50, 1000, 65536, 65536)
NAP = 0.02


class Pipe:
    """One direction of a connection."""

    def __init__(self, source, sink, proxy):
        self.source, self.sink, self.proxy = source, sink, proxy
        self.left = proxy.bytes_to_live()
        self.piece = proxy.rng.choice(PIECES)
        self.pieces = proxy.rng.choice((10, 100, 1000))  # that long it sends in pieces

    def move(self):
        """False: the connection ends."""
        calm = self.proxy.calm
        size = 65536 if calm or self.pieces <= 0 else self.piece
        self.pieces -= 1
        if not calm and self.left is not None:
            size = min(size, self.left)
            self.left -= size
            if size == 0:
                return False
        data = self.source.recv(size)
        if not data:
            return False
        self.sink.sendall(data)
        if not calm and self.proxy.rng.random() < 0.001:
            time.sleep(self.proxy.rng.random() * NAP)  # the pause is the fault
        return True


class Proxy:
    """Runs in a thread from `with` to its end. `target` is a port; `calm` turns the faults off."""

    def __init__(self, target, seed):
        self.target, self.rng, self.calm = target, random.Random(seed), False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.ends = 0
        self.selector = selectors.DefaultSelector()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.stopped, self.cut_wanted = False, False

    def bytes_to_live(self):
        if self.rng.random() < 0.4:
            return None
        return int(10 ** self.rng.uniform(0, 6))

    def __enter__(self):
        self.listener.setblocking(False)
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped = True
        self.thread.join()
        self.close_all()
        self.selector.close()
        self.listener.close()

    def cut(self):
        """Cuts all connections soon."""
        self.cut_wanted = True

    def close_all(self):
        for key in list(self.selector.get_map().values()):
            if key.data is not None:
                self.selector.unregister(key.fileobj)
                key.fileobj.close()

    def accept(self):
        try:
            near = self.listener.accept()[0]
        except BlockingIOError:
            return
        try:
            far = socket.create_connection(("127.0.0.1", self.target), 5)
        except OSError:
            near.close()
            return
        for source, sink in ((near, far), (far, near)):
            source.settimeout(5)
            self.selector.register(source, selectors.EVENT_READ, Pipe(source, sink, self))

    def end(self, pipe):
        self.ends += 1
        for one in (pipe.source, pipe.sink):
            try:
                self.selector.unregister(one)
            except (KeyError, ValueError):
                continue
            one.close()

    def run(self):
        while not self.stopped:
            for key, _ in self.selector.select(0.05):
                if key.data is None:
                    self.accept()
                    continue
                if key.fileobj.fileno() < 0:
                    continue  # ended in this round
                try:
                    is_open = key.data.move()
                except OSError:
                    is_open = False
                if not is_open:
                    self.end(key.data)
            if self.cut_wanted:
                self.cut_wanted = False
                self.close_all()
