/* SPDX-License-Identifier: Apache-2.0 */
/* Who may listen where without proof of who comes: nobody beyond loopback. */
#ifndef UDPAI_EXPOSURE_H
#define UDPAI_EXPOSURE_H

#include "base/error.h"
#include "base/util.h"

/* Is ADDRESS:PORT on loopback? What is no address in figures is not. */
bool udpai_exposure_is_loopback(const char *address);
/* An error for an address beyond loopback, which says what to do. */
udpa_err udpai_exposure_check(const char *address, udpa_error **ret_error);

#endif
