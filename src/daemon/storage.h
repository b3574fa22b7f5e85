/* SPDX-License-Identifier: Apache-2.0 */
/* The engine that keeps what udpad must keep. */
#ifndef UDPAI_DAEMON_STORAGE_H
#define UDPAI_DAEMON_STORAGE_H

#include "daemon/plan.h"

/* *ret_engine stays NULL if the plan keeps nothing. */
udpa_err udpai_daemon_storage_open(udpai_durable_engine **ret_engine,
                                   const udpai_plan *plan,
                                   udpa_error **ret_error);

#endif
