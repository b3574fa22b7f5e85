/* SPDX-License-Identifier: Apache-2.0 */
/* A node without stream sides, for tests of what stands beside it: the test is those, and tells
 * what they would. */
#ifndef UDPAI_TESTS_NODE_BED_H
#define UDPAI_TESTS_NODE_BED_H

#include "federation/node.h"
#include "tests/harness/test.h"

/* Peers need no certificates; there is room for what a test has. */
static inline udpai_node_config
node_bed_config(const char *id, uint64_t interest_linger_ms)
{
    return (udpai_node_config){
        .id = udpai_str_from(id),
        .authority = udpai_str_from(id),
        .timing = {.interest_linger_ms = interest_linger_ms},
        .store = {.max_resources_per_namespace = 1000,
                  .max_bytes_per_namespace = 1 << 24,
                  .max_resources_per_publisher = 1000,
                  .max_bytes_per_publisher = 1 << 24,
                  .max_resources = 1000,
                  .max_bytes = 1 << 24},
        .peers_are_anonymous = true,
        .max_changes_ahead = 1000000,
    };
}

static inline uint64_t
node_bed_no_chance(void *userdata)
{
    (void)userdata;
    return 0;
}

/* ---- reports ---- */

static inline udpai_report *
node_bed_report(udpai_report_kind kind)
{
    udpai_report *report = udpai_report_new(kind);
    assert_non_null(report);
    return report;
}

/* The peer has said who it is, and speaks of itself: a client, or a node, too. */
static inline udpai_report *
node_bed_introduction(const char *id, bool is_node)
{
    static const udpai_str features[] = {UDPAI_STR(UDPAI_FEATURE_CLIENT),
                                         UDPAI_STR(UDPAI_FEATURE_NODE)};
    const udpai_node_parts parts = {
        .id = udpai_str_from(id), .features = features, .n_features = is_node ? 2 : 1};
    udpai_report *report = node_bed_report(UDPAI_REPORT_NODE);
    assert_ok(udpai_node_info_new(&report->info, &parts));
    report->is_extended = true;
    return report;
}

/* Somebody subscribes to a name, or to all (empty), or does no more. */
static inline udpai_report *
node_bed_interest(const char *type_url, const char *name_space, const char *text, bool wanted)
{
    const udpai_str name = udpai_str_from(text);
    const udpai_subscription_message message = {.type_url = udpai_str_from(type_url),
                                                .name_space = udpai_str_from(name_space),
                                                .names = &name,
                                                .n_names = 1};
    udpai_report *report = node_bed_report(UDPAI_REPORT_INTEREST);
    report->subscription = udpai_subscription_message_copy(&message);
    report->subscribed = wanted;
    return report;
}

static inline udpai_report *
node_bed_publication(udpa_resource *resource)
{
    udpai_report *report = node_bed_report(UDPAI_REPORT_PUBLICATION);
    report->publication = udpai_publication_new();
    assert_ok(udpai_publication_add(report->publication, resource, false));
    return report;
}

/* Of this session; and the node does what is to be done then. Consumes the report. */
static inline void
node_bed_tell(udpai_node *node, uint64_t session, udpai_report *report)
{
    report->session = session;
    udpai_node_report(node, report);
    udpai_node_flush(node);
}

#endif
