/* error: every error text, once. %s and %.*s are filled by failf. Texts are Redis 7.0's to the
 * letter where Redis has them. */
#ifndef SERVER_ERROR_H
#define SERVER_ERROR_H

#define ERROR_LIST(E)                                                                              \
    E(ERR_WRONGTYPE, "WRONGTYPE Operation against a key holding the wrong kind of value")          \
    E(ERR_SYNTAX, "ERR syntax error")                                                              \
    E(ERR_NOT_INTEGER, "ERR value is not an integer or out of range")                              \
    E(ERR_NOT_FLOAT, "ERR value is not a valid float")                                             \
    E(ERR_NOT_POSITIVE, "ERR value is out of range, must be positive")                             \
    E(ERR_NO_KEY, "ERR no such key")                                                               \
    E(ERR_INDEX, "ERR index out of range")                                                         \
    E(ERR_ARITY, "ERR wrong number of arguments for '%s' command")                                 \
    E(ERR_UNKNOWN_COMMAND, "ERR unknown command '%.128s', with args beginning with: %s")           \
    E(ERR_UNKNOWN_SUBCOMMAND, "ERR unknown subcommand '%.128s'. Try %s HELP.")                     \
    E(ERR_BAD_EXPIRE, "ERR invalid expire time in '%s' command")                                   \
    E(ERR_INCR_OVERFLOW, "ERR increment or decrement would overflow")                              \
    E(ERR_DECR_OVERFLOW, "ERR decrement would overflow")                                           \
    E(ERR_INCR_NAN, "ERR increment would produce NaN or Infinity")                                 \
    E(ERR_HASH_NOT_INTEGER, "ERR hash value is not an integer")                                    \
    E(ERR_STRING_TOO_BIG, "ERR string exceeds maximum allowed size (proto-max-bulk-len)")          \
    E(ERR_SCORE_NAN, "ERR resulting score is not a number (NaN)")                                  \
    E(ERR_NX_XX_GT_LT, "ERR NX and XX, GT or LT options at the same time are not compatible")      \
    E(ERR_EXPIRE_GT_LT, "ERR GT and LT options at the same time are not compatible")               \
    E(ERR_EXPIRE_OPTION, "ERR Unsupported option %.*s")                                            \
    E(ERR_ZADD_XX_NX, "ERR XX and NX options at the same time are not compatible")                 \
    E(ERR_ZADD_GT_LT_NX, "ERR GT, LT, and/or NX options at the same time are not compatible")      \
    E(ERR_ZADD_INCR_PAIR, "ERR INCR option supports a single increment-element pair")              \
    E(ERR_MIN_MAX_FLOAT, "ERR min or max is not a float")                                          \
    E(ERR_MIN_MAX_LEX, "ERR min or max not valid string range item")                               \
    E(ERR_LIMIT_ALONE,                                                                             \
      "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX")     \
    E(ERR_WITHSCORES_LEX, "ERR syntax error, WITHSCORES not supported in combination with BYLEX")  \
    E(ERR_INT_RANGE, "ERR value is out of range, value must between -2147483648 and 2147483647")   \
    E(ERR_DB_INDEX, "ERR DB index is out of range")                                                \
    E(ERR_INVALID_DB, "ERR invalid DB index")                                                      \
    E(ERR_INVALID_CURSOR, "ERR invalid cursor")                                                    \
    E(ERR_NO_LFU,                                                                                  \
      "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note "    \
      "that when switching between policies at runtime LRU and LFU data will take some time to "   \
      "adjust.")                                                                                   \
    E(ERR_NOAUTH, "NOAUTH Authentication required.")                                               \
    E(ERR_WRONGPASS, "WRONGPASS invalid username-password pair or user is disabled.")              \
    E(ERR_NO_PASSWORD,                                                                             \
      "ERR AUTH <password> called without any password configured for the default user. "          \
      "Are you sure your configuration is correct?")                                               \
    E(ERR_NOPROTO, "NOPROTO unsupported protocol version")                                         \
    E(ERR_HELLO_NOAUTH,                                                                            \
      "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO "    \
      "<proto> AUTH <user> <pass> option can be used to authenticate the client and select the "   \
      "RESP protocol version at the same time")                                                    \
    E(ERR_PROTOVER, "ERR Protocol version is not an integer or out of range")                      \
    E(ERR_CLIENT_NAME, "ERR Client names cannot contain spaces, newlines or special characters.")  \
    E(ERR_HELLO_OPTION, "ERR Syntax error in HELLO option '%.*s'")                                 \
    E(ERR_SETINFO_OPTION, "ERR Unrecognized option '%.*s'")                                        \
    E(ERR_SETINFO_VALUE, "ERR %s cannot contain spaces, newlines or special characters.")          \
    E(ERR_CLIENT_TYPE, "ERR Unknown client type '%.*s'")                                           \
    E(ERR_CLIENT_ID, "ERR Invalid client ID")                                                      \
    E(ERR_CLIENT_ID_RANGE, "ERR client-id should be greater than 0")                               \
    E(ERR_NO_SUCH_USER, "ERR No such user '%.*s'")                                                 \
    E(ERR_CONFIG_UNKNOWN, "ERR Unknown option or number of arguments for CONFIG SET - '%.*s'")     \
    E(ERR_CONFIG_SET, "ERR CONFIG SET failed (possibly related to argument '%s') - %s")            \
    E(ERR_CONFIG_NO_FILE, "ERR The server is running without a config file")                       \
    E(ERR_CONFIG_REWRITE, "ERR Rewriting config file: %s")                                         \
    E(ERR_NO_SAVE, "ERR data is kept in memory only: there is nothing to SAVE to")                 \
    E(ERR_NO_SHUTDOWN, "ERR No shutdown in progress.")                                             \
    E(ERR_DEBUG_DISABLED,                                                                          \
      "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", "    \
      "you "                                                                                       \
      "can run it from a local connection, otherwise you need to set this option in the "          \
      "configuration file, and then restart the server.")                                          \
    E(ERR_SUBCOMMAND_OR_ARITY,                                                                     \
      "ERR unknown subcommand or wrong number of arguments for '%.*s'. Try %s HELP.")              \
    E(ERR_COMMAND_INVALID, "ERR Invalid command specified")                                        \
    E(ERR_COMMAND_ARITY, "ERR Invalid number of arguments specified for command")                  \
    E(ERR_COMMAND_NO_KEYS, "ERR The command has no key arguments")                                 \
    E(ERR_COMMAND_KEYS, "ERR Invalid arguments specified for command")                             \
    E(ERR_NO_SUCH_CLIENT, "ERR No such client")                                                    \
    E(ERR_OOM, "OOM command not allowed when used memory > 'maxmemory'.")                          \
    E(ERR_SUBSCRIBED,                                                                              \
      "ERR Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are "  \
      "allowed in this context")                                                                   \
    E(ERR_MULTI_NESTED, "ERR MULTI calls can not be nested")                                       \
    E(ERR_WATCH_IN_MULTI, "ERR WATCH inside MULTI is not allowed")                                 \
    E(ERR_EXEC_ALONE, "ERR EXEC without MULTI")                                                    \
    E(ERR_DISCARD_ALONE, "ERR DISCARD without MULTI")                                              \
    E(ERR_EXECABORT, "EXECABORT Transaction discarded because of previous errors.")                \
    E(ERR_EXEC_REFUSED, "EXECABORT Transaction discarded because of: %s")                          \
    E(ERR_NO_MULTI, "ERR Command not allowed inside a transaction")                                \
    E(ERR_DEHYDRATING, "ERROR: Element already dehydrating.")                                      \
    E(ERR_NO_DEHYDRATOR, "ERROR: No Such dehydrator.")                                             \
    E(ERR_NO_ELEMENT, "ERROR: No Such Element.")                                                   \
    E(ERR_BAD_TTL, "ERR ttl is not an integer or out of range")

enum error {
#define E(id, text) id,
    ERROR_LIST(E)
#undef E
        ERROR_COUNT
};

struct call;

const char *error_text(enum error error); /* the text, or the format */
void fail(struct call *call, enum error error);
/* With the values that the text asks for. Whatever a client sent is cleaned on its way out. */
void failf(struct call *call, enum error error, ...);
/* "invalid expire time in 'set' command" and the like: the text's one %s is the command's name. */
void fail_named(struct call *call, enum error error);

#endif
