/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the bootstrap file, read again while the node runs. */
#ifndef UDPAI_ACL_RELOAD_H
#define UDPAI_ACL_RELOAD_H

#include "daemon/plan.h"

/* Borrowed. */
typedef struct udpai_acl_source {
    udpa_endpoint *endpoint;
    const udpai_plan *plan;
    udpai_schema *schema;
    const char *config_file;
} udpai_acl_source;

/* Puts the section 'acl' of the file into use, if there is nothing wrong with the file, and it is
 * another than @p in_force (NULL: the plan's), which it becomes; and logs what came of it. False:
 * the rules stay as they were. */
bool udpai_acl_reload(const udpai_acl_source *source, udpa_bytes **in_force);

#endif
