/* Folder proto/resp: the protocol of clients. resp_read parses requests. resp_write writes replies,
 * either to a connection's output or to a sink inside the server (scripts, the module). resp_reply
 * parses replies and defines the nodes that a sink receives. No file here knows commands or
 * sockets. Start with resp_write.h, which commands use, then resp_read.h.
 *
 * May use: store/base store/mem. */
