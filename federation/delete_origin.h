/* SPDX-License-Identifier: Apache-2.0 */
/* Deleting what a node has read that will not come back: for operators. */
#ifndef UDPAI_DELETE_ORIGIN_H
#define UDPAI_DELETE_ORIGIN_H

#include "federation/node.h"

typedef struct udpai_deletion {
    udpai_str node_id;  /* of the node that has read it */
    udpai_str type_url; /* empty: any */
    udpai_str prefix;   /* empty: any */
    bool is_dry_run;    /* it is only reported */
    const udpai_acl_subject
        *subject; /* the client, which takes the action ADMIN for each name; NULL: it has that */
    /* Of each, in order of names; an error gives the reason why it stays. */
    void (*notify)(void *userdata, const udpa_resource *resource, const udpa_error *kept);
    void *userdata;
} udpai_deletion;

/* Ends what that node has read from directories and servers of xDS or REST and this node holds by a
 * source, whatever its path, everywhere to where it is passed on. UDPA_ERR_PRECONDITION: it is this
 * node, or is connected, and would bring it again. UDPA_ERR_NOMEM: some of it may be removed. */
udpa_err
udpai_node_delete_origin(udpai_node *node, const udpai_deletion *deletion, udpa_error **ret_error);

#endif
