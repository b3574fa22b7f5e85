/* SPDX-License-Identifier: Apache-2.0 */
/* The section 'signatures' of a bootstrap file: can it be used, and is it of use? */
#ifndef UDPAI_SIGNATURES_CHECK_H
#define UDPAI_SIGNATURES_CHECK_H

#include "daemon/diagnostics.h"
#include "udpa/config/v1/bootstrap.pb-c.h"

void udpai_signatures_check(const Udpa__Config__V1__Bootstrap *message,
                            udpai_diagnostics *diagnostics);
/* Reads the keys. */
void udpai_signatures_check_files(const Udpa__Config__V1__Bootstrap *message,
                                  udpai_diagnostics *diagnostics);

/* With the defaults. */
int64_t udpai_signatures_validity_s(const Udpa__Config__V1__Signatures *signatures);
int64_t udpai_signatures_skew_s(const Udpa__Config__V1__Signatures *signatures);

#endif
