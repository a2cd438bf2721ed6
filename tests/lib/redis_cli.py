"""redis_cli: runs redis-cli, with its output in a pipe or in a terminal."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios

from daemon import REPLY_SECONDS, die_with_parent, equal

# No history and no settings of the user who runs the tests.
ENVIRONMENT = {**os.environ, "TERM": "xterm", "REDISCLI_HISTFILE": "/dev/null",
               "REDISCLI_RCFILE": "/dev/null"}


def run(daemon, *arguments, given=b"", status=0, tcp=False):
    """The output of redis-cli if it is not a terminal. Without `status` any exit status is accepted."""
    where = ["-p", str(daemon.port)] if tcp else ["-s", daemon.path]
    done = subprocess.run(["redis-cli", *where, *arguments], capture_output=True,
                          input=given.encode() if isinstance(given, str) else given, env=ENVIRONMENT)
    out = (done.stdout + done.stderr).decode("utf-8", "replace")
    assert status in (None, done.returncode), f"status {done.returncode} of {arguments}: {out}"
    return out


def own_the_terminal():
    """In the child, which has a new session: makes Ctrl-C in this terminal a signal to it."""
    die_with_parent()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Terminal:
    """redis-cli in a terminal of 300 columns. `shown` is the output that no wait has matched."""

    def __init__(self, daemon, *arguments):
        self.prompt = "redis " + daemon.path
        self.shown = ""
        self.screen, end = pty.openpty()
        fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 300, 0, 0))
        self.process = subprocess.Popen(
            ["redis-cli", "-s", daemon.path, *arguments], stdin=end, stdout=end, stderr=end,
            env=ENVIRONMENT, start_new_session=True, preexec_fn=own_the_terminal)
        os.close(end)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.screen)

    def more(self):
        assert select.select([self.screen], [], [], REPLY_SECONDS)[0], f"nothing after {self.shown!r}"
        try:
            data = os.read(self.screen, 1 << 16)
        except OSError:  # EIO: the other end is closed
            data = b""
        self.shown += data.decode("utf-8", "replace")
        return data

    def wait(self, pattern):
        """Waits for output that matches; removes everything up to the end of the match."""
        while True:
            match = re.search(pattern, self.shown, re.M)
            if match:
                self.shown = self.shown[match.end():]
                return match
            assert self.more(), f"redis-cli ended before {pattern!r}: {self.shown!r}"

    def type(self, line, state=""):
        """Types the line at the next prompt, because redis-cli drops what is typed earlier."""
        self.wait("(?:%s|not connected)> " % re.escape(self.prompt + state))
        os.write(self.screen, line.encode() + b"\r")
        # The line is drawn again with each key; the reply is below it.
        self.wait(r"\x1b\[\d+C\r\n")

    def interrupt(self):
        os.write(self.screen, b"\x03")

    def rest(self):
        """All output until redis-cli ends."""
        while self.more():
            pass
        return self.shown

    def end(self):
        """Sends Ctrl-C, which ends modes that otherwise run forever."""
        self.interrupt()
        self.rest()
        equal(self.process.wait(), -signal.SIGINT)
