"""cores: what threads for sockets (io-threads) take from the thread that runs commands.

A request of its own, without a pipeline, costs the main thread mostly the kernel's work on sockets, and with TLS
OpenSSL's. The server and redis-benchmark, with four threads, share all cores, and 256 connections keep the
server busy. Times are those of the kernel's scheduler for each thread.
"""
import contextlib
import os
import re
import ssl
import socket
import subprocess
import tempfile
import threading
import time
from statistics import median

from servers import Failed, free_port

THREADS = (1, 2, 3)
GENERATOR_THREADS = 4
SECONDS = 4        # of a round, at most
HANDSHAKES = 1000  # a second
PACE = 0.001       # seconds between the PINGs beside handshakes


@contextlib.contextmanager
def certificate():
    """The options of a server, and the file of its authority."""
    with tempfile.TemporaryDirectory() as where:
        key, cert = os.path.join(where, "key"), os.path.join(where, "cert")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                        "-nodes", "-days", "30", "-subj", "/CN=localhost", "-keyout", key, "-out", cert],
                       check=True, capture_output=True, timeout=60)
        yield ["--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert,
               "--tls-auth-clients", "no"], cert


def thread_times(pid):
    """Nanoseconds on a core: {thread: ns}."""
    found = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/schedstat",
                                                encoding="ascii") as file:
            found[int(thread)] = int(file.read().split()[0])
    return found


def use_all_cores(pid):
    for thread in os.listdir(f"/proc/{pid}/task"):
        os.sched_setaffinity(int(thread), range(os.cpu_count()))


def one_round(server, command, requests, connections, tls):
    """Requests a second, and nanoseconds a request of the main thread and of the whole process."""
    pid = server.process.pid
    port, more = (tls[0], ["--tls", "--cacert", tls[1]]) if tls else (server.port, [])
    before = thread_times(pid)
    done = subprocess.run(
        ["redis-benchmark", "-p", str(port), *more, "-t", command, "-n", str(requests), "-c",
         str(connections), "--threads", str(GENERATOR_THREADS), "-r", "100000", "-q"],
        capture_output=True, text=True, timeout=300, check=False)
    after = thread_times(pid)
    rates = re.findall(r"([\d.]+) requests per second", done.stdout)
    if done.returncode != 0 or not rates:
        raise Failed(f"redis-benchmark: {done.stdout[-500:]}{done.stderr[-500:]}")
    spent = {thread: ns - before.get(thread, 0) for thread, ns in after.items()}
    return float(rates[-1]), spent[pid] / requests, sum(spent.values()) / requests


# ---- handshakes --------------------------------------------------------------------------------

def shake(port, context, count):
    with contextlib.suppress(OSError), socket.create_connection(("localhost", port), 10) as plain, \
            context.wrap_socket(plain, server_hostname="localhost"):
        count.append(1)


def storm(port, authority, seconds, count):
    """Full handshakes at a pace, as well as one thread can."""
    context = ssl.create_default_context(cafile=authority)
    context.check_hostname = False
    begin = time.monotonic()
    for number in range(int(HANDSHAKES * seconds)):
        due = begin + number / HANDSHAKES
        time.sleep(max(0, due - time.monotonic()))
        if time.monotonic() > begin + seconds:
            return
        shake(port, context, count)


def ping_p99_ms(server, seconds):
    times = []
    with server.connect() as link:
        begin = time.monotonic()
        while time.monotonic() < begin + seconds:
            at = time.monotonic()
            link.call("PING")
            times.append(time.monotonic() - at)
            time.sleep(PACE)
    return sorted(times)[int(len(times) * 0.99)] * 1000


def beside_handshakes(server, tls, seconds):
    """(p99 alone, p99 beside handshakes, handshakes a second)"""
    alone, count = ping_p99_ms(server, seconds), []
    thread = threading.Thread(target=storm, args=(*tls, seconds, count))
    thread.start()
    busy = ping_p99_ms(server, seconds)
    thread.join()
    return alone, busy, len(count) / seconds


# ---- the servers -------------------------------------------------------------------------------

def options_of(name, threads, settings):
    more = ["--io-threads", str(threads)]
    if threads > 1 and "redis" in name and settings.servers[name][0] == "/usr/bin/redis-server":
        more += ["--io-threads-do-reads", "yes"]  # gone in Redis 8 and Valkey 9
    return more


def measure_server(bench, settings, say, name, threads, tls_options):
    port = free_port()
    command = settings.servers[name] + ["--port", "{port}", "--unixsocket", "{socket}", "--dir", "{dir}", "--save", "",
                                        "--appendonly", "no", "--tls-port", str(port), *tls_options[0],
                                        *options_of(name, threads, settings)]
    found = {}
    with bench.server(name, command) as server:
        use_all_cores(server.process.pid)
        for kind, tls in (("plain", None), ("TLS", (port, tls_options[1]))):
            for mix in ("get", "set"):
                rate, _, _ = one_round(server, mix, settings.cores_requests // 25, settings.cores_connections, tls)
                requests = min(settings.cores_requests, max(1000, int(rate * SECONDS)))
                rounds = [one_round(server, mix, requests, settings.cores_connections, tls)
                          for _ in range(settings.rounds)]
                rate, main, whole = (median(column) for column in zip(*rounds))
                found[f"{kind} {mix}"] = {"rate": rate, "main_ns": main, "cpu_ns": whole}
                say(f"{name}, {threads} threads, {kind} {mix}: main thread {main:.0f} ns a request, process "
                    f"{whole:.0f} ns, {rate:,.0f} a second")
        alone, busy, rate = beside_handshakes(server, (port, tls_options[1]), settings.crowd_seconds)
        found["handshakes"] = {"alone_ms": alone, "busy_ms": busy, "rate": rate}
        say(f"{name}, {threads} threads: p99 of a PING {alone:.2f} ms, beside {rate:.0f} handshakes a second "
            f"{busy:.2f} ms")
    return found


def measure(bench, settings, say):
    with certificate() as tls_options:
        return {f"{name}, {threads}": measure_server(bench, settings, say, name, threads, tls_options)
                for name in settings.servers if name != "bare" for threads in THREADS}
