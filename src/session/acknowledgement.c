/* SPDX-License-Identifier: Apache-2.0 */
#include "session/acknowledgement.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "session/client_state.h"
#include "session/status.h"
#include "wire/entry.h"

/* Sessions that are listed one by one; of the others the number must do. */
#define REASON_MAX 512

struct finding {
    const udpai_session *session;
    udpai_acknowledgement what;
};

struct survey {
    udpai_str type_url, name;
    const udpa_resource *resource; /* NULL: there is none */
    size_t n[UDPAI_ACKNOWLEDGEMENT_STATES];
    UDPAI_VECTOR(struct finding) findings;
    bool failed;
};

bool
udpai_acknowledgement_parse(udpai_str question, udpai_str *ret_type_url, udpai_str *ret_name)
{
    udpai_str prefix = UDPAI_STR(UDPAI_ACKNOWLEDGEMENT_PREFIX);
    if (!udpai_str_starts(question, prefix))
        return false;
    udpai_str token, host, type, rest = {question.data + prefix.len, question.len - prefix.len};
    if (!udpai_str_cut(&rest, '/', &token) || !token.len || !udpai_str_cut(&rest, '/', &host) ||
        !host.len || !udpai_str_cut(&rest, '/', &type) || !type.len || !rest.len)
        return false;
    *ret_type_url = (udpai_str){host.data, host.len + 1 + type.len};
    *ret_name = rest;
    return true;
}

/* ---- asking the sessions ---- */

/* The session that asks only reads; it is none of those that the resource is for. */
static bool
is_asking(const udpai_subscription *subscription)
{
    return udpai_subscriber_find(udpai_subscription_subscriber(subscription),
                                 UDPAI_STR(UDPAI_ACKNOWLEDGEMENT_TYPE)) != NULL;
}

static bool
on_ack(void *userdata, const udpai_resource_ack *ack)
{
    struct survey *survey = userdata;
    const udpai_session *session = udpai_subscription_subscriber(ack->subscription)->userdata;
    struct finding finding = {.session = session};
    if (!session || session->is_finishing || !session->ops->ack_status ||
        is_asking(ack->subscription))
        return true;
    udpai_client_state state;
    udpai_client_state_of(session, ack, &state);
    finding.what = state.status;
    if (finding.what.state != UDPAI_ACKNOWLEDGEMENT_NOT_SHOWN)
        survey->failed |= !udpai_vector_push(&survey->findings, finding);
    return true;
}

static int
weight(udpai_acknowledgement_state state)
{
    if (state == UDPAI_ACKNOWLEDGEMENT_REFUSED)
        return 0;
    return state == UDPAI_ACKNOWLEDGEMENT_GIVEN ? 2 : 1;
}

static int
compare_sessions(const struct finding *one, const struct finding *two)
{
    if (one->session->id == two->session->id)
        return 0;
    return one->session->id < two->session->id ? -1 : 1;
}

/* Of one kind in the order in which they came: the same each time. */
static int
compare(const void *a, const void *b)
{
    const struct finding *one = a, *two = b;
    int difference = weight(one->what.state) - weight(two->what.state);
    return difference ? difference : compare_sessions(one, two);
}

/* What of a session comes first: that it has rejected the resource, or else what is furthest from
 * its having it. */
static int
compare_in_sessions(const void *a, const void *b)
{
    const struct finding *one = a, *two = b;
    int difference = compare_sessions(one, two);
    if (difference == 0)
        difference = weight(one->what.state) - weight(two->what.state);
    return difference ? difference : (int)one->what.state - (int)two->what.state;
}

static void
sort(struct survey *survey, int (*how)(const void *, const void *))
{
    if (survey->findings.n > 1)
        qsort(survey->findings.items, survey->findings.n, sizeof(survey->findings.items[0]), how);
}

/* A session may take a resource by several subscriptions, and has it when it has it by all. */
static void
count_each_once(struct survey *survey)
{
    struct finding *items = survey->findings.items;
    size_t n = 0;
    sort(survey, compare_in_sessions);
    for (size_t i = 0; i < survey->findings.n; i++)
        if (n == 0 || items[n - 1].session != items[i].session)
            items[n++] = items[i];
    survey->findings.n = n;
    for (size_t i = 0; i < n; i++)
        survey->n[items[i].what.state]++;
    sort(survey, compare);
}

