/* Folder proto/resp: the clients' protocol. resp_read parses requests. resp_write writes
 * replies, to a connection's output or to a sink inside the server (scripts, the module).
 * resp_reply parses replies, for tests and tools. Knows neither commands nor sockets. Start with
 * resp_write.h, which commands use, then this header.
 *
 * May use: store/base store/mem. */
