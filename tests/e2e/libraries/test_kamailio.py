#!/usr/bin/python3 -B
"""The row of doc/libraries.md about Kamailio, a SIP proxy, in Debian's version: its routing script calls commands of
expired."""
import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import REPLY_SECONDS, Daemon, equal, main, own, wait_for
from process import die_with_parent

KAMAILIO = "/usr/sbin/kamailio"
CONFIG = os.path.join(sys.path[0], "kamailio.cfg.in")


class Phone:
    """Calls bob through the proxy at a port of this machine."""

    def __init__(self, port):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect(("127.0.0.1", port))
        self.socket.settimeout(REPLY_SECONDS)
        self.calls = 0

    def call(self, user):
        """The status of the reply."""
        self.calls += 1
        host, port = self.socket.getsockname()
        self.socket.send("\r\n".join((
            "OPTIONS sip:bob@127.0.0.1 SIP/2.0", f"Via: SIP/2.0/UDP {host}:{port};branch=z9hG4bK{self.calls}",
            f"From: <sip:{user}@127.0.0.1>;tag={self.calls}", "To: <sip:bob@127.0.0.1>", f"Call-ID: {user}{self.calls}",
            f"CSeq: {self.calls} OPTIONS", "Max-Forwards: 70", "Content-Length: 0", "", "")).encode())
        return int(self.socket.recv(4096).split()[1])

    def is_answered(self):
        try:
            return self.call("probe") == 200
        except OSError:  # the proxy does not listen yet
            return False


@contextmanager
def proxy(daemon):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config, log = os.path.join(daemon.dir, "kamailio.cfg"), os.path.join(daemon.dir, "kamailio.log")
    with open(CONFIG, encoding="ascii") as template, open(config, "w", encoding="ascii") as file:
        file.write(template.read().format(port=port, socket=daemon.path))
    with open(log, "wb") as output:
        process = subprocess.Popen([KAMAILIO, "-D", "-E", "-f", config, "-w", daemon.dir, "-Y", daemon.dir],
                                   stdout=output, stderr=output, preexec_fn=die_with_parent)
    phone = Phone(port)
    try:
        if not wait_for(phone.is_answered):
            with open(log, encoding="utf-8", errors="replace") as said:
                raise AssertionError(said.read())
        yield phone
    finally:
        phone.socket.close()
        process.send_signal(signal.SIGTERM)
        process.wait()


@own
def kamailio_limits_calls_by_cl_window_and_pushes_a_later_attempt():
    with Daemon() as daemon, daemon.redis() as client:
        daemon.hold()
        with proxy(daemon) as phone:
            equal([phone.call("ann"), phone.call("ann")], [200, 200])
            daemon.step(400)
            equal([phone.call("ann"), phone.call("bob")], [429, 200])
            equal(client.execute_command("REDE.TTN", "attempts"), 600)
            daemon.step(600)
            equal(client.execute_command("REDE.POLL", "attempts", "WITHIDS"), [[b"ann%d" % (phone.calls - 1),
                                                                                b"sip:bob@127.0.0.1"]])
            equal(phone.call("ann"), 200)


main()
