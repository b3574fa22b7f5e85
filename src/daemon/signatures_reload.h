/* SPDX-License-Identifier: Apache-2.0 */
/* The keys and requirements of the bootstrap file, read again while the node runs. */
#ifndef UDPAI_SIGNATURES_RELOAD_H
#define UDPAI_SIGNATURES_RELOAD_H

#include "daemon/plan.h"

/* Puts the section 'signatures' of the file into use, with the files that it names, if there is
 * nothing wrong with any of them; and logs what came of it. What is wrong with the rest of the file
 * was told by udpai_acl_reload(). False: nothing has changed. */
bool udpai_signatures_reload(udpa_endpoint *endpoint,
                             const udpai_plan *plan,
                             udpai_schema *schema,
                             const char *config_file);

#endif
