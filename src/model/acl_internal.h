/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of an ACL, for the files acl*.c. */
#ifndef UDPAI_ACL_INTERNAL_H
#define UDPAI_ACL_INTERNAL_H

#include <stdatomic.h>

#include "model/acl.h"

struct udpai_acl {
    atomic_uint refs;
    udpai_acl_options options;
    bool knows_all;                       /* a rule is for all */
    _Alignas(udpai_acl_rule) char room[]; /* the tables, then the text */
};

/* acl_new.c: by its identities. */
bool udpai_acl_rule_is_for_all(const udpai_acl_rule *rule);

#endif