/* ---- writing ---- */

/* In place of the number, which sessions of other replicas have, too. */
static void
put_id_of_set(udpai_proto_writer *writer, const udpai_session *session)
{
    const udpai_node_info *own = udpai_hub_settings(session->hub)->info;
    udpai_str replica = own ? udpai_node_info_replica(own) : (udpai_str){0};
    char id[UDPAI_AUTHORITY_MAX + 64];
    int len = replica.len ? snprintf(id, sizeof(id), "%.*s/%llu", (int)replica.len, replica.data,
                                     (unsigned long long)session->id)
                          : 0;
    if (len > 0 && (size_t)len < sizeof(id))
        udpai_proto_put_bytes(writer, 1, (udpai_str){id, (size_t)len});
}

static void
put_finding(udpai_proto_writer *writer, const struct finding *finding)
{
    const udpa_error *error = finding->what.error;
    udpai_status_put_session(writer, finding->session,
                             finding->session->ops->peer(finding->session), 0);
    put_id_of_set(writer, finding->session);
    udpai_proto_put_varint(writer, 20, finding->what.state);
    if (finding->what.since_us)
        udpai_timestamp_put(writer, 21, finding->what.since_us);
    if (!error)
        return;
    udpai_proto_put_varint_opt(writer, 22, (uint64_t)udpa_err_to_grpc(udpa_error_code(error)));
    udpai_proto_put_bytes_opt(
        writer, 23, udpai_utf8_cut(udpai_str_from(udpa_error_message(error)), REASON_MAX));
}

static void
put_resource(udpai_proto_writer *writer, const udpa_resource *resource)
{
    char content[UDPAI_CONTENT_HASH_HEX];
    udpai_resource_content_hex(resource, content);
    udpai_proto_put_varint(writer, 3, true);
    udpai_proto_put_bytes_opt(writer, 4, udpai_resource_version(resource));
    udpai_proto_put_bytes(writer, 5, (udpai_str){content, sizeof(content)});
}

static void
put(udpai_proto_writer *writer, const void *what)
{
    const struct survey *survey = what;
    size_t n = udpai_min_size(survey->findings.n, UDPAI_ACKNOWLEDGEMENT_SESSIONS_MAX);
    udpai_proto_put_bytes(writer, 1, survey->type_url);
    udpai_proto_put_bytes(writer, 2, survey->name);
    if (survey->resource)
        put_resource(writer, survey->resource);
    udpai_proto_put_varint_opt(writer, 6, survey->findings.n);
    udpai_proto_put_varint_opt(writer, 7, survey->n[UDPAI_ACKNOWLEDGEMENT_GIVEN]);
    udpai_proto_put_varint_opt(writer, 8, survey->n[UDPAI_ACKNOWLEDGEMENT_SENT]);
    udpai_proto_put_varint_opt(writer, 9, survey->n[UDPAI_ACKNOWLEDGEMENT_REFUSED]);
    for (size_t i = 0; i < n; i++) {
        udpai_proto_writer size = {0};
        put_finding(&size, &survey->findings.items[i]);
        udpai_proto_put_head(writer, 10, size.size);
        put_finding(writer, &survey->findings.items[i]);
    }
    udpai_proto_put_varint_opt(writer, 11, survey->n[UDPAI_ACKNOWLEDGEMENT_UNTOLD]);
}

udpa_bytes *
udpai_acknowledgement_describe(udpai_hub *hub, udpai_str question)
{
    struct survey survey = {0};
    if (!udpai_acknowledgement_parse(question, &survey.type_url, &survey.name))
        return NULL;
    survey.resource = udpai_fanout_visit_acks(udpai_hub_fanout(hub), survey.type_url, survey.name,
                                              on_ack, &survey);
    if (survey.resource)
        survey.name = udpai_resource_name(survey.resource);
    count_each_once(&survey);
    udpa_bytes *status = survey.failed ? NULL : udpai_proto_encode(put, &survey);
    udpai_vector_done(&survey.findings);
    return status;
}
