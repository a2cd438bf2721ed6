/* policy_lines: the `policy` lines of the configuration. Each has the arguments of a POLICY SET. */
#pragma once

struct txn;

/* For conf.policies_fault: returns the error of the first invalid line, in a static buffer, or
 * NULL. */
const char *policy_lines_fault(const char *lines);
/* Sets the policies of the lines, except those with an existing name. The lines must be valid. */
void policy_lines_set(struct txn *txn, const char *lines);
