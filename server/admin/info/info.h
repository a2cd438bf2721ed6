/* Folder server/admin/info: the sections of INFO, one file for each group of sections, and one
 * table of rows for each group of fields. A row is a field's name and the location of its figure;
 * the figure is counted by the part of the server that owns it. Start with report.h, then
 * info_stats.c. To add a field, add a row; doc/info.md lists the fields that Redis lacks or defines
 * differently.
 *
 * May use: conf proto/resp server/admin server/base server/cmd/call server/net
 * server/engine/observe server/disk server/engine/react server/replica server/replica/stream
 * server/engine server/script server/net/tls store/. */
