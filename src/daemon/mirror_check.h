/* SPDX-License-Identifier: Apache-2.0 */
/* Where a mirror of an xDS server cannot know what to ask for. */
#ifndef UDPAI_MIRROR_CHECK_H
#define UDPAI_MIRROR_CHECK_H

#include "daemon/fields.h"

/* Warns of types of this provider that its sources are asked for without names, although few
 * servers have a wildcard for them. */
void udpai_mirror_check(const udpai_value *provider);

#endif
