#!/usr/bin/python3 -B
"""tools/try-cluster: the cluster that it starts serves the module's commands, and ends with it."""
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile

sys.path.insert(1, sys.path[0] + "/../../lib")
from daemon import ROOT, Raw, die_with_parent, equal, main, test, wait_for
from engines import host
from redis_cli import ENVIRONMENT

SCRIPT = os.path.join(ROOT, "tools", "try-cluster")
BUS = 10_000


def is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_ports(count):
    """The first of this many free ports, whose bus ports are free too; below those of clients."""
    rng = random.SystemRandom()
    while True:
        first = rng.randrange(10_000, 22_000)
        if all(is_free(port + more) for port in range(first, first + count) for more in (0, BUS)):
            return first


def start(where, *arguments):
    environment = dict(ENVIRONMENT, REDIS_SERVER=host(), TMPDIR=where)
    return subprocess.Popen([SCRIPT, *map(str, arguments)], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, env=environment,
                            preexec_fn=die_with_parent)


def call(port, *words):
    with Raw(("127.0.0.1", port)) as raw:
        return raw.call(*words)


def check_ended(first, count, where):
    assert wait_for(lambda: all(is_free(port) for port in range(first, first + count)))
    equal(os.listdir(where), [])


@test
def a_command_runs_beside_masters_and_replicas():
    first = free_ports(6)
    with tempfile.TemporaryDirectory() as where:
        with start(where, "--port", first, "--replicas", 1, "sh", "-c",
                   f"redis-cli -c -p {first} REDE.PUSH d 100000 payload id && "
                   f"redis-cli -c -p {first + 1} REDE.LOOK d id && "
                   f"redis-cli -p {first} CLUSTER INFO && "
                   f"for p in 3 4 5; do redis-cli -p $(({first} + p)) INFO replication; done && "
                   "exit 7") as script:
            out, _ = script.communicate()
        equal(script.returncode, 7, out)
        assert out.startswith("OK\npayload\n") and "cluster_known_nodes:6" in out, out
        equal(out.count("master_link_status:up"), 3, out)
        check_ended(first, 6, where)


@test
def the_program_of_the_documentation_runs_in_it():
    with open(os.path.join(ROOT, "doc", "cluster.md"), encoding="utf-8") as page:
        program = next(part for part in re.findall(r"```python\n(.*?)```", page.read(), re.S)
                       if "REDE.BPOLL" in part)
    first = free_ports(3)
    program = program.replace("port=7000", f"port={first}").replace(", 5000,", ", 100,")
    with tempfile.TemporaryDirectory() as where:
        with start(where, "--port", first, "/usr/bin/python3", "-c", program) as script:
            out, _ = script.communicate()
        equal((script.returncode, out), (0, "[b'payload']\n"))


@test
def it_prints_how_to_reach_it_and_runs_until_interrupted():
    first = free_ports(3)
    with tempfile.TemporaryDirectory() as where:
        with start(where, "--port", first) as script:
            said = script.stdout.readline()
            assert f"ports {first} to {first + 2}" in said, said
            equal(script.stdout.readline().split(), ["redis-cli", "-c", "-p", str(first)])
            assert b"cluster_state:ok" in call(first, "CLUSTER", "INFO")
            script.send_signal(signal.SIGINT)
            equal(script.wait(), 130)
        check_ended(first, 3, where)


@test
def a_port_of_another_server_is_refused():
    first = free_ports(3)
    with tempfile.TemporaryDirectory() as where, subprocess.Popen(
            [host(), "--port", str(first + 1), "--save", "", "--dir", where],
            stdout=subprocess.DEVNULL, preexec_fn=die_with_parent) as other:
        wait_for(lambda: not is_free(first + 1))
        with start(where, "--port", first) as script:
            out, _ = script.communicate()
        equal(script.returncode, 1, out)
        assert f"port {first + 1} is in use" in out, out
        equal(call(first + 1, "CLUSTER", "INFO")[:4], b"-ERR")
        other.terminate()
    assert wait_for(lambda: is_free(first) and is_free(first + 1))


@test
def bad_options_show_the_usage():
    for words in (("--port",), ("--port", "x"), ("--what",)):
        done = subprocess.run([SCRIPT, *words], capture_output=True, text=True)
        equal(done.returncode, 2)
        assert "tools/try-cluster [--port N]" in done.stderr, done.stderr


main()
