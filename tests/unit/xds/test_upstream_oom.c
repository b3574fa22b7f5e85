/* SPDX-License-Identifier: Apache-2.0 */
/* A conversation with an xDS server, on two streams, with each allocation failing in turn; for
 * good, or until the step that it happens in is done. Either the stream ends for want of memory, or
 * the loop side holds in the end what it should. */
#include "tests/harness/oom.h"
#include "tests/harness/wire.h"
#include "tests/unit/xds/upstream_test.h"

typedef struct oom_bed {
    fake_hub hub;
    udpai_upstream *upstream;
    udpai_session *session;
    bool is_delta, is_writing, is_finished;
    bool recovers;            /* there is memory again when a step is done */
    bool is_short, was_short; /* the loop side has run out of it; anybody has */
    udpa_err finished_with;
    udpai_str responses[8];
    size_t n_responses;
    unsigned n_here, n_questions; /* resources that the loop side holds; questions not answered */
} oom_bed;

/* ---- the stream ---- */

static void
on_write(udpai_stream *stream, const udpai_outgoing *message)
{
    (void)message;
    ((oom_bed *)(void *)stream)->is_writing = true;
}

static void
on_set_reading(udpai_stream *stream, bool reading)
{
    (void)stream;
    (void)reading;
}

static void
on_finish(udpai_stream *stream, const udpa_error *status)
{
    oom_bed *bed = (oom_bed *)(void *)stream;
    bed->is_finished = true;
    bed->finished_with = status ? udpa_error_code(status) : UDPA_ERR_NOMEM;
}

static const udpai_stream_ops stream_ops = {
    .write = on_write, .set_reading = on_set_reading, .finish = on_finish};

static void
recover(oom_bed *bed)
{
    void *probe = udpai_alloc(1);
    bed->was_short = bed->was_short || !probe;
    if (!probe && bed->recovers)
        udpai_alloc_fail_after(-1);
    udpai_free(probe);
}

static void
write_all(oom_bed *bed)
{
    recover(bed);
    do {
        if (bed->is_writing)
            udpai_session_written(bed->session);
        bed->is_writing = false;
        udpai_hub_run(bed->hub.hub);
        recover(bed);
    } while (bed->is_writing);
}

/* ---- the loop side ---- */

static void
judge_all(oom_bed *bed)
{
    udpai_report *report;
    while ((report = fake_hub_take_report(&bed->hub, UDPAI_REPORT_PUBLICATION))) {
        udpai_publication *publication = UDPAI_TAKE(report->publication);
        udpai_report_free(report);
        bed->n_here += (unsigned)publication->entries.n;
        bed->n_here -= (unsigned)publication->removals.n;
        bed->n_questions -= publication->complete;
        udpai_order *judged = udpai_order_new(UDPAI_ORDER_PUBLICATION_DONE);
        bed->is_short = bed->is_short || !judged;
        if (!judged) {
            udpai_publication_free(publication);
            continue;
        }
        judged->session = bed->session->id;
        judged->publication = publication;
        udpai_hub_order(bed->hub.hub, judged);
    }
    write_all(bed);
}

static void
order(oom_bed *bed, udpai_order_kind kind, const char *type_url, const char *name)
{
    static const udpai_held_version held = {{"com.acme/old", 12}, {"h", 1}};
    udpai_str names[] = {udpai_str_from(name)};
    const udpai_subscription_message message = {
        .type_url = udpai_str_from(type_url),
        .names = names,
        .n_names = 1,
        .versions = &held,
        .n_versions = *name == '\0',
    };
    udpai_order *made = udpai_order_new(kind);
    if (made)
        made->subscription = udpai_subscription_message_copy(&message);
    if (!made || !made->subscription) {
        udpai_order_free(made);
        bed->is_short = true;
        return;
    }
    made->session = bed->session->id;
    bed->n_here += kind == UDPAI_ORDER_SUBSCRIBE && *name == '\0';
    bed->n_questions += kind == UDPAI_ORDER_SUBSCRIBE;
    udpai_hub_order(bed->hub.hub, made);
    write_all(bed);
}

