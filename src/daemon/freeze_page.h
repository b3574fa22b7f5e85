/* SPDX-License-Identifier: Apache-2.0 */
/* The pages /freezes, /freeze and /thaw: what is frozen, what waits, and how to change that. */
#ifndef UDPAI_DAEMON_FREEZE_PAGE_H
#define UDPAI_DAEMON_FREEZE_PAGE_H

#include "base/strbuf.h"
#include "federation/freeze.h"

/* Changes that are listed. */
#define UDPAI_FREEZES_PAGE_CHANGES 1000

/* @p form: "", "prefix=PREFIX": of the changes, those below it. As JSON. */
udpa_err udpai_freezes_page(const udpai_node *node,
                            udpai_str form,
                            udpai_strbuf *text,
                            udpa_error **ret_error);
/* @p form: because, and if need be prefix, all. @p by: who asks. */
udpa_err udpai_freeze_page(udpai_node *node, udpai_str form, udpai_str by, udpa_error **ret_error);
/* @p form: "", prefix. */
udpa_err udpai_thaw_page(udpai_node *node, udpai_str form, udpa_error **ret_error);

#endif
