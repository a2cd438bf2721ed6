/* reply_text: see reply_text.h. Writes RESP. */
#include "server/cmd/call/reply_text.h"

#include "store/mem/mem.h"

void reply_help(struct call *call, const char *const *lines, size_t count)
{
    resp_array(call->out, count + 2);
    for (size_t i = 0; i < count; i++)
        resp_status(call->out, lines[i]);
    resp_status(call->out, "HELP");
    resp_status(call->out, "    Prints this help.");
}

void reply_text(struct call *call, struct outbuf *text)
{
    size_t len = text->len;
    char *whole = mem_alloc(len + 1);
    outbuf_copy(text, whole);
    outbuf_drop(text);
    resp_verbatim(call->out, "txt", whole, len);
    mem_free(whole);
}

static void release_blob(void *blob)
{
    blob_free(blob);
}

void reply_big_bytes(struct call *call, struct bytes text)
{
    struct blob *blob = blob_share(text);
    if (blob != NULL)
        resp_bulk_shared(call->out, text.data, text.len, release_blob, blob);
    else
        resp_bulk(call->out, text.data, text.len);
}
