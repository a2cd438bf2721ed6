#!/usr/bin/python3 -B
"""Commands that Redis 7.0 lacks reply here as today's Valkey does."""
import sys

sys.path.insert(1, sys.path[0] + "/../lib")
sys.path.insert(2, sys.path[0] + "/../e2e/commands")
from daemon import equal, main, own
from newest import VALKEY, newest
import later_options
from client_filters import Crowd
from string_conditions import differing


@own
def replies_to_conditional_writes_are_those_of_valkey():
    with newest(VALKEY) as server, server.raw() as raw:
        equal(differing(raw), [])


@own
def client_filters_select_as_in_valkey():
    with newest(VALKEY, tcp=True) as server, Crowd(server) as crowd:
        equal(crowd.differing(), [])


@own
def later_options_reply_as_in_valkey():
    with newest(VALKEY) as server, server.raw() as raw:
        equal(later_options.differing(raw), [])


main()
