/* SPDX-License-Identifier: Apache-2.0 */
/* The responses themselves, and methods of earlier versions. */
#include "tools/conform/cases.h"

#define UNIMPLEMENTED 12

static void
has_nonce(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    const udpai_response *last = udpai_last_response(session, script->kind);
    udpai_require(script, last && *last->nonce, "the response has no nonce");
}

static void
nonces_differ(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    udpai_set(script, script->kind, "a");
    udpai_expect(session, script->kind, UDPAI_A);
    for (size_t i = 1; session && i < session->responses.n; i++)
        udpai_require(
            script,
            strcmp(session->responses.items[i - 1].nonce, session->responses.items[i].nonce),
            "two responses in a row have the nonce '%s'", session->responses.items[i].nonce);
}

static void
no_duplicates(udpai_script *script)
{
    udpai_test_session *session = udpai_test_session_open(script, script->kind);
    udpai_subscribe(session, script->kind, UDPAI_NAMES("*", "a"));
    udpai_expect(session, script->kind, UDPAI_A);
    const udpai_response *last = udpai_last_response(session, script->kind);
    for (size_t i = 0; last && i < session->responses.n; i++) {
        size_t n = 0;
        const udpai_update *known = udpai_last_of(session, script->kind, "a");
        for (size_t j = 0; known && j < session->updates.n; j++)
            n += session->updates.items[j].response == i && !session->updates.items[j].is_removal &&
                 strcmp(session->updates.items[j].name, known->name) == 0;
        udpai_require(script, n <= 1, "one response has %s %s %zu times",
                      udpai_kind_word(script->kind), known ? known->name : "", n);
    }
}

static void
contents_are_of_type(udpai_script *script)
{
    udpai_test_session *session = udpai_begin_with(script, UDPAI_A);
    const udpai_update *update = udpai_last_of(session, script->kind, "a");
    udpai_require(script, update && update->contents == script->kind,
                  "a response with %ss has something else in it", udpai_kind_word(script->kind));
}

static void
refuse_path(udpai_script *script, const char *path)
{
    udpai_test_session *session = udpai_test_session_open_path(script, path);
    if (!session)
        return;
    udpai_send_request(session, UDPAI_CLUSTER, &(udpai_test_request){.names = UDPAI_NO_NAMES});
    udpai_expect_end(session, UNIMPLEMENTED);
}

static void
v2_aggregated(udpai_script *script)
{
    refuse_path(script, "/envoy.service.discovery.v2.AggregatedDiscoveryService/"
                        "StreamAggregatedResources");
}

static void
v2_clusters(udpai_script *script)
{
    refuse_path(script, "/envoy.api.v2.ClusterDiscoveryService/StreamClusters");
}

static void
v2_delta(udpai_script *script)
{
    refuse_path(script, "/envoy.service.discovery.v2.AggregatedDiscoveryService/"
                        "DeltaAggregatedResources");
}

#define NONCE(label, needs_of_it, function)                                                        \
    {                                                                                              \
        .group = "envelope", .name = (label), .section = UDPAI_SECTION_OVERVIEW,                   \
        .rule = "Each response has a nonce of its own.", .ways = UDPAI_ALL_WAYS,                   \
        .needs = (needs_of_it), .kind = UDPAI_CLUSTER, .run = (function)                           \
    }
#define V2(label, function)                                                                        \
    {                                                                                              \
        .group = "envelope", .name = (label), .section = UDPAI_SECTION_TRANSPORT,                  \
        .rule = "The method's name contains the version of the transport: a server without "       \
                "version 2 responds UNIMPLEMENTED.",                                               \
        .level = UDPAI_SHOULD, .ways = UDPAI_ONCE, .kind = UDPAI_CLUSTER, .run = (function)        \
    }

static const udpai_case cases[] = {
    NONCE("nonce-is-there", 0, has_nonce),
    NONCE("nonces-differ", UDPAI_NEEDS_CHANGES, nonces_differ),
    {.group = "envelope",
     .name = "no-duplicates",
     .section = UDPAI_SECTION_DUPLICATES,
     .rule = "No response has a resource twice, even if a wildcard and a name both match it.",
     .ways = UDPAI_ALL_WAYS,
     .kind = UDPAI_CLUSTER,
     .run = no_duplicates},
    {.group = "envelope",
     .name = "contents-are-of-type",
     .section = "Resource Types",
     .rule = "The type URL of a response is that of the resources in it.",
     .ways = UDPAI_ALL_WAYS,
     .kind = UDPAI_LISTENER,
     .run = contents_are_of_type},
    V2("v2-aggregated", v2_aggregated),
    V2("v2-clusters", v2_clusters),
    V2("v2-delta", v2_delta),
};

const udpai_cases udpai_cases_envelope = {cases, UDPAI_ARRAY_LEN(cases)};
