/* Folder server/daemon: the only folder that sees all parts of the server. wiring makes, connects
 * and frees the parts. turn orders the work in a turn of the loop. lifecycle starts and stops the
 * daemon, applies changed options and reacts to signals. reopen applies changed ports, addresses
 * and dir, reload applies a changed configuration file, check implements --check-config, supervisor
 * and status report to systemd. server/main.c parses the command line and calls wiring and
 * lifecycle. Start with turn.c: run_turn shows the order of work in a turn.
 *
 * May use: conf proto/resp server/engine/acl server/base server/cmd/call server/cmd/
 * server/engine/observe server/disk server/engine/react server/replica server/engine server/net
 * server/http server/script server/net/tls server/admin/ store/. */
