/* Folder server/disk/effect: converts effects to canonical commands and back. Journals, snapshots,
 * replicas and the module use this text; only journals write the most frequent effects in a shorter
 * form, effect_brief. request parses the commands of a file; effect_pack makes commands short for
 * DUMP; library_header handles the words of libraries. Tools link this folder. Start with
 * effect_text.h; store/txn/effect_rows.c lists the words of each kind of effect.
 *
 * May use: proto/resp store/. */
