/* SPDX-License-Identifier: Apache-2.0 */
/* The page /reload: has the bootstrap file read again, or shows what would come of it. */
#ifndef UDPAI_DAEMON_RELOAD_PAGE_H
#define UDPAI_DAEMON_RELOAD_PAGE_H

#include "daemon/reload.h"

/* Takes dry_run and force; answers with JSON. @p reload: NULL while the node begins or ends. */
udpa_err udpai_reload_page(udpai_reload *reload,
                           const udpai_http_reading *reading,
                           udpai_strbuf *text,
                           udpa_error **ret_error);

#endif
