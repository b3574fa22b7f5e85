/* SPDX-License-Identifier: Apache-2.0 */
/* The page /origins_delete: what a node that will not come back has read. */
#ifndef UDPAI_DAEMON_DELETE_PAGE_H
#define UDPAI_DAEMON_DELETE_PAGE_H

#include "base/strbuf.h"
#include "federation/delete_origin.h"

/* The form is NODE[&type=TYPE_URL][&namespace=NAME][&dry_run], percent-encoded. Writes a line for
 * each resource. UDPA_ERR_INVAL: it is no such form. */
udpa_err udpai_delete_page(udpai_node *node,
                           udpai_str form,
                           const udpai_acl_subject *subject,
                           udpai_strbuf *text,
                           udpa_error **ret_error);

#endif
