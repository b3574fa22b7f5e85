/* SPDX-License-Identifier: Apache-2.0 */
/* The page /config: the configuration in effect, without what could be a secret. */
#ifndef UDPAI_DAEMON_CONFIG_PAGE_H
#define UDPAI_DAEMON_CONFIG_PAGE_H

#include "base/strbuf.h"
#include "daemon/effective.h"
#include "transport/http/http.h"

/* Of a configuration that takes more, packed, the page has only where it is from: the loop writes
 * it between other work. */
#define UDPAI_CONFIG_PAGE_MAX ((size_t)1 << 20)

/* YAML, with where it is from as comments; with ?format=json, or if that is what the client
 * accepts, an object that has it as fields. @p ret_type: of the answer, static. */
udpa_err udpai_config_page_read(const udpai_effective *effective,
                                const udpai_schema *schema,
                                const udpai_http_reading *reading,
                                const char **ret_type,
                                udpai_strbuf *text,
                                udpa_error **ret_error);

#endif
