"""process: what every test that starts servers needs of the system."""
import ctypes
import signal


def die_with_parent():
    """In the child: a test that is killed leaves no daemon behind."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
