/* Folder server/disk/effect: converts effects to canonical commands and back. The journal,
 * snapshots, replicas and the module all use this text. effect_brief is a shorter form of some, for
 * journals; request parses the commands of a file;
 * effect_pack makes commands short for DUMP; library_header handles the words of libraries. Tools
 * link it. Start with effect_text.h; store/txn/effect_rows.c has the words of each kind of effect.
 *
 * May use: proto/resp store/. */
