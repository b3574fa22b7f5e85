/* SPDX-License-Identifier: Apache-2.0 */
/* How sources are reached that come by resources (dynamic_sources). */
#ifndef UDPAI_PLAN_DELIVERY_H
#define UDPAI_PLAN_DELIVERY_H

#include "daemon/certificates.h"

/* The plan must stay where it is. */
udpa_err udpai_plan_delivery_make(udpai_plan *plan);
void udpai_plan_delivery_done(udpai_plan *plan);
/* The next socket of the plan is open, on this port. */
udpa_err udpai_plan_delivery_note_port(const udpai_plan *plan, uint16_t port);
/* Those that are reached with this credential are reached with other files from now on. */
udpa_err udpai_plan_delivery_replace_tls(const udpai_plan *plan,
                                         size_t index,
                                         const udpai_tls_files *files,
                                         udpa_error **ret_error);

#endif
