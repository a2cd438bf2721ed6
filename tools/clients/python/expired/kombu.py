"""A transport for kombu, and so a broker for Celery, whose queues are dehydrators.

    app = Celery("shop", broker="redis://localhost:6379/0")
    app.conf.broker_transport = "expired.kombu:Transport"

A message with the header `eta` or `countdown` is stored with that deadline, so no worker holds it before it is
due. A consumer claims messages under a short lease, which a thread of this module renews while the process lives:
a long task keeps its message, and the message of a killed worker is due again when the lease ends. The thread goes on
after the connection was lost, until the last message that is still in use has been acknowledged.

A queue has one key for each step of priority, as in kombu's Redis transport: the queue's name, and for steps after
the first one the name, `sep` and the step. A claim names one key, so a consumer has one connection for each key, on
which it waits in the server. Claims follow the order of priorities:

    is anything due?      the connection of the key       what happens
    perhaps               idle                            the command connection claims what there is room for
    no                    idle                            a claim is sent that blocks
    no, the claim waits   waiting                         the server answers when an element is due
    no room (prefetch)    waiting                         after 20 ms CLIENT UNBLOCK ends the wait; what came goes back
    the consumer is busy  waiting                         the thread ends the wait, and gives back what came

The lease of an element runs from the server's answer. A consumer that reads a late answer extends the lease first, and
drops an element that somebody else has claimed meanwhile.

Fanout exchanges use pub/sub, and tables of bindings are sets, both as in the Redis transport.
Needs redis-py 4.3 and kombu 5.2, or later versions, and is written against kombu.transport.virtual.
"""
import re
import socket
import sys
import threading
import weakref
from bisect import bisect
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from math import ceil
from multiprocessing.util import Finalize
from queue import Empty
from time import monotonic, sleep
from urllib.parse import quote

import redis
from kombu.exceptions import ChannelError, InconsistencyError, VersionMismatch
from kombu.log import get_logger
from kombu.transport import virtual
from kombu.utils.compat import register_after_fork
from kombu.utils.encoding import bytes_to_str
from kombu.utils.eventio import ERR, READ, poll
from kombu.utils.json import dumps, loads
from kombu.utils.scheduling import cycle_by_name
from kombu.utils.url import parse_ssl_cert_reqs, url_to_parts

from . import Redis

__all__ = ["Channel", "Transport"]

logger = get_logger(__name__)

BATCH = 50  # the most messages that one claim takes
UNBLOCK_DELAY = 0.02  # seconds without room after which a consumer stops waiting
MAX_LEASE = 2_592_000  # seconds: 30 days
STOP_SECONDS = 1.0  # for the server to end the wait of a connection that is closed
FOREIGN_DELAY = 3_600_000  # milliseconds after which a message that is not kombu's is looked at again
NEEDED = ("REDE.PUSH", "REDE.CLAIM", "REDE.ACK", "REDE.EXTEND", "REDE.RETRY", "REDE.LEN")

# Options of this transport and their defaults: in transport_options, and the first two in the URL too.
OPTIONS = {
    "lease": 10.0,  # seconds after which a killed worker's messages are due again
    "global_keyprefix": "",
    "priority_steps": (0, 3, 6, 9),
    "queue_order_strategy": "round_robin",
    "sep": "\x06\x16",
    "fanout_prefix": True,
    "fanout_patterns": True,
    "max_connections": None,
    "socket_timeout": None,
    "socket_connect_timeout": None,
    "socket_keepalive": True,
    "socket_keepalive_options": None,
    "health_check_interval": 25,
    "client_name": None,
}
URL_OPTIONS = ("lease", "global_keyprefix")
KOMBU_OPTIONS = {"max_retries", "interval_start", "interval_step", "interval_max", "connect_retries_timeout", "errback",
                 "callback", "body_encoding", "deadletter_queue", "polling_interval"}
# Options of the Redis transport that have no meaning here, so that only its URL has to change.
REDIS_OPTIONS = {"visibility_timeout", "ack_emulation", "unacked_key", "unacked_index_key", "unacked_mutex_key",
                 "unacked_mutex_expire", "unacked_restore_limit", "retry_on_timeout"}


def keepalive_options():
    """A connection that waits notices within 30 s that its server is gone. Systems' defaults are two hours."""
    wanted = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 30_000}
    return {getattr(socket, name): value for name, value in wanted.items() if hasattr(socket, name)}


def read_options(given):
    unknown = sorted(set(given) - set(OPTIONS) - KOMBU_OPTIONS - REDIS_OPTIONS)
    if unknown:
        raise ValueError(f"unknown transport options: {', '.join(unknown)}; known are {', '.join(sorted(OPTIONS))}")
    options = {**OPTIONS, **{name: given[name] for name in given if name in OPTIONS}}
    try:
        options["lease"] = float(options["lease"])
    except (TypeError, ValueError):
        raise ValueError(f"lease is {options['lease']!r}; it must be a number of seconds") from None
    if not 0.1 <= options["lease"] <= MAX_LEASE:
        raise ValueError(f"lease is {options['lease']} seconds; it must be between 0.1 and {MAX_LEASE}")
    options["priority_steps"] = sorted(options["priority_steps"])
    if not options["priority_steps"]:
        raise ValueError("priority_steps must name at least one step")
    return options


