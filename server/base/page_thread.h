/* page_thread: a thread that touches memory before it is used, so that no request waits until the
 * kernel, or a hypervisor below it, has found and cleared a huge page. Depends on slabs. One in a
 * process. */
#ifndef SERVER_BASE_PAGE_THREAD_H
#define SERVER_BASE_PAGE_THREAD_H

struct page_thread;

struct page_thread *page_thread_new(void); /* NULL with errno: memory is touched when it is used */
void page_thread_free(struct page_thread *thread);

#endif
