"""difference: the exception that stops a program when the two servers differ."""
import resp


class Difference(Exception):
    """At a step of the program, or in an event or the data after it."""

    def __init__(self, what, step, ours, theirs, signature=None):
        super().__init__(what)
        self.what, self.step, self.ours, self.theirs = what, step, ours, theirs
        # Failures with the same one are probably the same failure.
        self.signature = signature or (what, resp.class_of(ours), resp.class_of(theirs))
