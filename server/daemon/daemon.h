/* Folder server/daemon: the only folder that sees all parts of the server. Start with turn.c:
 * run_turn shows the order of work in a turn.
 *
 *     wiring        makes, connects and frees the parts
 *     parts         the struct that holds them
 *     turn          orders the work in a turn of the loop
 *     lifecycle     starts and stops the daemon, applies changed options, reacts to signals
 *     reload        applies a changed configuration file
 *     reopen        applies changed ports, addresses and dir
 *     policy_lines  sets the policies of the configuration file
 *     check         implements --check-config
 *     supervisor    notifies systemd
 *     status        the line about the state that systemd shows
 *
 * server/main.c parses the command line and calls wiring and lifecycle.
 *
 * May use: conf proto/resp server/engine/acl server/base server/cmd/call server/cmd/
 * server/engine/observe server/disk server/engine/react server/replica server/engine server/net
 * server/http server/script server/net/tls server/admin/ store/. */
