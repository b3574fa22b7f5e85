/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that offer the load of their clusters although nobody subscribes to it. Pure. */
#ifndef UDPAI_CTL_LOAD_HINT_H
#define UDPAI_CTL_LOAD_HINT_H

#include <udpa/resource.h>

#include "base/strbuf.h"

/* Of these resources those of type SessionStatus count; prints nothing if there is no such client.
 */
void udpai_ctl_put_load_hint(udpai_strbuf *out, udpa_resource *const *resources, size_t n);

#endif
