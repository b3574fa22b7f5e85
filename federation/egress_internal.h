/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of publishing to sources: publish.c, reports.c, report_targets.c and
 * report_target_links.c. */
#ifndef UDPAI_EGRESS_INTERNAL_H
#define UDPAI_EGRESS_INTERNAL_H

#include "federation/egress.h"
#include "federation/report_targets.h"

/* What the application published, until it is receipted. */
typedef struct udpai_published {
    udpai_list node;
    uint64_t session, ticket;
} udpai_published;

struct udpai_egress {
    udpai_context *context;
    struct udpai_peers *peers;
    struct udpai_sources *sources;
    struct udpai_providers *providers;
    struct udpai_receiver *receiver;
    udpai_report_targets *targets;
    udpai_list published; /* udpai_published: without a receipt yet */
    uint64_t last_publish;
};

#endif