def read_url(client):
    """Moves what the URL says into the fields of the client, where copies of the client find it."""
    if "://" not in (client.hostname or ""):
        return
    url = url_to_parts(client.hostname)
    if url.scheme not in ("redis", "rediss", "unix", "expired", "expireds"):
        raise ValueError(f"{url.scheme}:// is no URL for this transport; use redis://, rediss:// or unix://")
    path, query = url.path, dict(url.query)
    client.hostname = url.hostname or "localhost"
    if url.scheme == "unix":
        client.hostname, path = f"/{url.path or ''}", query.pop("db", None)
    client.port = url.port or client.port
    client.userid = url.username or client.userid
    client.password = url.password or client.password
    client.virtual_host = path or client.virtual_host
    tls = {name: query.pop(name) for name in list(query) if name.startswith("ssl_")}
    if "ssl_cert_reqs" in tls:
        try:
            tls["ssl_cert_reqs"] = parse_ssl_cert_reqs(tls["ssl_cert_reqs"])
        except KeyError:
            raise ValueError(f"ssl_cert_reqs is {tls['ssl_cert_reqs']!r}; "
                             "it must be required, optional or none") from None
    if "ssl_check_hostname" in tls:
        if tls["ssl_check_hostname"].lower() not in ("true", "false"):
            raise ValueError(f"ssl_check_hostname is {tls['ssl_check_hostname']!r}; it must be true or false")
        tls["ssl_check_hostname"] = tls["ssl_check_hostname"].lower() == "true"
    if tls or url.scheme in ("rediss", "expireds"):
        client.ssl = {**(client.ssl if isinstance(client.ssl, dict) else {}), **tls} or True
    unknown = sorted(set(query) - set(URL_OPTIONS))
    if unknown:
        raise ValueError(f"unknown options in the broker's URL: {', '.join(unknown)}; "
                         f"known are {', '.join(URL_OPTIONS)} and ssl_*")
    client.transport_options = {**(client.transport_options or {}), **query}


# Forms of ISO 8601 that producers in other languages send, and that fromisoformat before Python 3.11 does not read.
ISO_TIME = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)[T ](\d\d):?(\d\d)(?::?(\d\d)(?:[.,](\d+))?)?"
                      r"(?:[Zz]|([+-]\d\d):?(\d\d)?)?", re.ASCII)


def plain_time(text):
    """The same time in the form that every fromisoformat reads."""
    found = ISO_TIME.fullmatch(text)
    if found is None:
        return text
    year, month, day, hour, minute, second, fraction, zone, zone_minutes = found.groups()
    fraction = (fraction or "")[:6].ljust(6, "0")
    zone = f"{zone}:{zone_minutes or '00'}" if zone else "+00:00"
    return f"{year}-{month}-{day}T{hour}:{minute}:{second or '00'}.{fraction}{zone}"


def read_eta(text):
    """The time of an ISO 8601 text, which is in UTC if it names no zone, as Celery reads it; None if it is none."""
    try:
        eta = text if isinstance(text, datetime) else datetime.fromisoformat(plain_time(text))
    except (TypeError, ValueError):
        return None
    return eta if eta.tzinfo is not None else eta.replace(tzinfo=timezone.utc)


def delay_of(message):
    """Milliseconds until the message is due. They are relative, so clocks of producers need not agree."""
    headers = message.get("headers") or {}
    eta = read_eta(headers.get("eta"))
    if eta is not None:
        return max(0, ceil((eta - datetime.now(timezone.utc)) / timedelta(milliseconds=1)))
    try:
        return max(0, ceil(float(headers.get("countdown") or 0) * 1000))
    except (OverflowError, TypeError, ValueError):
        return 0


def make_due(message):
    """The server's clock has decided. A worker whose clock is slow would wait for the ETA once more, and so would one
    whose Celery ignores a zone without a colon."""
    headers = message.get("headers") or {}
    eta = read_eta(headers.get("eta"))
    if eta is not None:
        headers["eta"] = min(eta, datetime.now(timezone.utc)).isoformat()


# ---- claims ----------------------------------------------------------------------------------------------------


class Claim:
    """`message` refers weakly to the message while a consumer has it. `ending` is set if the claim has been settled,
    but the server could not be told: it is called again until the server answers."""
    __slots__ = "key", "id", "token", "message", "ending"

    def __init__(self, key, id_, token):
        self.key, self.id, self.token = key, id_, token
        self.message = self.ending = None

    @property
    def pair(self):
        return self.id, self.token

    def is_in_use(self):
        message = self.message() if self.message is not None else None
        return message is not None and was_begun_by_celery(message) is not False


def was_begun_by_celery(message):
    """None if the message is no request of a worker of Celery. When a connection is lost, a worker drops the requests
    that it has not begun, since every broker delivers them again. Its table of requests keeps them all the same, and
    with them the messages."""
    state = sys.modules.get("celery.worker.state")
    request = state.requests.get((message.headers or {}).get("id")) if state is not None else None
    return request in state.active_requests if request is not None else None


def acknowledge(client, claim):
    return client.rede_ack(claim.key, claim.pair)


def put_back(client, claim):
    """Behind those that wait, so that a message that is requeued again and again does not keep them waiting."""
    return client.rede_retry(claim.key, 0, claim.pair)


def give_back(client, claim):
    """Where the consumer took it: before those that wait, and not counted as a delivery."""
    return client.rede_retry(claim.key, "FIRST", claim.pair, nocount=True)


def in_turn(endings):
    """What ends with give_back comes last and backwards, since each goes before the last one. All others keep their
    order. An ending is the last item."""
    endings = list(endings)
    return ([ending for ending in endings if ending[-1] is not give_back]
            + [ending for ending in reversed(endings) if ending[-1] is give_back])


