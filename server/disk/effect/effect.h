/* Folder server/disk/effect: converts effects to canonical commands and back. Start with
 * effect_text.h; store/txn/effect_rows.c lists the words of each kind of effect.
 *
 * Journals, snapshots, full copies, replicas and the module use these commands. Journals also write
 * the most frequent effects in a shorter form, effect_brief. request parses the commands of a file;
 * effect_pack makes commands short for DUMP; library_header parses the first line of a function
 * library. Tools link this folder.
 *
 * May use: proto/resp store/. */
