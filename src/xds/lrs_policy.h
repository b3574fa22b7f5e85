/* SPDX-License-Identifier: Apache-2.0 */
/* How clients of LRS are to report: the resources of udpa.load.v1.LoadReporting that this stream
 * side has, followed as long as any client is asked for something. */
#ifndef UDPAI_LRS_POLICY_H
#define UDPAI_LRS_POLICY_H

#include "reports/load_policy.h"
#include "xds/lrs.h"

/* One that is notified of changes. */
typedef struct udpai_lrs_follower {
    udpai_list node; /* linked while it follows */
    void (*changed)(struct udpai_lrs_follower *follower);
} udpai_lrs_follower;

void udpai_lrs_follower_init(udpai_lrs_follower *follower,
                             void (*changed)(udpai_lrs_follower *follower));
/* Begins to follow; what is known already counts from here on. Once more does nothing. */
udpa_err udpai_lrs_follow(udpai_lrs_service *service, udpai_hub *hub, udpai_lrs_follower *follower);
void udpai_lrs_unfollow(udpai_lrs_service *service, udpai_lrs_follower *follower);

/* Of a cluster; and of all that a prefix may hold. */
udpai_load_setting udpai_lrs_setting(const udpai_lrs_service *service, udpai_str cluster);
udpai_load_setting udpai_lrs_finest(const udpai_lrs_service *service, udpai_str prefix);

#endif
