/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of an ACL, for the files acl*.c. */
#ifndef UDPAI_ACL_INTERNAL_H
#define UDPAI_ACL_INTERNAL_H

#include <stdatomic.h>

#include "model/acl.h"

struct udpai_acl {
    atomic_uint refs;
    udpai_acl_options options;
    _Alignas(udpai_acl_rule) char room[]; /* the tables, then the text */
};

#endif
