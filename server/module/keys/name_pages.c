/* name_pages: see name_pages.h. Invariant: a page is in the list of its block size exactly while it
 * has room. */
#include "server/module/keys/name_pages.h"

#include <string.h>

#include "store/base/ensure.h"
#include "store/mem/mem.h"

enum { PAGE_BYTES = 4096 };

struct name_page {
    void *start; /* as the allocator returned it */
    struct name_page *next, *previous;
    uint16_t count; /* blocks in use */
    uint16_t freed; /* offset of the block freed last, or 0; that contains the offset of the next */
    uint16_t untouched; /* offset of the blocks that were never used */
};

static size_t rounded(size_t size)
{
    return (size + NAME_BLOCK_ALIGN - 1) / NAME_BLOCK_ALIGN * NAME_BLOCK_ALIGN;
}

static struct name_page **list_of(struct name_pages *pages, size_t block)
{
    return &pages->open[block / NAME_BLOCK_ALIGN - 1];
}

static void open_page(struct name_page **list, struct name_page *page)
{
    page->previous = NULL;
    page->next = *list;
    if (*list != NULL) (*list)->previous = page;
    *list = page;
}

static void close_page(struct name_page **list, struct name_page *page)
{
    if (page->next != NULL) page->next->previous = page->previous;
    if (page->previous != NULL)
        page->previous->next = page->next;
    else
        *list = page->next;
}

static struct name_page *page_of(void *address)
{
    return (struct name_page *)(void *)((char *)address - (uintptr_t)address % PAGE_BYTES);
}

static bool has_room(const struct name_page *page, size_t block)
{
    return page->freed != 0 || page->untouched + block <= PAGE_BYTES;
}

void *name_pages_alloc(struct name_pages *pages, size_t size)
{
    size_t block = rounded(size);
    if (block > NAME_BLOCK_MAX) {
        void *own = mem_alloc(size);
        pages->bytes += mem_size(own);
        return own;
    }
    struct name_page **list = list_of(pages, block);
    if (*list == NULL) {
        /* A page must be aligned to its size. If the allocator does not do that, the page is the
         * aligned part of a block of twice the size. */
        void *start = mem_alloc(PAGE_BYTES);
        if ((uintptr_t)start % PAGE_BYTES != 0) {
            mem_free(start);
            start = mem_alloc(2 * PAGE_BYTES);
        }
        struct name_page *opened = page_of((char *)start + PAGE_BYTES - 1);
        *opened = (struct name_page){ .start = start, .untouched = sizeof(*opened) };
        pages->bytes += mem_size(start);
        open_page(list, opened);
    }
    struct name_page *page = *list;
    char *taken;
    page->count++;
    if (page->freed == 0) {
        taken = (char *)page + page->untouched;
        page->untouched = (uint16_t)(page->untouched + block);
    } else {
        taken = (char *)page + page->freed;
        memcpy(&page->freed, taken, sizeof(page->freed));
    }
    if (!has_room(page, block)) close_page(list, page);
    return taken;
}

void name_pages_free(struct name_pages *pages, void *given, size_t size)
{
    size_t block = rounded(size);
    if (block > NAME_BLOCK_MAX) {
        pages->bytes -= mem_size(given);
        mem_free(given);
        return;
    }
    struct name_page **list = list_of(pages, block);
    struct name_page *page = page_of(given);
    ensure(page->count > 0, "a block of %zu bytes was freed twice", size);
    bool was_full = !has_room(page, block);
    memcpy(given, &page->freed, sizeof(page->freed));
    page->freed = (uint16_t)((char *)given - (char *)page);
    page->count--;
    if (was_full) open_page(list, page);
    if (page->count > 0) return;
    close_page(list, page);
    pages->bytes -= mem_size(page->start);
    mem_free(page->start);
}
