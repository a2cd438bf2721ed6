/* page_files: see page_files.h. The Makefile builds this file without link-time optimization, which
 * can't see symbols that the assembler defines. */
#include "server/http/page_files.h"

#include "server/http/page_bytes.h"

#define EMBED(symbol, file)                                                                        \
    __asm__(".pushsection .rodata\n"                                                               \
            ".global " symbol "\n" symbol ":\n"                                                    \
            ".incbin \"server/http/page/" file "\"\n"                                              \
            ".global " symbol "_end\n" symbol "_end:\n"                                            \
            ".byte 0\n"                                                                            \
            ".popsection\n")

EMBED("page_html", "index.html");
EMBED("page_css", "page.css");
EMBED("page_js", "page.js");
EMBED("page_icon", "icon.svg");

static const struct {
    const char *path, *type, *begin, *end;
} files[] = {
    { "/", "text/html; charset=utf-8", page_html, page_html_end },
    { "/page.css", "text/css; charset=utf-8", page_css, page_css_end },
    { "/page.js", "text/javascript; charset=utf-8", page_js, page_js_end },
    { "/icon.svg", "image/svg+xml", page_icon, page_icon_end },
};

bool page_file_find(struct bytes path, struct page_file *file)
{
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        if (!bytes_equal(path, bytes_of(files[i].path, strlen(files[i].path)))) continue;
        size_t len = (size_t)(files[i].end - files[i].begin);
        *file = (struct page_file){ files[i].type, bytes_of(files[i].begin, len) };
        return true;
    }
    return false;
}
