/* Folder proto/resp: the protocol of clients. Start with resp_write.h, which commands use, then
 * resp_read.h.
 *
 *     resp_read     parses requests
 *     resp_write    writes replies, to a connection's output or to a sink inside the server
 *     resp_reply    parses replies, and defines the nodes that a sink receives
 *
 * Sinks are in scripts and in the module. No file here knows commands or sockets.
 *
 * May use: store/base store/mem. */
