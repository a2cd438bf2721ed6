/* page_thread: a thread that touches memory before it is used. Otherwise a request would wait until
 * the kernel, or a hypervisor below it, has found and cleared a huge page. Depends on slabs. At
 * most one per process. */
#pragma once

struct page_thread;

/* Starts the thread. Returns NULL with errno on failure: memory is then touched when it is first
 * used. */
struct page_thread *page_thread_new(void);
void page_thread_free(struct page_thread *thread);
