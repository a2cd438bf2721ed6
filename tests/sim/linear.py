"""linear: is the history of one register linearizable? The search of Wing and Gong, with the memory of
visited states that Lowe added ("Testing for linearizability", 2017).

An operation is (call, reply, kind, argument, result): instants, and what was asked and answered. `reply`
is infinite for an operation without an answer, which may take effect at any later time, or never.
"""
import math

FOREVER = math.inf


def apply(state, kind, argument, result, known):
    """(possible, next state) of one operation at this state."""
    if kind == "read":
        return not known or state == result, state
    if kind == "write":
        return True, argument
    if kind == "append":
        text = (state or "") + argument
        return not known or result == len(text), text
    if kind == "swap":
        old, new = argument
        if known and result != (state == old):
            return False, state
        return True, new if state == old else state
    if kind == "take":  # GETDEL
        return not known or state == result, None
    raise ValueError(kind)


STEPS = 200_000  # then a history is left undecided


def is_linearizable(operations, state=None):
    """None: undecided, because the search takes too long."""
    # A read without an answer says nothing.
    operations = sorted((one for one in operations if one[1] != FOREVER or one[2] != "read"),
                        key=lambda operation: operation[0])
    count = len(operations)
    whole = sum(1 << i for i, one in enumerate(operations) if one[1] != FOREVER)
    seen = set()
    stack = [(0, state)]
    while stack:
        done, state = stack.pop()
        if done & whole == whole:
            return True
        if (done, state) in seen:
            continue
        seen.add((done, state))
        if len(seen) > STEPS:
            return None
        first_reply = min(operations[i][1] for i in range(count) if not done >> i & 1)
        for i in range(count):
            call, reply, kind, argument, result = operations[i]
            if done >> i & 1:
                continue
            if call > first_reply:
                break
            possible, after = apply(state, kind, argument, result, reply != FOREVER)
            if possible:
                stack.append((done | 1 << i, after))
    return False
