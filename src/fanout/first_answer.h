/* SPDX-License-Identifier: Apache-2.0 */
/* The first state of the world for a client that holds nothing, and so can lose nothing, though
 * not all is known (docs/design/xds.md, "Responses"). For the files of this folder. */
#ifndef UDPAI_FIRST_ANSWER_H
#define UDPAI_FIRST_ANSWER_H

#include "fanout/fanout_internal.h"

/* Of a prefix that is not settled: has that been so for long enough for one that holds nothing? */
bool udpai_subscription_is_waited_out(udpai_subscription *subscription, udpai_str prefix);

#endif
