/* SPDX-License-Identifier: Apache-2.0 */
/* The command line: what its values may be, alone and beside the bootstrap file. */
#ifndef UDPAI_OPTIONS_CHECK_H
#define UDPAI_OPTIONS_CHECK_H

#include "daemon/diagnostics.h"
#include "daemon/options.h"
#include "udpa/config/v1/bootstrap.pb-c.h"

/* Of the values alone: no file is looked at. */
void udpai_options_check(const udpai_options *options,
                         const Udpa__Config__V1__Bootstrap *message,
                         udpai_diagnostics *diagnostics);

#endif
