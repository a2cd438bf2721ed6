/* page_bytes: the symbols at the beginning and end of each file of server/http/page/. page_files.c
 * makes the assembler include these files; no other file needs the symbols. */
#pragma once

extern const char page_html[], page_html_end[];
extern const char page_css[], page_css_end[];
extern const char page_js[], page_js_end[];
extern const char page_icon[], page_icon_end[];
