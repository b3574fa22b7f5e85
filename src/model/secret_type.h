/* SPDX-License-Identifier: Apache-2.0 */
/* Types with payloads that are secrets: Envoy's Secret, and what the configuration adds. */
#ifndef UDPAI_SECRET_TYPE_H
#define UDPAI_SECRET_TYPE_H

#include "base/error.h"
#include "model/types.h"

/* Is it, or one of these? Only what is behind the last slash counts. */
bool udpai_type_is_secret_of(const udpai_str *further, size_t n, udpai_str type_url);
/* The same, of those that the configuration adds. */
bool udpai_type_is_secret(udpai_str type_url);

/* Further types that are, in place of those given before; for the whole process, before anything
 * else is made. Copies the names, of which only what is behind the last slash counts.
 * UDPA_ERR_NOMEM: there are none besides. */
udpa_err udpai_secret_types_set(const udpai_str *type_urls, size_t n);

#endif
