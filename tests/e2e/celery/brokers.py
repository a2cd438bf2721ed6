"""brokers: connections of kombu whose broker is the daemon under test."""
import logging
import os
import socket
import sys
from contextlib import contextmanager

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../lib"))
from daemon import ROOT, Daemon, test  # noqa: E402
from process import PATIENCE  # noqa: E402

CLIENTS = os.path.join(ROOT, "tools/clients/python")
sys.path.insert(1, CLIENTS)
import kombu  # noqa: E402

logging.disable(logging.CRITICAL)
TRANSPORT = "expired.kombu:Transport"
SECONDS = 20 * PATIENCE
# For programs that import Celery: they use the compiled modules of Debian's packages, and write none. In the folder that
# tests/run names for compiled modules, those that only a worker imports would be missing at each start.
COMPILED_BY_DEBIAN = {"PYTHONPYCACHEPREFIX": "", "PYTHONDONTWRITEBYTECODE": "1"}


class Broker(Daemon):
    """`connect` returns connections that are closed with the broker."""

    def __init__(self, *options, **how):
        super().__init__(*options, tcp=True, **how)
        self.connections = []

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}/0"

    def connect(self, url=None, **options):
        connection = kombu.Connection(url or self.url, transport=TRANSPORT, transport_options=options)
        self.connections.append(connection)
        return connection

    def __exit__(self, *error):
        for connection in self.connections:
            connection.release()
        super().__exit__(*error)


def with_broker(function):
    """The function is a test, of a broker and a client of it."""
    def run():
        with Broker() as broker, broker.redis() as client:
            function(broker, client)
    run.__name__ = function.__name__
    return test(run)


def queue_of(name="mail", kind="direct", key=None):
    exchange = kombu.Exchange(name if kind == "direct" else f"{name}-{kind}", type=kind)
    return kombu.Queue(name, exchange, routing_key=key or name)


def publish(connection, *bodies, queue=None, **how):
    queue = queue or queue_of()
    with connection.Producer() as producer:
        for body in bodies:
            producer.publish(body, exchange=queue.exchange, declare=[queue],
                             **{"routing_key": queue.routing_key, **how})


class Inbox:
    """A consumer; `messages` and `bodies` are what it has received. Acknowledges only if asked to."""

    def __init__(self, connection, *queues, ack=False, prefetch=0, no_ack=False):
        self.connection, self.ack, self.messages = connection, ack, []
        self.consumer = kombu.Consumer(connection, queues or [queue_of()], callbacks=[self.receive], no_ack=no_ack,
                                       prefetch_count=prefetch or None)
        self.consumer.consume()

    def receive(self, _body, message):
        self.messages.append(message)
        if self.ack:
            message.ack()

    @property
    def bodies(self):
        return [message.payload for message in self.messages]

    def drain(self, count=1, seconds=SECONDS):
        """Waits for this many more messages; returns the last one."""
        for _ in range(count):
            self.connection.drain_events(timeout=seconds)
        return self.messages[-1]

    def is_idle(self):
        """Nothing is due. The server answers a claim of the same connection first, so it need not wait."""
        try:
            self.connection.drain_events(timeout=0.05)
        except socket.timeout:
            return True
        return False


@contextmanager
def raises(kind, *words):
    try:
        yield
    except kind as error:
        for word in words:
            assert word in str(error), (word, error)
    else:
        raise AssertionError(f"no {kind.__name__}")
