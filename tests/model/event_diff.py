"""event_diff: compares the events that a subscriber received with those of the model.

A command's events must be exactly the model's, in order. Events of expiry while no client read come
in the order of deadlines, over all keys and databases; at one instant, different keys come in any
order. If more than SLICE members of a key expire at once, one event may come more than once, with
other members each time.
"""
import re

SLICE = 64
EXPIRED = re.compile(rb"^[shz]expired$")
REMOVALS = (b"expired", b"sexpired", b"hexpired", b"zexpired", b"del")


class Message:
    """The parts of a message: kind of channel, database, event, key, and members."""

    def __init__(self, channel, text):
        self.channel, self.text = channel, text
        head, topic = channel.split(b"__:", 1)
        self.kind, self.db = head[2:].split(b"@")
        self.names, self.key = [], None
        if self.kind == b"keyspace":
            self.key, self.event = topic, text
        elif self.kind == b"keyevent":
            self.key, self.event = text, topic
        elif self.kind == b"subkeyspace":
            self.key = topic
            self.event, names = text.split(b"|", 1)
            self.names = names_of(names)
        elif self.kind == b"subkeyevent":
            self.event = topic
            (self.key, *_), names = names_of(text, 1), text
            self.names = names_of(names[len(b"%d:%s|" % (len(self.key), self.key)):])
        elif self.kind == b"subkeyspaceitem":
            self.event = text
            self.key, name = topic.split(b"\n", 1)
            self.names = [name]
        else:
            self.event, self.key = topic.split(b"|", 1)
            self.names = names_of(text)

    def atoms(self):
        """One tuple for each member."""
        about = (self.kind, self.db, self.event, self.key)
        return {about + (name,) for name in self.names} if self.names else {about}

    def sorted_form(self):
        """Equal for messages that differ only in the order of members."""
        return (self.kind, self.db, self.event, self.key, *sorted(self.names))

    def is_removal(self):
        return self.event in REMOVALS


def names_of(text, most=None):
    """Parses <length>:<name>[,...]; names may contain any bytes."""
    names = []
    while text and (most is None or len(names) < most):
        length, _, rest = text.partition(b":")
        names.append(rest[:int(length)])
        text = rest[int(length) + 1:]
    return names


def messages_of(records, flags):
    return [message for record in records for message in record.messages(flags)]


def shown(messages):
    return " ".join(f"({channel.decode('latin-1')} {text.decode('latin-1')})"
                    for channel, text in messages) or "nothing"


# --- of commands -----------------------------------------------------------------------------------

def of_commands(heard, records, flags):
    """The difference, or None."""
    at = 0
    for record in records:
        wanted = record.messages(flags)
        got = heard[at:at + len(wanted)]
        at += len(wanted)
        if got == wanted:
            continue
        if record.any_order and [Message(*one).kind for one in got] == \
                [Message(*one).kind for one in wanted] and \
                sorted(Message(*one).sorted_form() for one in got) == \
                sorted(Message(*one).sorted_form() for one in wanted):
            continue
        return f"heard {shown(got)}, wanted {shown(wanted)}"
    return f"heard too much: {shown(heard[at:])}" if heard[at:] else None


# --- of a policy that is applied to existing keys ----------------------------------------------------

def of_policy(heard, records, flags):
    """The difference, or None. Events may be in any order, and one of a key may come several times."""
    heard, wanted = ({atom for one in messages for atom in Message(*one).atoms()}
                     for messages in (heard, messages_of(records, flags)))
    if heard != wanted:
        return f"heard too {heard - wanted}, wanted too {wanted - heard}"
    return None


# --- of time ---------------------------------------------------------------------------------------

class Group:
    """Events of one key at one instant: stages, each a set of events in any order."""

    def __init__(self, records, flags, sliced):
        self.stages = []
        for record in records:
            messages = [Message(*one) for one in record.messages(flags)]
            if sliced and EXPIRED.match(record.event):
                self.stages.append({atom for message in messages for atom in message.atoms()})
                continue
            items = {message.sorted_form() for message in messages
                     if message.kind == b"subkeyspaceitem"}
            for message in messages:
                if message.kind != b"subkeyspaceitem":
                    self.stages.append({message.sorted_form()})
                elif items:
                    self.stages.append(items)
                    items = None

    def takes(self, message, sliced):
        if not self.stages:
            return False
        parts = message.atoms() if sliced and EXPIRED.match(message.event) \
            else {message.sorted_form()}
        if not parts <= self.stages[0]:
            return False
        self.stages[0] -= parts
        if not self.stages[0]:
            self.stages.pop(0)
        return True


def of_time(heard, groups, count, flags):
    """The difference, or None. groups and count are results of Dataset.step."""
    sliced = count >= SLICE
    instants, seen = [], set()
    for at, _, _, records in groups:
        if not instants or instants[-1][0] != at:
            instants.append((at, []))
        instants[-1][1].append(Group(records, flags, sliced))
    place = 0
    for message in (Message(*one) for one in heard):
        while place < len(instants) and not any(group.stages for group in instants[place][1]):
            place += 1
        if place < len(instants) and any(group.takes(message, sliced)
                                         for group in instants[place][1]):
            seen |= message.atoms()
            continue
        if sliced and not message.names and EXPIRED.match(message.event) and \
                message.atoms() <= seen:
            continue
        return f"heard {shown([(message.channel, message.text)])}, wanted at {instant_of(instants, place)}"
    left = [group.stages for _, groups in instants[place:] for group in groups if group.stages]
    return f"heard nothing of {left}" if left else None


def instant_of(instants, place):
    if place == len(instants):
        return "the end: nothing more"
    at, groups = instants[place]
    return f"{at} one of {[sorted(group.stages[0]) for group in groups if group.stages]}"


# --- of commands that come before the timer ------------------------------------------------------------

def of_both(heard, groups, records, flags, is_known):
    """The difference, or None. Overdue keys expire when a command accesses them: the commands' own
    events must be in order; those of expiry are compared as a set."""
    wanted = messages_of([record for group in groups for record in group[3]] + records, flags)
    heard, wanted = ([Message(*one) for one in messages] for messages in (heard, wanted))
    own = [[message.sorted_form() for message in messages if not message.is_removal()]
           for messages in (heard, wanted)]
    if own[0] != own[1]:
        return f"heard {own[0]}, wanted {own[1]}"
    if not is_known:
        return None
    whole = expired_keys(heard, groups)
    removals = [{atom for message in messages if message.is_removal()
                 and (message.db, message.key) not in whole for atom in message.atoms()}
                for messages in (heard, wanted)]
    if removals[0] != removals[1]:
        return f"removals: heard too {removals[0] - removals[1]}, wanted too {removals[1] - removals[0]}"
    return None


def expired_keys(heard, groups):
    """Keys that had expired when a command accessed them. Each has one event, and its members, which
    expired before it, have none."""
    ends = {(b"%d" % db, name) for _, db, name, records in groups
            if records[-1].event in (b"expired", b"del")}
    return {(message.db, message.key) for message in heard if message.event == b"expired"} & ends
