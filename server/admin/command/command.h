/* Folder server/admin/command: COMMAND and its subcommands, made from the rows of all commands.
 * syntax derives the arguments of COMMAND DOCS from a row's syntax line. Start with
 * command_commands.c.
 *
 * May use: conf proto/resp server/admin server/base server/cmd/call server/net
 * server/engine/observe server/disk server/engine/react server/engine store/. */
