/* SPDX-License-Identifier: Apache-2.0 */
/* Which node this is, of those that may have its id, and in which life. */
#ifndef UDPAI_DAEMON_INSTANCE_H
#define UDPAI_DAEMON_INSTANCE_H

#include "daemon/plan.h"

/* Of the state directory, without one the node id; a worker has it from its options. The plan has
 * it from then on, and so has its Node. */
udpa_err udpai_daemon_instance_choose(udpai_plan *plan,
                                      const udpai_options *options,
                                      udpa_error **ret_error);

#endif
