/* SPDX-License-Identifier: Apache-2.0 */
/* The times of a bootstrap file: what they may be, and where they go. */
#ifndef UDPAI_TIMING_H
#define UDPAI_TIMING_H

#include "daemon/diagnostics.h"
#include "endpoint/endpoint.h"
#include "udpa/config/v1/bootstrap.pb-c.h"

/* @p timing may be NULL. What was found wrong stays at its default. */
void udpai_timing_check(const Udpa__Config__V1__Timing *timing, udpai_diagnostics *diagnostics);
void udpai_timing_set(udpai_endpoint_settings *settings, const Udpa__Config__V1__Timing *timing);

#endif
