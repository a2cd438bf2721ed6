/* error: the texts of all errors, with the functions (in call.c) that reply with them. Where Redis
 * 7.0 has the error, the text is Redis'. Some texts are formats, which failf fills in. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define ERROR_LIST(E)                                                                              \
    E(ERR_WRONGTYPE, "WRONGTYPE Operation against a key holding the wrong kind of value")          \
    E(ERR_SYNTAX, "ERR syntax error")                                                              \
    /* For commands that Redis does not have: they begin like Redis' error. */                     \
    E(ERR_OPTION_UNKNOWN, "ERR syntax error: unknown option '%.*s'")                               \
    E(ERR_OPTION_NO_VALUE, "ERR syntax error: %.*s needs a value")                                 \
    E(ERR_OPTION_CONFLICT, "ERR syntax error: %.*s repeats or contradicts an option before it")    \
    E(ERR_NOT_INTEGER, "ERR value is not an integer or out of range")                              \
    E(ERR_NOT_FLOAT, "ERR value is not a valid float")                                             \
    E(ERR_NOT_POSITIVE, "ERR value is out of range, must be positive")                             \
    E(ERR_NO_KEY, "ERR no such key")                                                               \
    E(ERR_BUSYKEY, "BUSYKEY Target key name already exists.")                                      \
    E(ERR_RESTORE_TTL, "ERR Invalid TTL value, must be >= 0")                                      \
    E(ERR_RESTORE_IDLE, "ERR Invalid IDLETIME value, must be >= 0")                                \
    E(ERR_RESTORE_FREQ, "ERR Invalid FREQ value, must be >= 0 and <= 255")                         \
    E(ERR_PAYLOAD_FOREIGN, "ERR DUMP payload version or checksum are wrong")                       \
    E(ERR_PAYLOAD_DAMAGED, "ERR Bad data format")                                                  \
    E(ERR_PAYLOAD_MEMORY, "ERR Insufficient memory for the payload")                               \
    E(ERR_SAME_OBJECT, "ERR source and destination objects are the same")                          \
    E(ERR_SORT_SCORE, "ERR One or more scores can't be converted into double")                     \
    E(ERR_FIRST_DB, "ERR invalid first DB index")                                                  \
    E(ERR_SECOND_DB, "ERR invalid second DB index")                                                \
    E(ERR_TIMEOUT, "ERR timeout is not an integer or out of range")                                \
    E(ERR_TIMEOUT_NEGATIVE, "ERR timeout is negative")                                             \
    E(ERR_INDEX, "ERR index out of range")                                                         \
    E(ERR_ARITY, "ERR wrong number of arguments for '%s' command")                                 \
    E(ERR_UNKNOWN_COMMAND, "ERR unknown command '%.128s', with args beginning with: %s")           \
    E(ERR_UNKNOWN_SUBCOMMAND, "ERR unknown subcommand '%.128s'. Try %s HELP.")                     \
    E(ERR_BAD_EXPIRE, "ERR invalid expire time in '%s' command")                                   \
    E(ERR_SOFT_LATE, "ERR the soft deadline is after the deadline")                                \
    E(ERR_INCR_OVERFLOW, "ERR increment or decrement would overflow")                              \
    E(ERR_DECR_OVERFLOW, "ERR decrement would overflow")                                           \
    E(ERR_INCR_NAN, "ERR increment would produce NaN or Infinity")                                 \
    E(ERR_INCREX_ENX, "ERR ENX flag requires an expiration")                                       \
    E(ERR_INCREX_BYINT, "ERR Increment is not an integer or out of range")                         \
    E(ERR_INCREX_BYFLOAT, "ERR Increment is not a valid float")                                    \
    E(ERR_INCREX_LBOUND, "ERR LBOUND is not an integer or out of range")                           \
    E(ERR_INCREX_UBOUND, "ERR UBOUND is not an integer or out of range")                           \
    E(ERR_INCREX_LBOUND_FLOAT, "ERR LBOUND is not a valid float")                                  \
    E(ERR_INCREX_UBOUND_FLOAT, "ERR UBOUND is not a valid float")                                  \
    E(ERR_INCREX_BOUNDS, "ERR LBOUND can't be greater than UBOUND")                                \
    E(ERR_INCREX_INFINITE_BY, "ERR BYFLOAT increment cannot be Infinity")                          \
    E(ERR_INCREX_INFINITE_VALUE, "ERR value cannot be Infinity")                                   \
    E(ERR_INCREX_APPLIED, "ERR applied increment would overflow")                                  \
    E(ERR_INCREX_INFINITE_APPLIED, "ERR applied increment would be Infinity")                      \
    E(ERR_ZERO_RATE, "ERR zero rates are not supported")                                           \
    E(ERR_RATE_SPAN, "ERR the burst would take more than 200 years to refill")                     \
    E(ERR_WINDOW_LIMIT, "ERR limit must be 1 or more")                                             \
    E(ERR_WINDOW_SPAN, "ERR window is out of range, must be a positive span")                      \
    E(ERR_WINDOW_QUANTITY, "ERR quantity must be between 1 and the limit")                         \
    E(ERR_WINDOW_VALUE, "ERR the key's value was not made by CL.WINDOW")                           \
    E(ERR_HASH_NOT_INTEGER, "ERR hash value is not an integer")                                    \
    E(ERR_HASH_NOT_FLOAT, "ERR hash value is not a float")                                         \
    E(ERR_NAN_OR_INFINITY, "ERR value is NaN or Infinity")                                         \
    E(ERR_OUT_OF_RANGE, "ERR value is out of range")                                               \
    E(ERR_NOT_BETWEEN, "ERR value is out of range, value must between %lld and %lld")              \
    E(ERR_NUMKEYS, "ERR numkeys should be greater than 0")                                         \
    E(ERR_MSETEX_NUMKEYS, "ERR invalid numkeys value or out of range")                             \
    E(ERR_DIGEST_LENGTH, "ERR digest must be exactly 16 hexadecimal characters")                   \
    E(ERR_DELEX_CONDITION, "ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE")               \
    E(ERR_DELEX_TYPE, "ERR Key should be of string type if conditions are specified")              \
    E(ERR_NUMKEYS_ARGS, "ERR Number of keys can't be greater than number of args")                 \
    E(ERR_STRING_TOO_BIG, "ERR string exceeds maximum allowed size (proto-max-bulk-len)")          \
    E(ERR_OFFSET, "ERR offset is out of range")                                                    \
    E(ERR_BIT_OFFSET, "ERR bit offset is not an integer or out of range")                          \
    E(ERR_BIT_VALUE, "ERR bit is not an integer or out of range")                                  \
    E(ERR_BIT_SOUGHT, "ERR The bit argument must be 1 or 0.")                                      \
    E(ERR_BITOP_NOT, "ERR BITOP NOT must be called with a single source key.")                     \
    E(ERR_BITFIELD_TYPE,                                                                           \
      "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but "  \
      "i64 is.")                                                                                   \
    E(ERR_BITFIELD_OVERFLOW, "ERR Invalid OVERFLOW type specified")                                \
    E(ERR_BITFIELD_RO, "ERR BITFIELD_RO only supports the GET subcommand")                         \
    E(ERR_LCS_TYPE, "ERR The specified keys must contain string values")                           \
    E(ERR_LCS_LEN_IDX, "ERR If you want both the length and indexes, please just use IDX.")        \
    E(ERR_LCS_TOO_LONG, "ERR String too long for LCS")                                             \
    E(ERR_LCS_TOO_BIG,                                                                             \
      "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len")              \
    E(ERR_LCS_NO_MEMORY, "ERR Insufficient memory, failed allocating transient memory for LCS")    \
    E(ERR_HLL_INVALID, "WRONGTYPE Key is not a valid HyperLogLog string value.")                   \
    E(ERR_HLL_CORRUPT, "INVALIDOBJ Corrupted HLL object detected")                                 \
    E(ERR_HLL_NOT_SPARSE, "ERR HLL encoding is not sparse")                                        \
    E(ERR_PFDEBUG_NO_KEY, "ERR The specified key does not exist")                                  \
    E(ERR_PFDEBUG_SUBCOMMAND, "ERR Unknown PFDEBUG subcommand '%.*s'")                             \
    E(ERR_SCORE_NAN, "ERR resulting score is not a number (NaN)")                                  \
    E(ERR_NX_XX_GT_LT, "ERR NX and XX, GT or LT options at the same time are not compatible")      \
    E(ERR_EXPIRE_GT_LT, "ERR GT and LT options at the same time are not compatible")               \
    E(ERR_EXPIRE_OPTION, "ERR Unsupported option %.*s")                                            \
    E(ERR_KEYS_NEGATIVE, "ERR Number of keys can't be negative")                                   \
    E(ERR_NO_SCRIPT, "NOSCRIPT No matching script. Please use EVAL.")                              \
    E(ERR_KEYS_BAD, "ERR Bad number of keys provided")                                             \
    E(ERR_FUNCTION_MISSING, "ERR Function not found")                                              \
    E(ERR_FUNCTION_OPTION, "ERR Unknown option given: %.*s")                                       \
    E(ERR_FUNCTION_ARGUMENT, "ERR Unknown argument %.*s")                                          \
    E(ERR_FUNCTION_ARGUMENTS,                                                                      \
      "ERR unknown subcommand or wrong number of arguments for '%.*s'. Try FUNCTION HELP.")        \
    E(ERR_FUNCTION_NO_PATTERN, "ERR library name argument was not given")                          \
    E(ERR_FUNCTION_FLUSH, "ERR FUNCTION FLUSH only supports SYNC|ASYNC option")                    \
    E(ERR_FUNCTION_POLICY,                                                                         \
      "ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.")          \
    E(ERR_LIBRARY_MISSING, "ERR Library not found")                                                \
    E(ERR_PAYLOAD_WORDED, "ERR %s")                                                                \
    E(ERR_SCRIPT_FLUSH, "ERR SCRIPT FLUSH only support SYNC|ASYNC option")                         \
    E(ERR_SCRIPT_DEBUG, "ERR Use SCRIPT DEBUG YES/SYNC/NO")                                        \
    E(ERR_NO_DEBUGGER, "ERR the script debugger is not supported: SCRIPT DEBUG accepts only NO")   \
    E(ERR_BUSY_SCRIPT,                                                                             \
      "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.")    \
    E(ERR_BUSY_FUNCTION,                                                                           \
      "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.")  \
    E(ERR_UNKILLABLE,                                                                              \
      "UNKILLABLE Sorry the script already executed write commands against the dataset. You can "  \
      "either wait the script termination or kill the server in a hard way using the SHUTDOWN "    \
      "NOSAVE command.")                                                                           \
    E(ERR_NOT_BUSY, "NOTBUSY No scripts in execution right now.")                                  \
    E(ERR_SCRIPT_UNKNOWN, "ERR Unknown Redis command called from script")                          \
    E(ERR_SCRIPT_ARITY, "ERR Wrong number of args calling Redis command from script")              \
    E(ERR_NOT_FROM_SCRIPT, "ERR This Redis command is not allowed from script")                    \
    E(ERR_SCRIPT_NO_WRITES, "ERR Write commands are not allowed from read-only scripts.")          \
    E(ERR_SCRIPT_STALE, "ERR Can not execute the command on a stale replica")                      \
    E(ERR_SCRIPT_RO_COMMAND, "ERR Can not execute a script with write flag using *_ro command.")   \
    E(ERR_EXPIRE_NEGATIVE, "ERR invalid expire time, must be >= 0")                                \
    E(ERR_MEMBERS_KEYWORD, "ERR Mandatory argument %s is missing or not at the right position")    \
    E(ERR_MEMBERS_NONE, "ERR Parameter `%s` should be greater than 0")                             \
    E(ERR_MEMBERS_POSITIVE, "ERR Number of %s must be a positive integer")                         \
    E(ERR_MEMBERS_COUNT, "ERR The `%s` parameter must match the number of arguments")              \
    E(ERR_FIELDS_NUMBER, "ERR invalid number of fields")                                           \
    E(ERR_MEMBERS_TWICE, "ERR MEMBERS keyword specified multiple times")                           \
    E(ERR_MNX_MXX, "ERR Only one of MXX or MNX arguments can be specified")                        \
    E(ERR_FNX_FXX, "ERR Only one of FXX or FNX arguments can be specified")                        \
    E(ERR_NX_FNX_FXX, "ERR Only one of NX, FNX or FXX arguments can be specified")                 \
    E(ERR_ONE_LIFE, "ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified")    \
    E(ERR_ONE_DEADLINE, "ERR Only one of EX, PX, EXAT or PXAT arguments can be specified")         \
    E(ERR_NO_DEADLINE, "ERR missing EX, PX, EXAT or PXAT argument")                                \
    E(ERR_UNKNOWN_ARGUMENT, "ERR unknown argument: %.*s")                                          \
    E(ERR_SADDEX_ARGUMENT,                                                                         \
      "ERR unknown argument: %.*s, expected EX, PX, EXAT, PXAT, KEEPTTL or MEMBERS")               \
    E(ERR_ZADDEX_ARGUMENT,                                                                         \
      "ERR unknown argument: %.*s, expected EX, PX, EXAT, PXAT, KEEPTTL, NX, XX, GT, LT, CH or "   \
      "score member [score member ...]")                                                           \
    E(ERR_ZADDEX_PAIRS, "ERR expected score member [score member ...] after the options")          \
    E(ERR_MEMBER_UNIT, "ERR Invalid unit arg")                                                     \
    E(ERR_ZADD_XX_NX, "ERR XX and NX options at the same time are not compatible")                 \
    E(ERR_ZADD_GT_LT_NX, "ERR GT, LT, and/or NX options at the same time are not compatible")      \
    E(ERR_ZADD_INCR_PAIR, "ERR INCR option supports a single increment-element pair")              \
    E(ERR_MIN_MAX_FLOAT, "ERR min or max is not a float")                                          \
    E(ERR_MIN_MAX_LEX, "ERR min or max not valid string range item")                               \
    E(ERR_LIMIT_ALONE,                                                                             \
      "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX")     \
    E(ERR_WITHSCORES_LEX, "ERR syntax error, WITHSCORES not supported in combination with BYLEX")  \
    E(ERR_NO_INPUT_KEY, "ERR at least 1 input key is needed for '%s' command")                     \
    E(ERR_WEIGHT, "ERR weight value is not a float")                                               \
    E(ERR_LIMIT_NEGATIVE, "ERR LIMIT can't be negative")                                           \
    E(ERR_GEO_PAIR, "ERR invalid longitude,latitude pair %f,%f")                                   \
    E(ERR_GEO_UNIT, "ERR unsupported unit provided. please use M, KM, FT, MI")                     \
    E(ERR_GEO_RADIUS, "ERR need numeric radius")                                                   \
    E(ERR_GEO_RADIUS_NEGATIVE, "ERR radius cannot be negative")                                    \
    E(ERR_GEO_WIDTH, "ERR need numeric width")                                                     \
    E(ERR_GEO_HEIGHT, "ERR need numeric height")                                                   \
    E(ERR_GEO_BOX_NEGATIVE, "ERR height or width cannot be negative")                              \
    E(ERR_GEO_MEMBER, "ERR could not decode requested zset member")                                \
    E(ERR_GEO_COUNT, "ERR COUNT must be > 0")                                                      \
    E(ERR_GEO_ANY, "ERR the ANY argument requires COUNT argument")                                 \
    E(ERR_GEO_STORE_WITH,                                                                          \
      "ERR %s is not compatible with WITHDIST, WITHHASH and WITHCOORD options")                    \
    E(ERR_GEO_FROM, "ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for %.*s")       \
    E(ERR_GEO_BY, "ERR exactly one of BYRADIUS and BYBOX can be specified for %.*s")               \
    E(ERR_INT_RANGE, "ERR value is out of range, value must between -2147483648 and 2147483647")   \
    E(ERR_DB_INDEX, "ERR DB index is out of range")                                                \
    E(ERR_INVALID_DB, "ERR invalid DB index")                                                      \
    E(ERR_INVALID_CURSOR, "ERR invalid cursor")                                                    \
    E(ERR_NO_LRU,                                                                                  \
      "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when "     \
      "switching between policies at runtime LRU and LFU data will take some time to adjust.")     \
    E(ERR_NO_LFU,                                                                                  \
      "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note "    \
      "that when switching between policies at runtime LRU and LFU data will take some time to "   \
      "adjust.")                                                                                   \
    E(ERR_NOAUTH, "NOAUTH Authentication required.")                                               \
    E(ERR_NOPERM_COMMAND, "NOPERM this user has no permissions to run the '%s' command")           \
    E(ERR_NOPERM_KEY,                                                                              \
      "NOPERM this user has no permissions to access one of the keys used as arguments")           \
    E(ERR_NOPERM_CHANNEL,                                                                          \
      "NOPERM this user has no permissions to access one of the channels used as arguments")       \
    E(ERR_NOPERM_IN_EXEC,                                                                          \
      "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC " \
      "call. This command is no longer allowed for the following reason: %s")                      \
    E(ERR_SCRIPT_NOPERM_COMMAND,                                                                   \
      "ERR The user executing the script can't run this command or subcommand")                    \
    E(ERR_SCRIPT_NOPERM_KEY,                                                                       \
      "ERR The user executing the script can't access at least one of the keys mentioned in the "  \
      "command arguments")                                                                         \
    E(ERR_SCRIPT_NOPERM_CHANNEL,                                                                   \
      "ERR The user executing the script can't publish to the channel mentioned in the command")   \
    E(ERR_SORT_NOPERM, "ERR %s option of SORT denied due to insufficient ACL permissions.")        \
    E(ERR_ACL_USER_NAME, "ERR Usernames can't contain spaces or null characters")                  \
    E(ERR_ACL_UNMATCHED, "ERR Unmatched parenthesis in acl selector starting at '%.*s'.")          \
    E(ERR_ACL_RULE, "ERR Error in ACL SETUSER modifier '%.*s': %s")                                \
    E(ERR_ACL_KEEP_DEFAULT, "ERR The 'default' user cannot be removed")                            \
    E(ERR_ACL_CATEGORY, "ERR Unknown category '%.*s'")                                             \
    E(ERR_ACL_GENPASS,                                                                             \
      "ERR ACL GENPASS argument must be the number of bits for the output password, a positive "   \
      "number up to %d")                                                                           \
    E(ERR_ACL_NO_USER, "ERR User '%.*s' not found")                                                \
    E(ERR_ACL_NO_COMMAND, "ERR Command '%.*s' not found")                                          \
    E(ERR_ACL_FILE, "ERR %s")                                                                      \
    E(ERR_WRONGPASS, "WRONGPASS invalid username-password pair or user is disabled.")              \
    E(ERR_NO_PASSWORD,                                                                             \
      "ERR AUTH <password> called without any password configured for the default user. "          \
      "Are you sure your configuration is correct?")                                               \
    E(ERR_NOPROTO, "NOPROTO unsupported protocol version")                                         \
    E(ERR_HELLO_NOAUTH,                                                                            \
      "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO "    \
      "AUTH <user> <pass> option can be used to authenticate the client and select the "           \
      "RESP protocol version at the same time")                                                    \
    E(ERR_PROTOVER, "ERR Protocol version is not an integer or out of range")                      \
    E(ERR_CLIENT_NAME, "ERR Client names cannot contain spaces, newlines or special characters.")  \
    E(ERR_HELLO_OPTION, "ERR Syntax error in HELLO option '%.*s'")                                 \
    E(ERR_SETINFO_OPTION, "ERR Unrecognized option '%.*s'")                                        \
    E(ERR_SETINFO_VALUE, "ERR %s cannot contain spaces, newlines or special characters.")          \
    E(ERR_CLIENT_TYPE, "ERR Unknown client type '%.*s'")                                           \
    E(ERR_CLIENT_ID, "ERR Invalid client ID")                                                      \
    E(ERR_CLIENT_DB, "ERR DB is not an integer or out of range")                                   \
    E(ERR_CLIENT_DB_RANGE, "ERR DB number should be between 0 and %d")                             \
    E(ERR_CLIENT_SECONDS, "ERR %s should be greater than 0")                                       \
    E(ERR_CLIENT_FLAGS, "ERR Unknown flags found in the provided filter: %.*s")                    \
    E(ERR_CLIENT_CAPA, "ERR Unknown capa found in the provided filter: %.*s")                      \
    E(ERR_CLIENT_ID_RANGE, "ERR client-id should be greater than 0")                               \
    E(ERR_UNBLOCKED, "UNBLOCKED client unblocked via CLIENT UNBLOCK")                              \
    E(ERR_UNBLOCKED_BY_ROLE, "UNBLOCKED force unblock from blocking operation, instance state "    \
                             "changed (master -> replica?)")                                       \
    E(ERR_UNBLOCK_REASON, "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")                  \
    E(ERR_TIMEOUT_FLOAT, "ERR timeout is not a float or out of range")                             \
    E(ERR_COUNT_POSITIVE, "ERR count should be greater than 0")                                    \
    E(ERR_RANK_ZERO,                                                                               \
      "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use " \
      "negative to start from the end of the list")                                                \
    E(ERR_COUNT_NEGATIVE, "ERR COUNT can't be negative")                                           \
    E(ERR_MAXLEN_NEGATIVE, "ERR MAXLEN can't be negative")                                         \
    E(ERR_NO_SUCH_USER, "ERR No such user '%.*s'")                                                 \
    E(ERR_CONFIG_UNKNOWN, "ERR Unknown option or number of arguments for CONFIG SET - '%.*s'")     \
    E(ERR_CONFIG_SET, "ERR CONFIG SET failed (possibly related to argument '%s') - %s")            \
    E(ERR_CONFIG_NO_FILE, "ERR The server is running without a config file")                       \
    E(ERR_CONFIG_REWRITE, "ERR Rewriting config file: %s")                                         \
    E(ERR_NO_JOURNAL, "ERR CONFIG SET failed (possibly related to argument 'appendonly') - "       \
                      "Unable to turn on AOF. Check server logs.")                                 \
    E(ERR_SAVE_RUNS, "ERR Background save already in progress")                                    \
    E(ERR_SAVE_FAILED, "ERR can't write the snapshot. See the log for the reason")                 \
    E(ERR_SAVE_FOREIGN, "ERR the file dbfilename was not written by this server, so it is not "    \
                        "replaced. Set another dbfilename, or move the file away")                 \
    E(ERR_REWRITE_RUNS, "ERR Background append only file rewriting already in progress")           \
    E(ERR_REWRITE_FAILED, "ERR can't rewrite the journal. See the log for the reason")             \
    E(ERR_REWRITE_RUNS_SAVE,                                                                       \
      "ERR Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE SCHEDULE "   \
      "in order to schedule a BGSAVE whenever possible.")                                          \
    E(ERR_SHUTDOWN_FAILED, "ERR Errors trying to SHUTDOWN. Check logs.")                           \
    E(ERR_RELOAD_FAILED, "ERR Error trying to load the data: %s")                                  \
    E(ERR_SLOWLOG_COUNT, "ERR count should be greater than or equal to -1")                        \
    E(ERR_LATENCY_NO_SAMPLES, "ERR No samples available for event '%.*s'")                         \
    E(ERR_NO_SHUTDOWN, "ERR No shutdown in progress.")                                             \
    E(ERR_DEBUG_DISABLED,                                                                          \
      "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", "    \
      "you "                                                                                       \
      "can run it from a local connection, otherwise you need to set this option in the "          \
      "configuration file, and then restart the server.")                                          \
    E(ERR_CLOCK_REAL, "ERR the clock is real: only a server that was started with the option "     \
                      "clock stepped can move it")                                                 \
    E(ERR_CLOCK_BACK, "ERR the clock can't advance by a negative span, or past the latest time")   \
    E(ERR_SUBCOMMAND_OR_ARITY,                                                                     \
      "ERR unknown subcommand or wrong number of arguments for '%.*s'. Try %s HELP.")              \
    E(ERR_COMMAND_INVALID, "ERR Invalid command specified")                                        \
    E(ERR_COMMAND_ARITY, "ERR Invalid number of arguments specified for command")                  \
    E(ERR_COMMAND_NO_KEYS, "ERR The command has no key arguments")                                 \
    E(ERR_COMMAND_KEYS, "ERR Invalid arguments specified for command")                             \
    E(ERR_MONITOR_KEYS, "ERR Replica can't interact with the keyspace")                            \
    E(ERR_PAUSE_MODE, "ERR CLIENT PAUSE mode must be WRITE or ALL")                                \
    E(ERR_MONITOR_IN_MULTI, "ERR MONITOR isn't allowed for DENY BLOCKING client")                  \
    E(ERR_SSUBSCRIBE_IN_MULTI, "ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client")          \
    E(ERR_TRACKING_REDIRECTS, "ERR A client can only redirect to a single other client")           \
    E(ERR_TRACKING_NO_TARGET, "ERR The client ID you want redirect to does not exist")             \
    E(ERR_TRACKING_PREFIX_ALONE, "ERR PREFIX option requires BCAST mode to be enabled")            \
    E(ERR_TRACKING_SWITCH,                                                                         \
      "ERR You can't switch %s mode%s before disabling tracking for this client, and then "        \
      "re-enabling it with a different mode.")                                                     \
    E(ERR_TRACKING_OPT_BCAST, "ERR OPTIN and OPTOUT are not compatible with BCAST")                \
    E(ERR_TRACKING_BOTH_OPTS, "ERR You can't specify both OPTIN mode and OPTOUT mode")             \
    E(ERR_TRACKING_OVERLAP,                                                                        \
      "ERR Prefix '%.*s' overlaps with %s prefix '%.*s'. Prefixes for a single client must not "   \
      "overlap.")                                                                                  \
    E(ERR_CACHING_OFF,                                                                             \
      "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or "   \
      "OPTOUT mode enabled")                                                                       \
    E(ERR_CACHING_MODE,                                                                            \
      "ERR CLIENT CACHING %s is only valid when tracking is enabled in %s mode.")                  \
    E(ERR_NO_CLUSTER, "ERR This instance has cluster support disabled")                            \
    E(ERR_CLUSTER_EMULATED,                                                                        \
      "ERR The cluster is emulated by this one node, which owns all slots, and "                   \
      "can't be changed")                                                                          \
    E(ERR_CLUSTER_NODE, "ERR Unknown node %.*s")                                                   \
    E(ERR_SLOT, "ERR Invalid slot")                                                                \
    E(ERR_SLOT_OR_COUNT, "ERR Invalid slot or number of keys")                                     \
    E(ERR_CROSSSLOT, "CROSSSLOT Keys in request don't hash to the same slot")                      \
    E(ERR_PREFIX_SLOT, "CROSSSLOT The prefix needs a hash tag, as in {tag}:*")                     \
    E(ERR_NO_SUCH_CLIENT, "ERR No such client")                                                    \
    E(ERR_MISCONF, "MISCONF %s")                                                                   \
    E(ERR_NO_MASTER_LINK, "NOMASTERLINK Can't SYNC while not connected with my master")            \
    E(ERR_SYNC_PENDING, "ERR SYNC and PSYNC are invalid with pending output")                      \
    E(ERR_SYNC_FAILOVER, "NOMASTERLINK Can't SYNC while failing over")                             \
    E(ERR_REPLICAOF_FAILOVER, "ERR REPLICAOF not allowed while failing over.")                     \
    E(ERR_NO_FAILOVER, "ERR No failover in progress.")                                             \
    E(ERR_FAILOVER_TIMEOUT, "ERR FAILOVER timeout must be greater than 0")                         \
    E(ERR_FAILOVER_BUSY, "ERR FAILOVER already in progress.")                                      \
    E(ERR_FAILOVER_REPLICA, "ERR FAILOVER is not valid when server is a replica.")                 \
    E(ERR_FAILOVER_ALONE, "ERR FAILOVER requires connected replicas.")                             \
    E(ERR_FAILOVER_FORCE, "ERR FAILOVER with force option requires both a timeout and target "     \
                          "HOST and IP.")                                                          \
    E(ERR_FAILOVER_TARGET, "ERR FAILOVER target HOST and PORT is not a replica.")                  \
    E(ERR_FAILOVER_OFFLINE, "ERR FAILOVER target replica is not online.")                          \
    E(ERR_FAILOVER_MASTER, "ERR PSYNC FAILOVER can't be sent to a master.")                        \
    E(ERR_FAILOVER_ID, "ERR PSYNC FAILOVER replid must match my replid.")                          \
    E(ERR_REPLCONF_FILTER, "ERR Unsupported rdb-filter-only option: %.*s")                         \
    E(ERR_REPLCONF_ADDRESS, "ERR REPLCONF ip-address is not an address or a host name")            \
    E(ERR_REPLCONF, "ERR Unrecognized REPLCONF option: %.*s")                                      \
    E(ERR_REPLICAOF_REPLICA, "ERR Command is not valid when client is a replica.")                 \
    E(ERR_MASTER_PORT, "ERR Invalid master port")                                                  \
    E(ERR_MASTER_HOST, "ERR Invalid master host")                                                  \
    E(ERR_WAIT_ON_REPLICA,                                                                         \
      "ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if "  \
      "a replica is configured to be writable (which is not the default) writes to replicas are "  \
      "just local and are not propagated.")                                                        \
    E(ERR_WAITAOF_ON_REPLICA,                                                                      \
      "ERR WAITAOF cannot be used with replica instances. Please also note that writes to "        \
      "replicas are just local and are not propagated.")                                           \
    E(ERR_WAITAOF_LOCAL,                                                                           \
      "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.")               \
    E(ERR_REDIRECT, "REDIRECT %s")                                                                 \
    E(ERR_READONLY, "READONLY You can't write against a read only replica.")                       \
    E(ERR_NOREPLICAS, "NOREPLICAS Not enough good replicas to write.")                             \
    E(ERR_MASTERDOWN,                                                                              \
      "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.")          \
    E(ERR_LOADING, "LOADING Redis is loading the dataset in memory")                               \
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
    E(ERR_EXPIRY_WHY_OPTION, "ERR expected MEMBER and a member after the key")                     \
    E(ERR_EXPIRY_WHY_OFF, "ERR nothing is recorded: why-memory is 0, or was refused at the start") \
    E(ERR_EXPIRY_COUNT, "ERR count must be an integer from 1 to 1000")                             \
    E(ERR_DEHYDRATING, "ERROR: Element already dehydrating.")                                      \
    E(ERR_LEASE_TTL, "ERR the ttl is longer than lease-max-ttl (%lld ms)")                         \
    E(ERR_PERMITS, "ERR PERMITS must be between 1 and 1000000")                                    \
    E(ERR_OTHER_PERMITS, "ERR the key is held with PERMITS %lld")                                  \
    E(ERR_NO_TOKENS, "ERR no fencing tokens are left")                                             \
    E(ERR_LEASES_QUIET, "TRYAGAIN Leases may be held that this server has not seen. No lease is "  \
                        "granted for %lld ms")                                                     \
    E(ERR_NO_DEHYDRATOR, "ERROR: No Such dehydrator.")                                             \
    E(ERR_NO_ELEMENT, "ERROR: No Such Element.")                                                   \
    E(ERR_BAD_MSEC, "ERR %s is not an integer or out of range")                                    \
    E(ERR_PAUSE_PAST, "ERR unix-ms is in the past")                                                \
    E(ERR_PREFIX, "ERR the prefix must end with '*', and have no other")                           \
    E(ERR_FULL, "ERR the dehydrator is full")                                                      \
    E(ERR_CRON, "ERR CRON: %s")                                                                    \
    E(ERR_CRON_NEVER, "ERR CRON: the schedule does not run within 100 years")                      \
    E(ERR_CRON_COUNT, "ERR COUNT must be between 1 and 1000")                                      \
    E(ERR_NO_BACKOFF, "ERR no policy with BACKOFF applies to this key")                            \
    E(ERR_STREAM_ID, "ERR Invalid stream ID specified as stream command argument")                 \
    E(ERR_INTERVAL_START, "ERR invalid start ID for the interval")                                 \
    E(ERR_INTERVAL_END, "ERR invalid end ID for the interval")                                     \
    E(ERR_IDS_NUMBER, "ERR Number of IDs must be a positive integer")                              \
    E(ERR_IDS_COUNT, "ERR The `numids` parameter must match the number of arguments")              \
    E(ERR_XADD_ZERO, "ERR The ID specified in XADD must be greater than 0-0")                      \
    E(ERR_XADD_SMALL,                                                                              \
      "ERR The ID specified in XADD is equal or smaller than the target stream top item")          \
    E(ERR_XADD_LAST,                                                                               \
      "ERR The stream has exhausted the last possible ID, unable to add more items")               \
    E(ERR_XADD_LARGE, "ERR Elements are too large to be stored")                                   \
    E(ERR_TRIM_BOTH,                                                                               \
      "ERR syntax error, MAXLEN and MINID options at the same time are not compatible")            \
    E(ERR_TRIM_MAXLEN, "ERR The MAXLEN argument must be >= 0.")                                    \
    E(ERR_TRIM_LIMIT, "ERR The LIMIT argument must be >= 0.")                                      \
    E(ERR_TRIM_LIMIT_ALONE,                                                                        \
      "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy")             \
    E(ERR_TRIM_LIMIT_EXACT, "ERR syntax error, LIMIT cannot be used without the special ~ option") \
    E(ERR_TRIM_NONE, "ERR syntax error, XTRIM must be called with a trimming strategy")            \
    E(ERR_XSETID_NEGATIVE, "ERR entries_added must be positive")                                   \
    E(ERR_XSETID_DELETED,                                                                          \
      "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id")          \
    E(ERR_XSETID_SMALL,                                                                            \
      "ERR The ID specified in XSETID is smaller than the target stream top item")                 \
    E(ERR_XSETID_ADDED,                                                                            \
      "ERR The entries_added specified in XSETID is smaller than the target stream length")        \
    E(ERR_XREAD_UNBALANCED,                                                                        \
      "ERR Unbalanced XREAD list of streams: for each stream key an ID or '$' must be "            \
      "specified.")                                                                                \
    E(ERR_XREAD_SCRIPT, "ERR %.*s command is not allowed with BLOCK option from scripts")          \
    E(ERR_XREAD_GROUP,                                                                             \
      "ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead.")           \
    E(ERR_XREAD_NOACK,                                                                             \
      "ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead.")           \
    E(ERR_XREAD_CLAIM,                                                                             \
      "ERR The CLAIM option is only supported by XREADGROUP. You called XREAD instead.")           \
    E(ERR_XREAD_NEW,                                                                               \
      "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> "        \
      "<consumer> option.")                                                                        \
    E(ERR_XREADGROUP_MISSING, "ERR Missing GROUP option for XREADGROUP")                           \
    E(ERR_XREADGROUP_LAST,                                                                         \
      "ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the "            \
      "history of this consumer by specifying a proper ID, or use the > ID to get new "            \
      "messages. The $ ID would just return an empty result set.")                                 \
    E(ERR_XREADGROUP_NOGROUP,                                                                      \
      "NOGROUP No such key '%.*s' or consumer group '%.*s' in XREADGROUP with GROUP option")       \
    E(ERR_CLAIM_IDLE, "ERR min-idle-time is not an integer")                                       \
    E(ERR_IDMP_ID, "ERR IDMP/IDMPAUTO can be used only with auto-generated IDs")                   \
    E(ERR_IDMP_TWICE, "ERR IDMP/IDMPAUTO specified multiple times")                                \
    E(ERR_IDMP_PRODUCER, "ERR IDMP requires a non-empty producer ID")                              \
    E(ERR_IDMP_TEXT, "ERR IDMP requires a non-empty idempotent ID")                                \
    E(ERR_IDMPAUTO_PRODUCER, "ERR IDMPAUTO requires a non-empty producer ID")                      \
    E(ERR_XCFGSET_NONE, "ERR At least one parameter must be specified")                            \
    E(ERR_IDMP_DURATION, "ERR IDMP-DURATION must be between 1 and 86400 seconds")                  \
    E(ERR_IDMP_MAXSIZE, "ERR IDMP-MAXSIZE must be between 1 and 10000 entries")                    \
    E(ERR_MAXCOUNT, "ERR MAXCOUNT must be a positive integer")                                     \
    E(ERR_MAXCOUNT_COUNT, "ERR MAXCOUNT must be greater than or equal to COUNT")                   \
    E(ERR_MAXSIZE, "ERR MAXSIZE must be a positive integer")                                       \
    E(ERR_CLAIM_IDLE_NEGATIVE, "ERR min-idle-time must be a positive integer")                     \
    E(ERR_STREAM_GONE, "UNBLOCKED the stream key no longer exists")                                \
    E(ERR_GROUP_GONE, "NOGROUP the consumer group this client was blocked on no longer exists")    \
    E(ERR_NOGROUP, "NOGROUP No such key '%.*s' or consumer group '%.*s'")                          \
    E(ERR_NOGROUP_KEY, "NOGROUP No such consumer group '%.*s' for key name '%.*s'")                \
    E(ERR_BUSYGROUP, "BUSYGROUP Consumer Group name already exists")                               \
    E(ERR_XGROUP_KEY,                                                                              \
      "ERR The XGROUP subcommand requires the key to exist. Note that for CREATE you may "         \
      "want to use the MKSTREAM option to create an empty stream automatically.")                  \
    E(ERR_ENTRIESREAD, "ERR value for ENTRIESREAD must be positive or -1")                         \
    E(ERR_CLAIM_MIN_IDLE, "ERR Invalid min-idle-time argument for %s")                             \
    E(ERR_XCLAIM_OPTION, "ERR Invalid %s option argument for XCLAIM")                              \
    E(ERR_STREAM_OPTION, "ERR Unrecognized %s option '%.*s'")                                      \
    E(ERR_XAUTOCLAIM_COUNT, "ERR COUNT must be > 0")                                               \
    E(ERR_XNACK_MODE, "ERR mode must be SILENT, FAIL, or FATAL")                                   \
    E(ERR_XNACK_NO_IDS, "ERR syntax error, expected IDS keyword")                                  \
    E(ERR_XNACK_NUMIDS, "ERR numids must be a positive integer")                                   \
    E(ERR_XNACK_IDS, "ERR number of IDs doesn't match numids")                                     \
    E(ERR_XNACK_RETRYCOUNT, "ERR Invalid RETRYCOUNT value, must be >= 0")                          \
    E(ERR_XNACK_DELAY, "ERR Invalid DELAY value, must be >= 0 and not too far")                    \
    E(ERR_WORDED, "%s")                                                                            \
    E(ERR_POLICY_NAME,                                                                             \
      "ERR invalid policy name '%.*s': must be a key, or a prefix that ends with '*', of 1 to %d " \
      "bytes")                                                                                     \
    E(ERR_POLICY_EMPTY, "ERR a policy needs one of %s. POLICY DEL removes it")                     \
    E(ERR_POLICY_OPTION, "ERR unknown option '%.*s'")                                              \
    E(ERR_POLICY_TWICE, "ERR duplicate option %s")                                                 \
    E(ERR_POLICY_NEEDS, "ERR %s needs %s")                                                         \
    E(ERR_POLICY_VALUE, "ERR %s: '%.*s' is not %s")                                                \
    E(ERR_POLICY_TARGET_NAME, "ERR %s: the key after TO must have 1 to %d bytes")                  \
    E(ERR_POLICY_OWN_TARGET, "ERR a policy of one key can't write to that key")                    \
    E(ERR_POLICY_TARGET_TYPE,                                                                      \
      "ERR %s: key '%.*s' in database %u is a %s. It must be absent, or a %s")                     \
    E(ERR_POLICY_ALONE, "ERR %s requires %s")                                                      \
    E(ERR_POLICY_TTL_MAXTTL, "ERR TTL is longer than MAXTTL")

enum error {
#define E(id, text) id,
    ERROR_LIST(E)
#undef E
        ERROR_COUNT
};

struct call;

const char *error_text(enum error error); /* the text, or the format */
void error_reply(struct call *call, enum error error);
void error_reply_named(struct call *call, enum error error);
/* Reply with the error and return false, so that a parser can write `return ok || fail(...)`. fail
 * and fail_named are inline, so that the compiler knows the result. */
static inline bool fail(struct call *call, enum error error)
{
    error_reply(call, error);
    return false;
}
/* For functions that return nothing: if (fail_if(call, call->argc > 3, ERR_SYNTAX)) return; */
static inline bool fail_if(struct call *call, bool wrong, enum error error)
{
    return wrong && !fail(call, error);
}
/* Fills the text's only %s with the command's name: "invalid expire time in 'set' command". */
static inline bool fail_named(struct call *call, enum error error)
{
    error_reply_named(call, error);
    return false;
}
/* Replies with the error, whose text is the format for the other arguments. These may contain any
 * bytes from clients: control bytes are replaced when the reply is written. Cuts the line to 2047
 * bytes. */
bool failf(struct call *call, enum error error, ...);
/* Replies with a line that comes from elsewhere, such as a script; its first word is the error's
 * code. `counted`: the statistics already include this error, so it is not counted again. */
void fail_line(struct call *call, const char *line, size_t len, bool counted);
