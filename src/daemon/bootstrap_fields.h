/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the bootstrap file itself, with rows that lead to all others. */
#ifndef UDPAI_DAEMON_BOOTSTRAP_FIELDS_H
#define UDPAI_DAEMON_BOOTSTRAP_FIELDS_H

#include "daemon/fields.h"

extern const udpai_section udpai_bootstrap_section;

/* Does a change of this field take effect when the file is read again? */
bool udpai_bootstrap_is_taken_over(const char *field);
/* The same of a field of a section that as a whole takes a restart. */
bool udpai_bootstrap_part_is_taken_over(const char *section, const char *field);

#endif
