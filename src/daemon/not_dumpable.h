/* SPDX-License-Identifier: Apache-2.0 */
/* Keys and secrets lie in the memory of this process. */
#ifndef UDPAI_NOT_DUMPABLE_H
#define UDPAI_NOT_DUMPABLE_H

#include "base/error.h"

/* From now on no other process of the same user can look into this one's memory, and no core is
 * written (prctl(2), PR_SET_DUMPABLE). Nothing happens in a build with sanitizers, which look into
 * it themselves. */
udpa_err udpai_daemon_set_not_dumpable(udpa_error **ret_error);

#endif
