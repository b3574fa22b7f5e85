/* SPDX-License-Identifier: Apache-2.0 */
/* The keys and requirements of the bootstrap file, put into use while the node runs. */
#ifndef UDPAI_SIGNATURES_RELOAD_H
#define UDPAI_SIGNATURES_RELOAD_H

#include "daemon/reload_target.h"

/* Puts the section 'signatures' of a bootstrap in which nothing is wrong into use, with the files
 * that it names, if nothing is wrong with any of them; and logs what came of it. With an error the
 * keys stay as they were.
 * @param[out] ret_keyring  what is in use from now on: a reference; NULL: what was before. */
udpa_err udpai_signatures_reload(const udpai_reload_target *target,
                                 const Udpa__Config__V1__Bootstrap *message,
                                 udpai_keyring **ret_keyring,
                                 udpa_error **ret_error);

#endif
