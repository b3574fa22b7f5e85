/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of cases share: the names of the sections that they rest on, and lists. */
#ifndef UDPAI_CONFORM_CASES_H
#define UDPAI_CONFORM_CASES_H

#include "tools/conform/suite.h"

/* Of "xDS REST and gRPC protocol", the protocol's text. */
#define UDPAI_SECTION_VARIANTS "Variants of the xDS Transport Protocol"
#define UDPAI_SECTION_TRANSPORT "Transport API version"
#define UDPAI_SECTION_OVERVIEW "Basic Protocol Overview"
#define UDPAI_SECTION_ACK "ACK/NACK and resource type instance version"
#define UDPAI_SECTION_UPDATE "When to send an update"
#define UDPAI_SECTION_NAMES "How the client specifies what resources to return"
#define UDPAI_SECTION_GROUPING "Grouping Resources into Responses"
#define UDPAI_SECTION_DUPLICATES "Duplicate Resource Names"
#define UDPAI_SECTION_DELETING "Deleting Resources"
#define UDPAI_SECTION_MISSING "Knowing When a Requested Resource Does Not Exist"
#define UDPAI_SECTION_UNSUBSCRIBING "Unsubscribing From Resources"
#define UDPAI_SECTION_MULTIPLE "Requesting Multiple Resources on a Single Stream"
#define UDPAI_SECTION_RESOURCE_UPDATES "Resource updates"
#define UDPAI_SECTION_WARMING "Resource warming"
#define UDPAI_SECTION_ORDER "Eventual consistency considerations"
#define UDPAI_SECTION_TTL "TTL"
#define UDPAI_SECTION_ADS "Aggregated Discovery Service"
#define UDPAI_SECTION_DELTA "Incremental xDS"
#define UDPAI_SECTION_ALIASES "Resource names"
#define UDPAI_SECTION_SUBSCRIBING "Subscribing to Resources"
#define UDPAI_SECTION_REST "REST-JSON polling subscriptions"

#define UDPAI_A UDPAI_NAMES("a")
#define UDPAI_B UDPAI_NAMES("b")
#define UDPAI_A_B UDPAI_NAMES("a", "b")
#define UDPAI_STAR UDPAI_NAMES("*")

/* A stream of the case's variant and kind that is interested in these, and has them. */
static inline udpai_test_session *
udpai_begin_with(udpai_script *script, udpai_names names)
{
    udpai_test_session *session = udpai_test_session_open(script, script->kind);
    udpai_subscribe(session, script->kind, names);
    udpai_expect(session, script->kind, names);
    return session;
}

/* The same of a wildcard: without names, or with a star. What is there can be only one. */
static inline udpai_test_session *
udpai_begin_with_all(udpai_script *script, udpai_names wildcard)
{
    udpai_test_session *session = udpai_test_session_open(script, script->kind);
    bool is_ours = udpai_world_can_change(&script->stage->world);
    udpai_subscribe(session, script->kind, wildcard);
    udpai_expect(session, script->kind, is_ours ? UDPAI_A_B : UDPAI_A);
    return session;
}

/* Cases that more than one file has: of the type, and on the section, that each names. */
void udpai_case_by_name(udpai_script *script);
void udpai_case_without_names(udpai_script *script);
void udpai_case_missing_appears(udpai_script *script);
void udpai_case_update(udpai_script *script);
void udpai_case_new_under_wildcard(udpai_script *script);
void udpai_case_removal(udpai_script *script);
void udpai_case_removal_under_wildcard(udpai_script *script);

#endif
