"""process: what every test that starts processes needs of the system. Depends on nothing else here."""
import contextlib
import ctypes
import os
import random
import signal
import socket
import sys
import tempfile
import time
import traceback

FOLDER_PREFIX = "expired-test-"
PATIENCE = float(os.environ.get("CK_TIMEOUT_MULTIPLIER") or 1)  # of all limits of time
STRETCH = min(PATIENCE, 3)  # of spans in which a test has to do something: unlike limits, they pass in each run


def die_with_parent():
    """In a child: the kernel kills it when the parent ends, so that no test leaves it behind."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


_owned = []  # a socket for each port of this process


def free_port():
    """A port that nobody listens on, and that no other test gets while this process lives. It is below those that the
    kernel gives to outgoing connections, so that a server that stops and starts again finds it free."""
    choose = random.SystemRandom()  # programs that run at the same time may have the same seed
    while True:
        port, owned = choose.randrange(20000, 32768), socket.socket(socket.AF_UNIX)
        with socket.socket() as probe, contextlib.suppress(OSError):
            # An abstract name, which ends with its socket. Filled up, because node's names are.
            owned.bind(f"\0expired-test-port-{port}".ljust(108, "\0"))
            probe.bind(("127.0.0.1", port))
            _owned.append(owned)
            return port
        owned.close()


def folder():
    """A temporary folder; its path from `with` to its end."""
    return tempfile.TemporaryDirectory(prefix=FOLDER_PREFIX, ignore_cleanup_errors=True)


def wait_for(condition, seconds=40, nap=0.005):
    """The condition's first true value, or its last one after this many seconds, times PATIENCE. The default suits each
    wait for what must happen: only a test that fails takes so long."""
    return happens(condition, seconds * PATIENCE, nap)


def happens(condition, seconds, nap=0.005):
    """The same within this many seconds of real time, for what must not happen: a slow machine sees less of it, and
    fails no test."""
    limit = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < limit:
        time.sleep(nap)  # between two looks; the condition ends the wait
    return found


def cpu_seconds(pid):
    """Of all threads of a process, exact to the nanosecond."""
    return time.clock_gettime((~pid << 3) | 2)  # the kernel's clock of a process


def thread_states(pid):
    """Name, state and kernel function that it waits in, of each thread of a process: for the message of a time-out.
    State D is a wait for the disk."""
    found = []
    for task in sorted(os.listdir(f"/proc/{pid}/task")):
        with contextlib.suppress(OSError):  # it has ended
            with open(f"/proc/{pid}/task/{task}/stat", encoding="utf-8") as file:
                name, _, rest = file.read().partition("(")[2].rpartition(")")
            with open(f"/proc/{pid}/task/{task}/wchan", encoding="utf-8") as file:
                found.append((name, rest.split()[0], file.read()))
    return found


def kill_and_wait(process):
    """As by kill -9. A killed process ends when its last system call does, and a sync may take minutes while the disk
    of a shared machine stands still. This says nothing about the program, so the test's limit does not run meanwhile."""
    process.kill()
    left = signal.alarm(0)
    try:
        process.wait()
    finally:
        signal.alarm(left)


def fork(run):
    """Runs a function in a child process until somebody kills it; the child's id. If the function
    ends or raises, the child ends with status 1, which check_killed reports."""
    sys.stdout.flush()  # or the child would print it a second time
    pid = os.fork()
    if pid == 0:
        try:
            die_with_parent()
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            run()
        except BaseException:  # pylint: disable=broad-except
            traceback.print_exc(file=sys.stdout)
            sys.stdout.flush()
        finally:
            os._exit(1)
    return pid


def check_killed(status):
    """Of os.waitpid: a child of fork must not end in another way."""
    code = os.waitstatus_to_exitcode(status)
    assert code == -signal.SIGKILL, f"a helper process ended with status {code}"


def kill_child(pid):
    os.kill(pid, signal.SIGKILL)
    check_killed(os.waitpid(pid, 0)[1])