class Claims:
    """The claims of a transport by delivery tag. Consumers and the keeper use them at the same time."""

    def __init__(self, client, lease):
        self.client, self.lease = client, lease
        self.lock, self.held = threading.Lock(), {}
        self.lost = {}  # what the keeper could not renew, until its consumer settles it
        self.on_add = None  # starts the keeper

    def add(self, tag, claim):
        with self.lock:
            self.held[tag] = claim
        self.on_add()

    def lose(self, tag):
        """Returns whether the claim was still held. A consumer that settles it meanwhile finds it in one of the two."""
        with self.lock:
            claim = self.held.pop(tag, None)
            if claim is not None:
                self.lost[tag] = claim
        return claim is not None

    def note_message(self, tag, message):
        claim = self.held.get(tag)
        if claim is not None:
            claim.message = weakref.ref(message)

    def settle(self, tag, ending, repeats=True):
        """Ends a claim. Returns it if it was no longer ours: its lease was lost, or its queue purged."""
        with self.lock:
            claim = self.held.pop(tag, None)
            if claim is None:
                return self.lost.pop(tag, None)
        try:
            # A claim that was settled in vain may be settled in truth: only the reply was lost.
            if ending(self.client, claim) == 0 and claim.ending is None:
                logger.warning("Message %s of %s was no longer claimed by this consumer", claim.id, claim.key)
                return claim
            return None
        except (redis.RedisError, OSError) as error:
            if repeats and (not isinstance(error, redis.ResponseError) or isinstance(error, redis.ReadOnlyError)):
                claim.ending = ending
                self.add(tag, claim)
            raise

    def renew(self, gives_back=False):
        """Extends all leases, and settles again what could not be settled. With `gives_back`, returns messages that
        nobody uses any more."""
        with self.lock:
            held = dict(self.held)
        by_key, endings = {}, []
        for tag, claim in held.items():
            ending = give_back if gives_back and not claim.is_in_use() and claim.ending is None else claim.ending
            if ending is None:
                by_key.setdefault(claim.key, []).append((tag, claim))
            else:
                endings.append((tag, claim, ending))
        for tag, claim, ending in in_turn(endings):
            with self.log_refusals(claim.key):
                self.settle(tag, ending)
        for key, claims in by_key.items():
            with self.log_refusals(key):
                for first in range(0, len(claims), BATCH):
                    self.extend(key, claims[first:first + BATCH])

    @staticmethod
    @contextmanager
    def log_refusals(key):
        """A key that was replaced, or that the user may not access, must not keep others from being renewed."""
        try:
            yield
        except redis.ReadOnlyError:
            raise
        except redis.ResponseError as error:
            logger.warning("Can't renew the leases of messages in %s: %s", key, error)

    def extend(self, key, claims):
        if self.count_extended(key, *(claim.pair for _, claim in claims)) == len(claims):
            return
        for tag, claim in claims:
            if self.count_extended(key, claim.pair) == 0 and self.lose(tag):
                logger.warning("Lost the lease of message %s in %s, which is delivered again", claim.id, key)

    def count_extended(self, key, *pairs):
        return self.client.rede_extend(key, int(self.lease * 1000), *pairs)


class Keeper:
    """A thread for what can't wait for the consumer, which may be busy for longer than a lease: with the pool `solo`,
    tasks run in the thread of the event loop.

    Renews the leases of the claims. Rings for a loop that makes no turn, and if it does not answer, ends the waits of
    its connections, so that the server gives the messages to others. It does so soon after a wait has begun, since a
    task may run in the turn after that, and ten times in each lease. After the end of its transport it goes on until
    there are no claims: tasks may still run when a connection was lost.

    It refers weakly to the transport, so that one that is forgotten without close() ends.
    """

    def __init__(self, transport):
        self.reference, self.claims, self.pool = weakref.ref(transport), transport.claims, transport.pool
        self.claims.on_add = self.start
        self.lock, self.ended, self.thread = threading.Lock(), False, None
        self.turns, self.has_rung, self.visits = -1, False, 0
        self.has_waits = threading.Event()

    def start(self):
        with self.lock:
            if self.thread is None:
                self.thread = threading.Thread(target=self.run, name="expired-leases", daemon=True)
                self.thread.start()

    def end(self):
        self.ended = True

    def note_wait(self):
        self.has_waits.set()

    def run(self):
        while True:
            self.rest(monotonic() + self.claims.lease / 10)
            self.ended = self.ended or self.reference() is None
            with self.lock:
                if self.ended and not self.claims.held:
                    self.thread = None
                    break
            try:
                if not self.ended:
                    self.watch_loop(self.reference())
                self.visits += 1
                if self.visits % 3 == 0:
                    self.claims.renew(gives_back=self.ended)
            except (redis.RedisError, OSError) as error:  # the connections that wait report it to the consumer
                logger.warning("Can't renew the leases of %d messages: %s", len(self.claims.held), error)
            except Exception:  # pylint: disable=broad-except # leases must be renewed all the same
                logger.exception("Can't renew the leases of %d messages now", len(self.claims.held))
        self.pool.disconnect(inuse_connections=False)

    def rest(self, end):
        """Until then; looks meanwhile, at growing distances from the beginning of a wait, whether the loop is busy."""
        distance = 0
        while monotonic() < end:
            left = end - monotonic()
            if self.has_waits.wait(max(0, min(distance or left, left))):
                self.has_waits.clear()
                distance = UNBLOCK_DELAY
                sleep(distance)
            if distance and not self.ended:
                self.end_waits_of_busy_loop(self.reference(), end)
                distance *= 2

    @staticmethod
    def end_waits_of_busy_loop(transport, end):
        if transport is None:
            return
        turns = transport.turns
        transport.ring()
        sleep(UNBLOCK_DELAY)
        while transport.turns == turns and transport.stop_waits() and monotonic() < end:
            sleep(UNBLOCK_DELAY)

    def watch_loop(self, transport):
        if transport is None:
            return
        turns = transport.turns
        if turns != self.turns:
            self.turns, self.has_rung = turns, False
        elif not self.has_rung:
            transport.ring()
            self.has_rung = True
        else:
            transport.stop_waits()


# ---- connections that wait -------------------------------------------------------------------------------------


