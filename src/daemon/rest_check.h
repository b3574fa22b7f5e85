/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes in ConfigSources of kind rest, and in what they are named for. */
#ifndef UDPAI_DAEMON_REST_CHECK_H
#define UDPAI_DAEMON_REST_CHECK_H

#include "daemon/diagnostics.h"
#include "udpa/config/v1/bootstrap.pb-c.h"

/* Times that cannot be; @p path is that of the message. */
void udpai_rest_check_times(const Udpa__Config__V1__RestSource *source,
                            const char *path,
                            udpai_diagnostics *diagnostics);
/* Types that no such server can be asked for. */
void udpai_rest_check_types(const Udpa__Config__V1__Bootstrap *message,
                            udpai_diagnostics *diagnostics);

#endif
