/* expiry_why: EXPIRY WHY: who set the deadline of a key or member, and what ended it. */
#ifndef SERVER_ADMIN_EXPIRY_WHY_H
#define SERVER_ADMIN_EXPIRY_WHY_H

struct call;

#define EXPIRY_WHY_REPLY                                                                           \
    "map['state' 'live'|'overdue'|'missing' 'deadline' integer|null 'db' integer 'hash' bulk "     \
    "'since' integer 'shared' integer 'records' [map['what' bulk 'at' integer 'deadline' "         \
    "integer|null 'before' integer|null 'late-ms' integer|null 'by' bulk 'policy' bulk|null "      \
    "'option' bulk|null 'command' bulk|null 'script' integer 'client-id' integer|null "            \
    "'client-name' bulk|null 'user' bulk|null 'memory' integer|null 'to-db' integer|null "         \
    "'to-hash' bulk|null] ...]]: the state and the deadline of the key or member ('overdue': a "   \
    "key only), and what is recorded of it, newest first; 'before' is null if there was none or "  \
    "it is not known"

void cmd_expiry_why(struct call *call);

#endif
