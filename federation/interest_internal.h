/* SPDX-License-Identifier: Apache-2.0 */
/* What interest.c and report_subscriptions.c share. */
#ifndef UDPAI_INTEREST_INTERNAL_H
#define UDPAI_INTEREST_INTERNAL_H

#include "base/map.h"
#include "federation/interest.h"

struct udpai_interest {
    udpai_context *context;
    struct udpai_peers *peers;
    struct udpai_demand *demand;
    struct udpai_providers *providers;
    struct udpai_groups *groups;
    udpai_map report_subscriptions; /* what clients are asked for */
    udpai_timer refused_reports;    /* set while some have refused it */
};

/* ---- report_subscriptions.c ---- */

void udpai_reports_init(udpai_interest *interest);
void udpai_reports_done(udpai_interest *interest);

#endif