/* ---- the conversation ---- */

static void
listen_and_wait(oom_bed *bed)
{
    for (size_t i = 0; i < bed->n_responses; i++) {
        udpai_session_receive(bed->session, bed->responses[i]);
        recover(bed);
        judge_all(bed);
    }
    for (int i = 0; i < 4; i++) {
        fake_hub_advance(&bed->hub, UDPAI_UPSTREAM_PATIENCE_MS + 1);
        recover(bed);
        judge_all(bed);
    }
}

static udpa_err
talk(oom_bed *bed)
{
    order(bed, UDPAI_ORDER_SUBSCRIBE, ENDPOINTS, "");
    order(bed, UDPAI_ORDER_SUBSCRIBE, CLUSTER, "");
    order(bed, UDPAI_ORDER_SUBSCRIBE, ROUTES, "");
    order(bed, UDPAI_ORDER_SUBSCRIBE, SECRET, "com.acme/www");
    order(bed, UDPAI_ORDER_SUBSCRIBE, SECRET, "com.acme/none");
    listen_and_wait(bed);
    if (bed->is_finished || bed->is_short)
        return UDPA_ERR_NOMEM;
    /* Two clusters, the endpoints of one, the routes of a scope, and a secret; what was held is
     * gone. */
    if (bed->n_here != 5 || bed->n_questions)
        return UDPA_ERR_UNKNOWN;
    order(bed, UDPAI_ORDER_UNSUBSCRIBE, ENDPOINTS, "");
    order(bed, UDPAI_ORDER_UNSUBSCRIBE, ROUTES, "");
    order(bed, UDPAI_ORDER_UNSUBSCRIBE, SECRET, "com.acme/www");
    judge_all(bed);
    if (bed->is_finished || bed->is_short)
        return UDPA_ERR_NOMEM;
    if (bed->n_here != 2)
        return UDPA_ERR_UNKNOWN;
    return bed->was_short ? UDPA_ERR_NOMEM : UDPA_OK;
}

static udpa_err
hold_stream(oom_bed *bed)
{
    const udpai_stream_info info = {
        .stream = (udpai_stream *)(void *)bed,
        .ops = &stream_ops,
        .link = 1,
        .context = bed->upstream,
    };
    bed->is_finished = bed->is_writing = bed->is_short = bed->was_short = false;
    bed->n_here = bed->n_questions = 0;
    udpa_err err = udpai_upstream_session_new(&bed->session, bed->hub.hub, &info);
    if (err != UDPA_OK)
        return err;
    err = talk(bed);
    if (bed->is_finished && err == UDPA_ERR_NOMEM)
        err = bed->finished_with;
    udpa_bytes_unref(bed->session->ops->describe(bed->session));
    udpai_session_closed(bed->session, NULL);
    fake_hub_drop_reports(&bed->hub);
    return err;
}

/* The second stream goes on where the first one has ended, wherever that was. */
static udpa_err
converse(void *context)
{
    oom_bed *bed = context;
    const udpai_upstream_options options = {
        .is_delta = bed->is_delta,
        .name_space = UDPAI_STR("com.acme"),
        .authority = UDPAI_STR("istio"),
    };
    udpa_err err = udpai_upstream_new(&bed->upstream, &options);
    if (err != UDPA_OK)
        return err;
    udpa_err first = hold_stream(bed), second = hold_stream(bed);
    bed->upstream = udpai_upstream_free(bed->upstream);
    return first == UDPA_OK || second == UDPA_ERR_UNKNOWN ? second : first;
}

/* ---- what the server says ---- */

