/* SPDX-License-Identifier: Apache-2.0 */
/* What the types of a bootstrap file cannot say: references, and fields that need each other. */
#ifndef UDPAI_BOOTSTRAP_CHECK_H
#define UDPAI_BOOTSTRAP_CHECK_H

#include "codec/convert.h"
#include "udpa/config/v1/bootstrap.pb-c.h"

/* Tells every mistake, with the place in @p source, which the message was made of. Returns UDPA_OK
 * if there is none. */
udpa_err udpai_bootstrap_check(const Udpa__Config__V1__Bootstrap *message,
                               const udpai_source *source,
                               udpai_mistake_fn mistake,
                               void *userdata);

#endif
