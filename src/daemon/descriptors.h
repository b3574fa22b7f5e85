/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptor sets that a start uses, and the types that the bootstrap file names. */
#ifndef UDPAI_DAEMON_DESCRIPTORS_H
#define UDPAI_DAEMON_DESCRIPTORS_H

#include "codec/schema.h"
#include "daemon/diagnostics.h"
#include "daemon/options.h"
#include "udpa/config/v1/bootstrap.pb-c.h"

/* Adds those of the command line, else those of the file, else Envoy's if they are where they are
 * built or installed; then warns of types that are in none of them. */
void udpai_descriptors_load(udpai_schema *schema,
                            const Udpa__Config__V1__Bootstrap *message,
                            const udpai_options *options,
                            udpai_diagnostics *diagnostics);

#endif
