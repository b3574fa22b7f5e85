/* SPDX-License-Identifier: Apache-2.0 */
/* Which addresses may be listened on without certificates: none beyond loopback. */
#ifndef UDPAI_EXPOSURE_H
#define UDPAI_EXPOSURE_H

#include "base/error.h"
#include "base/util.h"

/* Is ADDRESS:PORT on loopback? So is unix:PATH; what else is no address in figures is not. */
bool udpai_exposure_is_loopback(const char *address);
/* An error for an address beyond loopback, with what to do. */
udpa_err udpai_exposure_check(const char *address, udpa_error **ret_error);

#endif
