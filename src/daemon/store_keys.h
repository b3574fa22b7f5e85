/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of the store, from their files. */
#ifndef UDPAI_DAEMON_STORE_KEYS_H
#define UDPAI_DAEMON_STORE_KEYS_H

#include "storage/seal.h"
#include "udpa/config/v1/bootstrap.pb-c.h"

/* All that the section has, in its order; NULL: there is no section. To be followed by
 * udpai_sealer_done(), also after an error, which has the file. */
udpa_err udpai_store_keys_read(udpai_sealer *ret_sealer,
                               const Udpa__Config__V1__Store *store,
                               udpa_error **ret_error);

#endif