class Wire:
    """A connection that the event loop watches. Its owner sends a request and reads when something has arrived."""

    def __init__(self, channel):
        self.channel, self.transport = channel, channel.transport
        self.connection = self.transport.connect()
        self.fd = self.connection._sock.fileno()
        self.transport.watch(self.fd, self)

    def read(self):
        try:
            return self.connection.read_response()
        except redis.ResponseError as error:
            if not str(error).startswith(("UNBLOCKED", "READONLY", "MASTERDOWN")):
                raise
            raise redis.ConnectionError(str(error)) from error

    def close(self):
        if self.fd is not None:
            self.transport.unwatch(self.fd)
            self.fd = None
            self.connection.disconnect()


class Line(Wire):
    """Waits for the elements of one key. `lock` guards it: the keeper ends its wait if the consumer is busy."""

    def __init__(self, channel, queue, key):
        super().__init__(channel)
        self.queue, self.key, self.lock = queue, key, threading.Lock()
        self.may_have, self.waits, self.unblocks, self.error = True, False, False, None
        self.connection.send_command("CLIENT", "ID")
        self.id = self.read()

    def wait(self):
        with self.lock:
            self.connection.send_command("REDE.CLAIM", self.key, self.channel.lease, "COUNT", 1, "BLOCK", 0, "TOKENS")
            self.waits, self.unblocks = True, False
        self.transport.keeper.note_wait()

    def take(self):
        """The elements of the reply that has arrived."""
        entries = self.read()
        self.waits, self.may_have = False, True
        return entries

    def stop(self):
        """Ends the wait and closes. An element that arrives meanwhile goes back at once."""
        with self.lock:
            try:
                if self.waits and not self.transport.is_lost:
                    # The server may read CLIENT UNBLOCK before the claim, and then it has no effect.
                    end = monotonic() + STOP_SECONDS
                    while not self.connection.can_read(timeout=0.01):
                        if monotonic() > end:
                            return  # it does not know this connection any more
                        self.transport.commands.client_unblock(self.id)
                    self.channel.give_back(self.key, self.take())
            except (redis.RedisError, OSError):
                pass  # its lease ends
            finally:
                self.close()

    def stop_wait(self):
        """For the keeper, which asks again if no reply is there yet."""
        with self.lock:
            if not self.waits or self.fd is None or self.error is not None:
                return
            try:
                self.transport.commands.client_unblock(self.id)
                if self.connection.can_read(timeout=0):
                    self.channel.give_back(self.key, self.take())
                    self.transport.ring()  # to wait again, if the loop was only late
            except (redis.RedisError, OSError) as error:
                self.error = error  # the consumer raises it: its loop may see nothing of a socket that was closed
                self.transport.ring()

    def raise_error(self):
        if self.error is not None:
            raise self.error

    def on_readable(self):
        self.raise_error()
        with self.lock:
            if not self.waits:
                self.drop_if_closed()
                return 0
            entries = self.take()
        if entries and monotonic() - self.transport.unread_since > self.transport.options["lease"] / 2:
            entries = [entry for entry in entries
                       if self.transport.claims.count_extended(self.key, (entry[0], entry[3]))]
        return self.channel.on_entries(self.queue, self.key, entries)

    def drop_if_closed(self):
        """The server closes connections that are idle for long, for example those of a consumer without room."""
        try:
            self.connection.can_read(timeout=0)
        except (redis.RedisError, OSError):
            self.channel.lines.pop(self.key, None)
            self.close()


class Subscription(Wire):
    """Receives the messages of fanout exchanges."""

    def __init__(self, channel):
        super().__init__(channel)
        self.queues, self.arrived = {}, []

    def add(self, pattern, queue):
        queues = self.queues.setdefault(pattern, [])
        if queue not in queues:
            queues.append(queue)
        self.connection.send_command("PSUBSCRIBE", pattern)
        reply = self.read()
        while bytes_to_str(reply[0]) != "psubscribe":
            self.arrived.append(reply)
            reply = self.read()
        self.read_rest()

    def remove(self, queue):
        for pattern, queues in list(self.queues.items()):
            if queue in queues:
                queues.remove(queue)
                if not queues:
                    del self.queues[pattern]
                    self.connection.send_command("PUNSUBSCRIBE", pattern)

    def read_rest(self):
        """redis-py has buffered more than one reply perhaps, for which the socket is not readable any more."""
        while self.connection.can_read(timeout=0):
            self.arrived.append(self.read())

    def on_readable(self):
        self.arrived.append(self.read())
        self.read_rest()
        return False  # the channel delivers them

    def deliver(self, reply):
        if bytes_to_str(reply[0]) != "pmessage":
            return False
        delivered = False
        for queue in list(self.queues.get(bytes_to_str(reply[1]), ())):
            try:
                message = loads(bytes_to_str(reply[3]))
                self.channel.check(message)
            except Exception as error:  # pylint: disable=broad-except # any text can be published
                logger.error("Dropped what is no message of kombu in channel %s: %s (%r)", bytes_to_str(reply[2]),
                             error, reply[3][:200])
                return delivered
            self.transport.deliver(message, queue)
            delivered = True
        return delivered


class Bell:
    """Keeps the loop from sleeping in its next turn, for example when an acknowledgement has made room."""

    def __init__(self):
        self.end, self.other = socket.socketpair()
        self.end.setblocking(False)
        self.other.setblocking(False)
        self.fd = self.end.fileno()

    def ring(self):
        try:
            self.other.send(b"!")
        except OSError:
            pass  # it rings already, or is closed

    def on_readable(self):
        try:
            self.end.recv(4096)
        except BlockingIOError:
            pass
        return False

    def close(self):
        self.end.close()
        self.other.close()


# ---- channels --------------------------------------------------------------------------------------------------


def restore_at_exit(reference):
    qos = reference()
    if qos is not None:
        qos.restore_unacked_once()


