/* Folder store/struct: data structures that know no type of Redis. dict is a hash table. agenda is
 * a heap of deadlines, deadlines the agenda of one collection, and expiring the members with
 * deadlines of a collection in either form. ranked is a B+ tree by score and member, with counts;
 * counted provides the inner nodes of other counted B+ trees, such as timeline, which is ordered by
 * deadline. packed keeps a few records in one allocation. Start with dict.h and agenda.h;
 * doc/deadlines.md compares the heap and the tree. Each structure checks itself (..._check), which
 * tests call after random steps. Pointers borrowed from a structure are valid until its next
 * change.
 *
 * May use: store/base store/mem. */
