/* SPDX-License-Identifier: Apache-2.0 */
/* The recipients of a client resource: the ConfigSources that have delivered what it is about
 * (docs/design/client-resources.md, "Recipients"). The changes of the store are looked through on
 * their way, and get the links of these sources; when a resource comes from another source than
 * before, its reports are sent again, for the other. Belongs to the loop. */
#ifndef UDPAI_REPORT_TARGETS_H
#define UDPAI_REPORT_TARGETS_H

#include "base/vector.h"
#include "federation/egress.h"

typedef struct udpai_report_targets udpai_report_targets;

udpa_err udpai_report_targets_new(udpai_report_targets **ret_targets, udpai_context *context);
/* NULL does nothing. */
void udpai_report_targets_free(udpai_report_targets *targets);

/* Sources and providers were looked at again. */
void udpai_report_targets_evaluate(udpai_egress *egress);
/* Is there something to send, though the store has nothing new? */
bool udpai_report_targets_have_changes(const udpai_egress *egress);
/* Makes of the changes to be sent (NULL: none) those that the stream side gets; *ret_set NULL:
 * none. After UDPA_ERR_NOMEM the next call must be with the same set: nothing of it may be sent
 * before. */
udpa_err udpai_report_targets_apply(udpai_egress *egress,
                                    udpai_change_set *from,
                                    udpai_change_set **ret_set);

/* The node has made this report itself, perhaps once more: if it is about something else now, it is
 * for others, though the report is the same. UDPA_ERR_NOMEM: that is not known yet. */
udpa_err udpai_report_targets_published(udpai_egress *egress, const udpa_resource *report);
/* The report is sent to these members of its audience alone, as long as it is reported; the bytes
 * are taken. UDPA_ERR_NOMEM: nothing has changed. */
udpa_err
udpai_report_targets_bind(udpai_egress *egress, const udpa_resource *report, udpa_bytes *members);
/* It was withdrawn. */
void udpai_report_targets_withdrawn(udpai_egress *egress, udpai_str type_url, udpai_str name);

/* ---- report_subject.c ---- */

#define UDPAI_SUBJECT_TYPES_MAX 8

/* What a report is about. */
typedef struct udpai_subject {
    udpai_str name; /* empty: nothing that has one */
    udpai_str types[UDPAI_SUBJECT_TYPES_MAX];
    size_t n_types; /* 0: it is not known what of that name */
} udpai_subject;

/* Views of the report, or good until the next call into the node. */
udpai_subject udpai_subject_of(const udpai_context *context, const udpa_resource *report);
/* Of a report of load, by its name. */
udpai_subject udpai_subject_of_load(udpai_str name);

/* ---- report_target_links.c ---- */

typedef UDPAI_VECTOR(uint64_t) udpai_link_vector;

/* Fills in the links of the sources that it is for, each perhaps several times; *ret_is_for_all: it
 * is not known, so it is for all. Standbys are not among them. */
udpa_err udpai_report_target_find(const udpai_egress *egress,
                                  const udpa_resource *report,
                                  udpai_link_vector *links,
                                  bool *ret_is_for_all);

/* One recipient: a source's link, and the hash of the id of the node behind it. */
typedef struct udpai_report_target_member {
    uint64_t link, node;
} udpai_report_target_member;

/* The audience of a report of load, in order, as the bytes of its members. NULL without memory. */
udpa_bytes *udpai_report_target_audience(const udpai_egress *egress, udpai_str name);
/* Those that are to be warm. */
udpa_err udpai_report_target_add_standby(const udpai_egress *egress,
                                         const udpa_resource *report,
                                         udpai_link_vector *links);
/* Changes when that may find others, but for which source has delivered what. */
uint64_t udpai_report_target_digest(const udpai_egress *egress);

#endif
