/* SPDX-License-Identifier: Apache-2.0 */
/* Where a mirror of an xDS server cannot know what to ask for. */
#ifndef UDPAI_MIRROR_CHECK_H
#define UDPAI_MIRROR_CHECK_H

#include "daemon/diagnostics.h"
#include "udpa/config/v1/bootstrap.pb-c.h"

/* Warns of types of this provider that its sources are asked for without names, although few
 * servers have a wildcard for them. @p path: of the provider. */
void udpai_mirror_check(const Udpa__Config__V1__Bootstrap *message,
                        const Udpa__Config__V1__Provider *provider,
                        const char *path,
                        udpai_diagnostics *diagnostics);

#endif
