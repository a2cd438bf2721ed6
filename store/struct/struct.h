/* Folder store/struct: data structures that know no type of Redis. Start with dict.h and agenda.h;
 * doc/deadlines.md compares the heap and the tree of deadlines.
 *
 *     dict         a hash table
 *     agenda       a heap of deadlines
 *     timeline     a tree of deadlines, with counts
 *     deadlines    the agenda of one large collection
 *     expiring     the deadlines of one collection, small or large
 *     ranked       a B+ tree by score and member, with counts
 *     counted      the inner nodes of the other B+ trees with counts
 *     packed       a few records in one allocation
 *     turns        keys that take turns, each from an instant on
 *
 * Each structure checks itself (..._check), which tests call after random steps. Pointers borrowed
 * from a structure are valid until its next change.
 *
 * May use: store/base store/mem. */
