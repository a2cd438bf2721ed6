"""waits: which commands may wait in the server, and which take something, so that a client must not send them twice.

A client that gives up on a command, or loses the connection, does not know whether the server ran it. Most clients send
it again. If the command removes what it replies, each repetition loses an element.
"""
import dataclasses

# These reply what they remove, or grant, without waiting.
TAKES = {"HGETDEL", "LMOVEM", "REDE.POLL", "REDE.PULL", "REDE.XACK"}
MILLISECONDS = {"GETFRESH", "WAITAOF"}  # those whose wait is not in seconds


@dataclasses.dataclass
class Wait:
    parameter: str  # its name, as arguments.py makes it
    unit: int  # a second in the unit of the argument; 0 is for ever in any


def wait_of(row):
    """How a call says for how long the server may wait for something; None if it never does."""
    for argument in row["arguments"]:
        if argument.get("name") == "timeout" or argument.get("token") == "WAIT":
            unit = 1000 if row["name"] in MILLISECONDS else 1
            return Wait(argument.get("token", argument["name"]).lower(), unit)
    return None


def takes(row):
    return row["name"] in TAKES or wait_of(row) is not None