class QoS(virtual.QoS):
    """Acknowledges claims. Messages of fanout exchanges have none, and need no acknowledgement."""

    def __init__(self, channel, prefetch_count=0):
        super().__init__(channel, prefetch_count)
        # kombu's own finalizer refers to this object, and would keep a connection that is forgotten until the exit.
        self._on_collect.cancel()
        self._on_collect = Finalize(self, restore_at_exit, args=(weakref.ref(self),), exitpriority=1)

    def append(self, message, delivery_tag):
        super().append(message, delivery_tag)
        self.channel.transport.claims.note_message(delivery_tag, message)

    def ack(self, delivery_tag):
        self.settle(delivery_tag, acknowledge)

    def reject(self, delivery_tag, requeue=False):
        message = self._delivered.get(delivery_tag)
        claim = self.settle(delivery_tag, put_back if requeue else acknowledge)
        if requeue and claim is not None and message is not None:
            self.channel.push_again(claim, message)

    def settle(self, tag, ending):
        """Makes room even if the server can't be told now: the keeper tells it later."""
        try:
            return self.channel.transport.claims.settle(tag, ending)
        finally:
            super().ack(tag)
            self.channel.made_room()

    def restore_unacked(self, pushes_again=True):
        """Gives back what the consumer has not begun, so it does not count as a delivery. A worker of Celery that is
        told to end at once, has begun some."""
        self._flush()
        try:
            for tag, message, ending in in_turn((tag, message, put_back if was_begun_by_celery(message) else give_back)
                                                for tag, message in self._delivered.items()):
                claim = self.channel.transport.claims.settle(tag, ending)
                if claim is not None and pushes_again:
                    self.channel.push_again(claim, message)
        finally:
            self._delivered.clear()
        return []

    def restore_unacked_once(self, stderr=None):
        """When the connection was lost, tasks may still run: the keeper renews the leases of messages that are in use,
        and gives the others back."""
        self._on_collect.cancel()
        if self.restore_at_shutdown and self.channel.do_restore and not self.channel.transport.is_lost:
            # What was purged stays away, and what was lost is another worker's.
            self.restore_unacked(pushes_again=False)
        self._delivered.clear()