static void
prepare_delta(oom_bed *bed)
{
    const udpai_str responses[] = {
        W_JOIN(upstream_of_type(CLUSTER, "n1"),
               upstream_resource("a", "1", upstream_cluster("a", 1)),
               upstream_resource("b", "1", upstream_cluster("b", 1)),
               upstream_resource("c", "1", upstream_cluster("c", 1))),
        W_JOIN(upstream_of_type(ENDPOINTS, "n2"),
               upstream_resource("a", "1", upstream_endpoints("a", 1)),
               upstream_resource("c", "1", upstream_endpoints("c", 1))),
        W_JOIN(upstream_of_type(CLUSTER, "n3"), W_TEXT(6, "c")),
        W_JOIN(upstream_of_type(SECRET, "n4"), W_TEXT(6, "none"),
               W_MESSAGE(2, W_TEXT(3, "host"), W_TEXT(1, "1"), W_TEXT(4, "www"),
                         wire_bytes(2, upstream_any(SECRET, W_TEXT(1, "h"))))),
        W_JOIN(upstream_of_type(CLUSTER, "n5"),
               upstream_resource("a/", "1", upstream_endpoints("a", 1))), /* refused */
        W_JOIN(
            upstream_of_type(LISTENER, "n6"),
            upstream_resource("l", "1", upstream_scoped_listener("l", W_MESSAGE(5, W_EMPTY(1))))),
        W_JOIN(upstream_of_type(SCOPES, "n7"),
               upstream_resource("s", "1", upstream_scope("s", "r"))),
        W_JOIN(upstream_of_type(ROUTES, "n8"),
               upstream_resource("r", "1", upstream_any(ROUTES, W_TEXT(1, "r")))),
    };
    memcpy(bed->responses, responses, sizeof(responses));
    bed->n_responses = UDPAI_ARRAY_LEN(responses);
}

static void
prepare_sotw(oom_bed *bed)
{
    udpai_str host = upstream_any(UDPAI_TYPE_PREFIX "envoy.service.discovery.v3.Resource",
                                  W_JOIN(W_TEXT(3, "host"), W_TEXT(4, "www"),
                                         wire_bytes(2, upstream_any(SECRET, W_TEXT(1, "h")))));
    const udpai_str responses[] = {
        W_JOIN(upstream_of_type(CLUSTER, "n1"), wire_bytes(2, upstream_cluster("a", 1)),
               wire_bytes(2, upstream_cluster("b", 1)), wire_bytes(2, upstream_cluster("c", 1))),
        W_JOIN(upstream_of_type(ENDPOINTS, "n2"), wire_bytes(2, upstream_endpoints("a", 1)),
               wire_bytes(2, upstream_endpoints("c", 1))),
        W_JOIN(upstream_of_type(CLUSTER, "n3"), wire_bytes(2, upstream_cluster("a", 1)),
               wire_bytes(2, upstream_cluster("b", 1))),
        W_JOIN(upstream_of_type(SECRET, "n4"), wire_bytes(2, host)),
        W_JOIN(upstream_of_type(LISTENER, "n5"),
               wire_bytes(2, upstream_scoped_listener("l", W_MESSAGE(5, W_EMPTY(1))))),
        W_JOIN(upstream_of_type(SCOPES, "n6"), wire_bytes(2, upstream_scope("s", "r"))),
        W_JOIN(upstream_of_type(ROUTES, "n7"), wire_bytes(2, upstream_any(ROUTES, W_TEXT(1, "r")))),
    };
    memcpy(bed->responses, responses, sizeof(responses));
    bed->n_responses = UDPAI_ARRAY_LEN(responses);
}

static void
torture(bool is_delta, bool recovers)
{
    oom_bed bed = {.is_delta = is_delta, .recovers = recovers};
    udpai_hub_options options = fake_hub_options();
    fake_hub_init(&bed.hub, &options);
    (is_delta ? prepare_delta : prepare_sotw)(&bed);
    (void)oom_torture(converse, &bed);
    fake_hub_done(&bed.hub);
    wire_free_all();
}

static void
want_of_memory_ends_a_delta_stream(void **state)
{
    (void)state;
    torture(true, false);
    torture(true, true);
}

static void
want_of_memory_ends_a_stream_of_states(void **state)
{
    (void)state;
    torture(false, false);
    torture(false, true);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(want_of_memory_ends_a_delta_stream),
        cmocka_unit_test(want_of_memory_ends_a_stream_of_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
