/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the bootstrap file, put into use while the node runs. */
#ifndef UDPAI_ACL_RELOAD_H
#define UDPAI_ACL_RELOAD_H

#include "daemon/reload_target.h"

/* Puts the section 'acl' of a file in which nothing is wrong (NULL: it has none) into use, if it is
 * another than @p in_force (NULL: the plan's), which it becomes; and logs what came of it. With an
 * error the rules stay as they were. */
udpa_err udpai_acl_reload(const udpai_reload_target *target,
                          const Udpa__Config__V1__Acl *acl,
                          udpa_bytes **in_force,
                          udpa_error **ret_error);

#endif