class Channel(virtual.Channel):
    QoS = QoS
    supports_fanout = True

    def __init__(self, connection, **kwargs):
        super().__init__(connection, **kwargs)
        self.transport = connection  # self.connection is None after close()
        self.lease = int(connection.options["lease"] * 1000)
        self.order = cycle_by_name(connection.options["queue_order_strategy"])()
        self.lines, self.subscription = {}, None
        self.without_ack, self.lacks_room, self.will_unblock = set(), False, False

    @property
    def client(self):
        return self.transport.commands

    # ---- keys ----

    def key_of(self, queue, step):
        options = self.transport.options
        name = f"{queue}{options['sep']}{step}" if step else queue
        return options["global_keyprefix"] + name

    def keys_of(self, queue):
        return [self.key_of(queue, step) for step in self.transport.options["priority_steps"]]

    def table_of(self, exchange):
        return f"{self.transport.options['global_keyprefix']}_kombu.binding.{exchange}"

    def refuse_type(self, queue, key):
        kind = bytes_to_str(self.client.type(key))
        return ChannelError(
            f"PRECONDITION_FAILED - queue {queue!r} needs the key {key!r}, which is a {kind} and no dehydrator; if it "
            "is a queue of the Redis transport, let its workers empty it first, or use another database",
            (50, 10), "Channel.queue_declare", "406")

    # ---- publishing ----

    def _put(self, queue, message, **kwargs):
        steps = self.transport.options["priority_steps"]
        priority = self._get_message_priority(message)
        key = self.key_of(queue, steps[max(bisect(steps, priority) - 1, 0)])
        try:
            # A push that redis-py repeats after a timeout must not fail.
            self.client.rede_push(key, delay_of(message), dumps(message), message["properties"]["delivery_tag"],
                                  keep=True)
        except redis.ResponseError as error:
            raise self.refuse_type(queue, key) if str(error).startswith("WRONGTYPE") else error

    def push_again(self, claim, message):
        """A message that was purged while a consumer had it. No effect if another consumer has it now."""
        again = message.serializable()
        again["properties"]["delivery_info"]["redelivered"] = True
        self.client.rede_push(claim.key, 0, dumps(again), claim.id, keep=True)

    def topic_of(self, exchange, routing_key):
        prefix = self.transport.options["fanout_prefix"]
        if prefix is True:
            prefix = "/{db}."
        start = (prefix or "").format(db=self.transport.db) + self.transport.options["global_keyprefix"] + exchange
        with_key = routing_key and self.transport.options["fanout_patterns"]
        return f"{start}/{routing_key}" if with_key else start

    def _put_fanout(self, exchange, message, routing_key, **kwargs):
        self.client.publish(self.topic_of(exchange, routing_key), dumps(message))

    # ---- queues and bindings ----

    def _new_queue(self, queue, **kwargs):
        with self.client.pipeline(transaction=False) as pipe:
            for key in self.keys_of(queue):
                pipe.type(key)
            for key, kind in zip(self.keys_of(queue), pipe.execute()):
                if bytes_to_str(kind) not in ("none", "dehydrator"):
                    raise self.refuse_type(queue, key)

    def _has_queue(self, queue, **kwargs):
        return self.client.exists(*self.keys_of(queue)) > 0

    def _size(self, queue):
        """Messages that no consumer has, those that are not yet due included."""
        with self.client.pipeline(transaction=True) as pipe:
            for key in self.keys_of(queue):
                pipe.rede_len(key)
                pipe.rede_len(key, claimed=True)
            sizes = pipe.execute()
        return sum(sizes[::2]) - sum(sizes[1::2])

    def _purge(self, queue):
        with self.client.pipeline(transaction=True) as pipe:
            for key in self.keys_of(queue):
                pipe.rede_len(key)
                pipe.rede_len(key, claimed=True)
                pipe.delete(key)
            replies = pipe.execute()
        return sum(replies[::3]) - sum(replies[1::3])

    def _queue_bind(self, exchange, routing_key, pattern, queue):
        if self.typeof(exchange).type == "fanout":
            self.transport.fanouts[queue] = exchange, (routing_key or "").replace("#", "*")
            return
        binding = self.transport.options["sep"].join((routing_key or "", pattern or "", queue or ""))
        self.client.sadd(self.table_of(exchange), binding)

    def _delete(self, queue, exchange, routing_key, pattern, *args, **kwargs):
        self.transport.fanouts.pop(queue, None)
        binding = self.transport.options["sep"].join((routing_key or "", pattern or "", queue or ""))
        with self.client.pipeline(transaction=True) as pipe:
            pipe.srem(self.table_of(exchange), binding)
            pipe.delete(*self.keys_of(queue))
            pipe.execute()

    def get_table(self, exchange):
        sep = self.transport.options["sep"]
        return [tuple(bytes_to_str(binding).split(sep)) for binding in self.client.smembers(self.table_of(exchange))]

    # ---- consuming ----

    def basic_qos(self, prefetch_size=0, prefetch_count=0, apply_global=False):
        super().basic_qos(prefetch_size, prefetch_count, apply_global)
        self.made_room()

    def basic_consume(self, queue, no_ack, callback, consumer_tag, **kwargs):
        super().basic_consume(queue, no_ack, callback, consumer_tag, **kwargs)
        (self.without_ack.add if no_ack else self.without_ack.discard)(queue)
        if queue in self.transport.fanouts:
            if self.subscription is None:
                self.subscription = Subscription(self)
            topic = self.topic_of(*self.transport.fanouts[queue])
            pattern = "".join("\\" + char if char in "?[]\\" else char for char in topic)
            self.subscription.add(pattern, queue)
        self.order.update(self.own_queues())

    def basic_cancel(self, consumer_tag):
        queue = self._tag_to_queue.get(consumer_tag)
        super().basic_cancel(consumer_tag)
        if queue is None or queue in self._active_queues:
            return
        self.order.update(self.own_queues())
        for key, line in list(self.lines.items()):
            if line.queue == queue:
                del self.lines[key]
                line.stop()
        if self.subscription is not None and not self.transport.is_lost:
            self.subscription.remove(queue)

    def own_queues(self):
        """The queues that are dehydrators, each once."""
        return [queue for queue in dict.fromkeys(self._active_queues) if queue not in self.transport.fanouts]

    def find_lines(self):
        """The lines in the order of claims: by priority, and in each by the strategy for queues."""
        queues = self.order.consume(len(self.own_queues()))
        for step in self.transport.options["priority_steps"]:
            for queue in queues:
                key = self.key_of(queue, step)
                if key not in self.lines:
                    self.lines[key] = Line(self, queue, key)
                    self.transport.keeper.start()
                self.lines[key].raise_error()
                yield self.lines[key]

    def room(self):
        room = self.qos.can_consume_max_estimate()
        return BATCH if room is None else min(room, BATCH)

    def claim(self, most=BATCH):
        """Delivers what was published, claims and delivers what is due, up to `most` messages, and waits for more.
        Returns how many it delivered."""
        delivered = 0
        while self.subscription is not None and self.subscription.arrived and delivered < most:
            delivered += self.subscription.deliver(self.subscription.arrived.pop(0))
        lines = list(self.find_lines())
        self.ask([line for line in lines if line.may_have and not line.waits])
        for line in lines:
            room = min(self.room(), most - delivered)
            if room <= 0 or self.closed:
                break
            if line.waits or not line.may_have:
                continue
            entries = self.client.rede_claim(line.key, self.lease, count=room, tokens=True)
            line.may_have = len(entries) == room
            delivered += self.on_entries(line.queue, line.key, entries)
        lines = [line for line in lines if self.lines.get(line.key) is line]  # not cancelled meanwhile
        self.lacks_room = True  # an acknowledgement of another thread after the next line must ring
        self.lacks_room = self.room() <= 0
        if self.lacks_room:
            self.unblock_soon()
            return delivered
        for line in lines:
            if line.may_have and not line.waits:
                self.transport.ring()  # the loop must not sleep
            elif not line.waits:
                line.wait()
        return delivered

    def ask(self, lines):
        """Which of them have elements that are due? One question for all costs less than claims that are in vain."""
        if len(lines) < 2 or self.room() <= 0:
            return
        with self.client.pipeline(transaction=False) as pipe:
            for line in lines:
                pipe.rede_len(line.key, due=True)
            for line, count in zip(lines, pipe.execute()):
                line.may_have = count > 0

    def unblock_soon(self):
        """A short task makes room again before this is worth its cost. What arrives meanwhile goes back."""
        if self.transport.loop is None:
            self.unblock()
        elif not self.will_unblock and any(line.waits for line in self.lines.values()):
            self.will_unblock = True
            self.transport.loop.call_later(UNBLOCK_DELAY, self.unblock_if_full)

    def unblock_if_full(self):
        self.will_unblock = False
        if not self.closed and self.room() <= 0:
            self.unblock()

    def unblock(self):
        """Ends all waits. Their replies arrive as if nothing were due."""
        lines = [line for line in self.lines.values() if line.waits and not line.unblocks]
        with self.client.pipeline(transaction=False) as pipe:
            for line in lines:
                pipe.client_unblock(line.id)
            for line, was_blocked in zip(lines, pipe.execute()):
                line.unblocks = bool(was_blocked)
        if not all(line.unblocks for line in lines):
            self.transport.ring()  # an element is on its way, or the server has not read the claim yet: look again

    def on_entries(self, queue, key, entries):
        """Delivers claimed elements; gives back those that come too late. Returns how many it delivered."""
        delivered, entries = 0, list(entries)
        try:
            while entries and not self.closed and queue in self._active_queues and self.room() > 0:
                message = self.accept(key, entries.pop(0))
                if message is None:
                    continue
                if queue in self.without_ack:
                    self.transport.claims.settle(message["properties"]["delivery_tag"], acknowledge, repeats=False)
                self.order.rotate(queue)
                self.transport.deliver(message, queue)
                delivered += 1
        finally:
            self.give_back(key, entries)
        return delivered

    def check(self, message):
        """Raises an exception if it is no message of kombu."""
        properties = message["properties"]
        if not isinstance(message["body"], str):
            raise TypeError("its body is no text")
        self.decode_body(message["body"], properties.get("body_encoding"))
        properties["delivery_info"].get("routing_key")
        (message.get("headers") or {}).get("eta")

    def accept(self, key, entry):
        """The message of a claimed element, under a tag of its own. None if it is not kombu's."""
        id_, payload, deliveries, token = entry
        try:
            message = loads(bytes_to_str(payload))
            self.check(message)
        except Exception as error:  # pylint: disable=broad-except # any client can push anything
            logger.error("Element %s of %s is no message of kombu: %s (%r). It is delivered again in an hour; "
                         "REDE.PULL removes it.", id_, key, error, payload[:200])
            self.client.rede_retry(key, FOREIGN_DELAY, (id_, token))
            return None
        properties = message["properties"]
        tag = properties["delivery_tag"] = f"{bytes_to_str(id_)}.{token}"
        if deliveries > 1:
            properties["delivery_info"]["redelivered"] = True
        make_due(message)
        self.transport.claims.add(tag, Claim(key, id_, token))
        return message

    def give_back(self, key, entries):
        if entries:
            self.client.rede_retry(key, "FIRST", *((id_, token) for id_, _, _, token in entries), nocount=True)

    def made_room(self):
        if self.lacks_room:
            self.transport.ring()

    def _get(self, queue, timeout=None):
        for key in self.keys_of(queue):
            for entry in self.client.rede_claim(key, self.lease, count=1, tokens=True):
                message = self.accept(key, entry)
                if message is not None:
                    return message
        raise Empty()

    def basic_get(self, queue, no_ack=False, **kwargs):
        message = super().basic_get(queue, no_ack=no_ack, **kwargs)
        if message is not None and no_ack:
            self.transport.claims.settle(message.delivery_tag, acknowledge, repeats=False)
        return message

    def close(self):
        if not self.closed:
            for line in list(self.lines.values()):
                line.stop()
            self.lines.clear()
            if self.subscription is not None:
                self.subscription.close()
                self.subscription = None
        super().close()

    def forget(self):
        """In a forked child: closes its copies of the sockets, and claims nothing."""
        for line in self.lines.values():
            line.connection.disconnect()
        if self.subscription is not None:
            self.subscription.connection.disconnect()
        self.lines, self.subscription = {}, None


