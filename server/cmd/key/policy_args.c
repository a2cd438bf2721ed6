/* policy_args: see policy_args.h. */
#include "server/cmd/key/policy_args.h"

#include <stdarg.h>
#include <stdio.h>

#include "server/cmd/call/error.h"
#include "store/policy/policy_words.h"

enum { SHOWN_MAX = 128 }; /* an error quotes this many bytes of a wrong word */

static void print(struct policy_refusal *refusal, enum error error, ...)
{
    va_list values;
    va_start(values, error);
    vsnprintf(refusal->text, sizeof(refusal->text), error_text(error), values);
    va_end(values);
}

bool policy_args_read(const struct bytes *words, size_t count, const struct policies *policies,
                      struct policy *policy, struct policy_refusal *refusal)
{
    struct policy_fault fault;
    if (policy_read(words, count, policies, policy, &fault)) return true;

    const char *name = fault.name, *word = fault.word.data;
    int shown = (int)(fault.word.len < SHOWN_MAX ? fault.word.len : SHOWN_MAX);
    switch (fault.error) {
    case POLICY_BAD_NAME: print(refusal, ERR_POLICY_NAME, shown, word, POLICY_NAME_MAX); break;
    case POLICY_EMPTY: print(refusal, ERR_POLICY_EMPTY, fault.text); break;
    case POLICY_UNKNOWN: print(refusal, ERR_POLICY_OPTION, shown, word); break;
    case POLICY_TWICE: print(refusal, ERR_POLICY_TWICE, name); break;
    case POLICY_NEEDS: print(refusal, ERR_POLICY_NEEDS, name, fault.text); break;
    case POLICY_BAD: print(refusal, ERR_POLICY_VALUE, name, shown, word, fault.text); break;
    case POLICY_BAD_KEY: print(refusal, ERR_POLICY_TARGET_NAME, name, POLICY_NAME_MAX); break;
    case POLICY_OWN_KEY: print(refusal, ERR_POLICY_OWN_TARGET); break;
    case POLICY_ALONE: print(refusal, ERR_POLICY_ALONE, name, fault.text); break;
    case POLICY_TTL_LONG: print(refusal, ERR_POLICY_TTL_MAXTTL); break;
    }
    return false;
}