# ---- transport -------------------------------------------------------------------------------------------------


class Transport(virtual.Transport):
    Channel = Channel
    can_parse_url = True
    default_port = 6379
    driver_type, driver_name = "redis", "expired"  # Celery sends its events by fanout if the type is redis
    implements = virtual.Transport.implements.extend(
        asynchronous=True, exchange_type=frozenset(["direct", "topic", "fanout"]))
    connection_errors = virtual.Transport.connection_errors + (
        InconsistencyError, OSError, redis.ConnectionError, redis.TimeoutError, redis.ReadOnlyError)
    channel_errors = virtual.Transport.channel_errors + (
        redis.DataError, redis.InvalidResponse, redis.ResponseError)

    def __init__(self, client, **kwargs):
        read_url(client)
        self.options = read_options(client.transport_options or {})
        super().__init__(client, **kwargs)
        self.fanouts = {}  # queues that are bound to fanout exchanges
        self.is_lost = False
        self.db = self.read_db(client.virtual_host)
        self.pool = redis.ConnectionPool(**self.connection_parameters(client))
        self.commands = Redis(connection_pool=self.pool)
        self.claims = Claims(self.commands, self.options["lease"])
        self.keeper, self.bell = Keeper(self), None
        self.watched, self.poller, self.loop = {}, None, None
        # Turns of the loop are counted. Replies that have not been read arrived after `unread_since`.
        self.turns = 0
        self.turned_at = self.unread_since = monotonic()
        self.is_delivering = False
        if register_after_fork is not None:
            register_after_fork(self, Transport.after_fork)

    @staticmethod
    def read_db(path):
        text = str(path or "0").strip("/") or "0"
        if not text.isdigit():
            raise ValueError(f"the database in the broker's URL must be a number, not {text!r}")
        return int(text)

    def connection_parameters(self, client):
        options = self.options
        parameters = {name: options[name] for name in (
            "socket_timeout", "socket_connect_timeout", "socket_keepalive", "socket_keepalive_options",
            "health_check_interval", "client_name")}
        if parameters["socket_keepalive_options"] is None:
            parameters["socket_keepalive_options"] = keepalive_options()
        parameters.update(db=self.db, username=client.userid, password=client.password)
        if int(redis.__version__.split(".", maxsplit=1)[0]) >= 5:
            parameters["protocol"] = 2  # subscriptions are read as replies
        if options["max_connections"]:
            parameters["max_connections"] = options["max_connections"]
        if (client.hostname or "").startswith("/"):
            for name in "socket_connect_timeout", "socket_keepalive", "socket_keepalive_options":
                del parameters[name]
            return {**parameters, "path": client.hostname, "connection_class": redis.UnixDomainSocketConnection}
        parameters.update(host=client.hostname or "localhost", port=client.port or self.default_port)
        if client.ssl:
            parameters.update(client.ssl if isinstance(client.ssl, dict) else {},
                              connection_class=redis.SSLConnection)
        return parameters

    def driver_version(self):
        return redis.__version__

    def as_uri(self, uri, include_password=False, mask="**"):
        client = self.client
        user = quote(client.userid or "", safe="")
        if client.password:
            user += f":{quote(client.password, safe='') if include_password else mask}"
        if (client.hostname or "").startswith("/"):
            return f"unix://{user}{'@' if user else ''}{client.hostname}?db={self.db}"
        host = client.hostname or "localhost"
        if ":" in host:
            host = f"[{host}]"
        return (f"{'rediss' if client.ssl else 'redis'}://{user}{'@' if user else ''}{host}:"
                f"{client.port or self.default_port}/{self.db}")

    @property
    def default_connection_params(self):
        return {"hostname": "localhost", "port": self.default_port}

    # ---- connecting ----

    def connect(self):
        """A connection of its own, for a request that waits or a subscription."""
        parameters = {**self.pool.connection_kwargs, "health_check_interval": 0, "socket_timeout": None}
        connection = self.pool.connection_class(**parameters)
        connection.connect()
        return connection

    def establish_connection(self):
        self.check_server()
        self.bell = Bell()
        self.watch(self.bell.fd, self.bell)
        return super().establish_connection()

    def check_server(self):
        """Fails at once, and with names, where claims would fail later."""
        connection = self.connect()
        try:
            connection.send_command("COMMAND", "INFO", *NEEDED)
            missing = [name for name, row in zip(NEEDED, connection.read_response()) if not row]
        finally:
            connection.disconnect()
        if missing:
            raise VersionMismatch(f"The server at {self.as_uri(None)} does not have {', '.join(missing)}. "
                                  "The transport expired.kombu needs the server expired.")

    def close_connection(self, connection):
        try:
            super().close_connection(connection)
        finally:
            self.keeper.end()
            if self.loop is not None:
                self.unregister_from_event_loop(connection, self.loop)
            for fd in list(self.watched):
                self.unwatch(fd)
            if self.poller is not None:
                self.poller.close()
                self.poller = None
            self.close_bell()
            self.pool.disconnect()

    def after_fork(self):
        """A child has copies of the descriptors, and none of the threads, which may have held locks."""
        self.claims = Claims(self.commands, self.options["lease"])
        self.keeper = Keeper(self)
        self.close_bell()
        self.watched, self.poller, self.loop = {}, None, None
        for channel in self.channels:
            channel.forget()

    # ---- waiting ----

    def watch(self, fd, wire):
        self.watched[fd] = wire
        if self.poller is not None:
            self.poller.register(fd, READ | ERR)
        if self.loop is not None:
            self.loop.add_reader(fd, self.on_readable, fd)

    def unwatch(self, fd):
        self.watched.pop(fd, None)
        if self.poller is not None:
            self.poller.unregister(fd)
        if self.loop is not None:
            self.loop.remove(fd)

    def close_bell(self):
        bell, self.bell = self.bell, None
        if bell is not None:
            bell.close()

    def ring(self):
        bell = self.bell
        if bell is not None:
            bell.ring()

    def deliver(self, message, queue):
        self.is_delivering = True
        self._deliver(message, queue)
        self.is_delivering = False

    @contextmanager
    def noting_loss(self):
        """Errors of connections mean that the consumer does not end in order. Those of callbacks say nothing."""
        self.is_delivering = False
        try:
            yield
        except self.connection_errors:
            if not self.is_delivering:
                self.is_lost = True
            raise

    def begin_turn(self):
        """The turn before this one has read all that had arrived when it began."""
        self.turns += 1
        self.unread_since, self.turned_at = self.turned_at, monotonic()

    def stop_waits(self):
        """Returns whether some of them must be asked again."""
        lines = [line for channel in list(self.channels) for line in list(channel.lines.values())]
        for line in lines:
            line.stop_wait()
        return any(line.waits and line.error is None for line in lines)

    def on_readable(self, fileno):
        with self.noting_loss():
            return self.read_wire(fileno)

    def read_wire(self, fileno):
        wire = self.watched.get(fileno)
        delivered = wire.on_readable() if wire is not None else False
        if delivered and self.loop is not None:
            self.ring()
        return delivered

    def drain_events(self, connection, timeout=None):
        """Delivers one message, or raises socket.timeout."""
        end = None if timeout is None else monotonic() + timeout
        if self.poller is None:
            self.poller = poll()
            for fd in self.watched:
                self.poller.register(fd, READ | ERR)
        while True:
            with self.noting_loss():
                if self.drain_once(end):
                    return
            if end is not None and monotonic() >= end:
                raise socket.timeout()

    def drain_once(self, end):
        """Reads first, so that no reply gets old while there is enough to claim. Channels take turns."""
        self.turns += 1
        if self.read_arrived(0):
            return True
        channels = list(self.channels)
        first = self.turns % max(len(channels), 1)
        for channel in channels[first:] + channels[:first]:
            if channel.claim(1):
                return True
        return self.read_arrived(None if end is None else max(0, end - monotonic()))

    def read_arrived(self, timeout):
        began = monotonic()
        for fd, _ in self.poller.poll(timeout) or ():
            if self.read_wire(fd):
                return True
        self.unread_since = began
        return False

    def register_with_event_loop(self, connection, loop):
        self.loop = loop
        for fd in self.watched:
            loop.add_reader(fd, self.on_readable, fd)
        loop.on_tick.add(self.on_tick)

    def unregister_from_event_loop(self, connection, loop):
        loop.on_tick.discard(self.on_tick)
        for fd in self.watched:
            loop.remove(fd)
        self.loop = None

    def on_tick(self):
        """Rings for a delivery, and so does on_readable: Celery hands a task to its pool in the turn of the loop after
        the one that delivered it, and a task with an ETA in the turn after that, and would sleep before each."""
        self.begin_turn()
        with self.noting_loss():
            if sum(channel.claim() for channel in list(self.channels)):
                self.ring()
