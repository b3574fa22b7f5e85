/* SPDX-License-Identifier: Apache-2.0 */
/* What is put is what the decoders of a node, and protobuf-c, read. */
#include "tools/bench/protocol.h"

#include <stdio.h>

#include "base/alloc.h"
#include "envoy/service/discovery/v3/discovery.pb-c.h"
#include "tests/harness/test.h"
#include "wire/message.h"

#define TYPE UDPAI_TYPE_ENDPOINTS

typedef Envoy__Service__Discovery__V3__DeltaDiscoveryRequest delta_request;
typedef Envoy__Service__Discovery__V3__DiscoveryRequest sotw_request;

struct fixture {
    udpai_strbuf out;
    size_t n_read; /* of it */
    udpai_decoder decoder;
    udpai_message message;
    udpai_load_version versions[8];
    udpai_load_held held;
    udpai_load_subscription subscription;
};

static int
setup(void **state)
{
    struct fixture *self = calloc(1, sizeof(*self));
    assert_non_null(self);
    udpai_decoder_init(&self->decoder);
    self->subscription = (udpai_load_subscription){.type_url = TYPE,
                                                   .node_id = "bench",
                                                   .name_space = "com.acme",
                                                   .n_resources = UDPAI_ARRAY_LEN(self->versions),
                                                   .number = 17};
    *state = self;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *self = *state;
    assert_int_equal(self->n_read, self->out.len);
    udpai_message_done(&self->message);
    udpai_decoder_done(&self->decoder);
    udpai_load_held_done(&self->held);
    udpai_strbuf_done(&self->out);
    free(self);
    return 0;
}

/* The next message of gRPC of what was put. */
static udpai_str
next_message(struct fixture *self)
{
    const uint8_t *at = (const uint8_t *)self->out.data + self->n_read;
    assert_true(self->n_read + 5 <= self->out.len);
    assert_int_equal(at[0], 0);
    size_t len = (size_t)at[1] << 24 | (size_t)at[2] << 16 | (size_t)at[3] << 8 | at[4];
    self->n_read += 5 + len;
    assert_true(self->n_read <= self->out.len);
    return (udpai_str){(const char *)at + 5, len};
}

static const udpai_message *
next_udpa(struct fixture *self)
{
    udpai_message_done(&self->message);
    assert_ok(udpai_message_decode(&self->decoder, next_message(self), true, &self->message, NULL));
    return &self->message;
}

static void *
next_xds(struct fixture *self, const ProtobufCMessageDescriptor *type)
{
    udpai_str bytes = next_message(self);
    assert_ok(udpai_scan(type, bytes, NULL, NULL));
    void *message = protobuf_c_message_unpack(type, NULL, bytes.len, (const uint8_t *)bytes.data);
    assert_non_null(message);
    return message;
}

static void
hold(struct fixture *self, udpai_load_protocol protocol, size_t index, const char *version)
{
    self->versions[index].len = (uint8_t)strlen(version);
    memcpy(self->versions[index].text, version, strlen(version));
    udpai_load_held_done(&self->held);
    assert_true(udpai_load_held_make(&self->held, protocol, "com.acme", self->versions,
                                     UDPAI_ARRAY_LEN(self->versions)));
    self->subscription.held = &self->held;
}

/* ---- delta ---- */

static void
put_delta(struct fixture *self)
{
    udpai_load_put_subscription(&self->out, UDPAI_LOAD_DELTA, &self->subscription);
}

static delta_request *
next_delta(struct fixture *self)
{
    return next_xds(self, &envoy__service__discovery__v3__delta_discovery_request__descriptor);
}

static void
free_message(void *message)
{
    protobuf_c_message_free_unpacked(message, NULL);
}

static void
delta_by_wildcard(void **state)
{
    struct fixture *self = *state;
    put_delta(self);
    delta_request *request = next_delta(self);
    assert_string_equal(request->type_url, TYPE);
    assert_string_equal(request->node->id, "bench-17");
    assert_string_equal(request->node->cluster, "bench");
    assert_int_equal(request->n_resource_names_subscribe, 1);
    assert_string_equal(request->resource_names_subscribe[0], "*");
    assert_int_equal(request->n_initial_resource_versions, 0);
    assert_string_equal(request->response_nonce, "");
    free_message(request);
}

/* They go around: the first comes behind the last. */
static void
delta_by_name(void **state)
{
    struct fixture *self = *state;
    self->subscription.first = 7;
    self->subscription.n_names = 2;
    self->subscription.name_space = "";
    put_delta(self);
    delta_request *request = next_delta(self);
    assert_int_equal(request->n_resource_names_subscribe, 2);
    assert_string_equal(request->resource_names_subscribe[0], "000007");
    assert_string_equal(request->resource_names_subscribe[1], "000000");
    free_message(request);
}

static void
delta_with_what_is_held(void **state)
{
    struct fixture *self = *state;
    hold(self, UDPAI_LOAD_DELTA, 1, "version of one");
    hold(self, UDPAI_LOAD_DELTA, 6, "of six");
    put_delta(self);
    self->subscription.first = 5;
    self->subscription.n_names = 3;
    put_delta(self);
    delta_request *request = next_delta(self);
    assert_int_equal(request->n_initial_resource_versions, 2);
    assert_string_equal(request->initial_resource_versions[0]->key, "com.acme/000001");
    assert_string_equal(request->initial_resource_versions[0]->value, "version of one");
    assert_string_equal(request->initial_resource_versions[1]->key, "com.acme/000006");
    assert_string_equal(request->initial_resource_versions[1]->value, "of six");
    free_message(request);
    request = next_delta(self);
    assert_int_equal(request->n_initial_resource_versions, 1);
    assert_string_equal(request->initial_resource_versions[0]->key, "com.acme/000006");
    free_message(request);
}

/* Of four types, and it says once who it is. */
static void
delta_as_an_envoy(void **state)
{
    static const struct {
        const char *type_url, *first_name;
        size_t n;
    } wanted[] = {{UDPAI_TYPE_CLUSTER, "*", 1},
                  {TYPE, "com.acme/000007", 2},
                  {UDPAI_TYPE_LISTENER, "*", 1},
                  {UDPAI_TYPE_ROUTES, "com.acme/000000", 1}};
    struct fixture *self = *state;
    self->subscription.first = 7;
    self->subscription.n_names = 2;
    self->subscription.is_of_envoy = true;
    put_delta(self);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(wanted); i++) {
        delta_request *request = next_delta(self);
        assert_string_equal(request->type_url, wanted[i].type_url);
        assert_int_equal(request->n_resource_names_subscribe, wanted[i].n);
        assert_string_equal(request->resource_names_subscribe[0], wanted[i].first_name);
        assert_int_equal(request->node != NULL, i == 0);
        free_message(request);
    }
}

static void
delta_acknowledgement_of_another_type(void **state)
{
    struct fixture *self = *state;
    const udpai_load_ack answer = {UDPAI_STR("nonce"), UDPAI_STR(""), UDPAI_STR("another")};
    udpai_load_put_acknowledgement(&self->out, UDPAI_LOAD_DELTA, &self->subscription, &answer);
    delta_request *request = next_delta(self);
    assert_string_equal(request->type_url, "another");
    assert_string_equal(request->response_nonce, "nonce");
    free_message(request);
}

static void
delta_acknowledgement(void **state)
{
    struct fixture *self = *state;
    const udpai_load_ack answer = {UDPAI_STR("nonce"), UDPAI_STR(""), UDPAI_STR("")};
    udpai_load_put_acknowledgement(&self->out, UDPAI_LOAD_DELTA, &self->subscription, &answer);
    delta_request *request = next_delta(self);
    assert_string_equal(request->type_url, TYPE);
    assert_string_equal(request->response_nonce, "nonce");
    assert_int_equal(request->n_resource_names_subscribe, 0);
    assert_null(request->error_detail);
    assert_null(request->node);
    free_message(request);
}

/* ---- state of the world ---- */

static sotw_request *
next_sotw(struct fixture *self)
{
    return next_xds(self, &envoy__service__discovery__v3__discovery_request__descriptor);
}

static void
state_of_the_world_question(void **state)
{
    struct fixture *self = *state;
    udpai_load_put_subscription(&self->out, UDPAI_LOAD_STATE_OF_THE_WORLD, &self->subscription);
    sotw_request *request = next_sotw(self);
    assert_string_equal(request->type_url, TYPE);
    assert_string_equal(request->node->id, "bench-17");
    assert_int_equal(request->n_resource_names, 0);
    assert_string_equal(request->version_info, "");
    assert_string_equal(request->response_nonce, "");
    free_message(request);
}

/* It names all of them again: else they would not be asked for any more. */
static void
state_of_the_world_acknowledgement(void **state)
{
    struct fixture *self = *state;
    const udpai_load_ack answer = {UDPAI_STR("nonce"), UDPAI_STR("version"), UDPAI_STR("")};
    self->subscription.first = 1;
    self->subscription.n_names = 3;
    udpai_load_put_acknowledgement(&self->out, UDPAI_LOAD_STATE_OF_THE_WORLD, &self->subscription,
                                   &answer);
    sotw_request *request = next_sotw(self);
    assert_string_equal(request->type_url, TYPE);
    assert_string_equal(request->version_info, "version");
    assert_string_equal(request->response_nonce, "nonce");
    assert_int_equal(request->n_resource_names, 3);
    assert_string_equal(request->resource_names[0], "com.acme/000001");
    assert_string_equal(request->resource_names[2], "com.acme/000003");
    assert_null(request->error_detail);
    free_message(request);
}

/* ---- UDPA ---- */

static void
assert_node(struct fixture *self, const char *id)
{
    const udpai_message *message = next_udpa(self);
    assert_int_equal(message->kind, UDPAI_MESSAGE_PUBLISH);
    const udpai_publication *publication = message->publication;
    assert_false(publication->state_of_the_world || publication->receipt_required);
    assert_int_equal(publication->entries.n, 1);
    const udpa_resource *resource = publication->entries.items[0].resource;
    assert_string_equal(udpa_resource_name(resource), id);
    assert_string_equal(udpa_resource_type_url(resource), UDPAI_TYPE_NODE);
    size_t size;
    const char *payload = udpa_resource_payload(resource, &size);
    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *info = NULL;
    assert_ok(udpai_node_info_decode(&self->decoder, (udpai_str){payload, size}, &info, NULL));
    assert_str(udpai_node_info_parts(info)->id, id);
    assert_str(udpai_node_info_parts(info)->cluster, "bench");
    assert_true(udpai_node_info_has_feature(info, UDPAI_FEATURE_EXTENSIONS));
    assert_false(udpai_node_info_has_feature(info, UDPAI_FEATURE_NODE));
}

static void
udpa_says_who_we_are(void **state)
{
    struct fixture *self = *state;
    udpai_load_put_node(&self->out, "me");
    assert_node(self, "me");
}

static const udpai_subscription_message *
next_subscription(struct fixture *self)
{
    udpai_load_put_subscription(&self->out, UDPAI_LOAD_UDPA, &self->subscription);
    assert_node(self, "bench-17");
    const udpai_message *message = next_udpa(self);
    assert_int_equal(message->kind, UDPAI_MESSAGE_SUBSCRIBE);
    assert_str(message->subscription.type_url, TYPE);
    assert_str(message->subscription.name_space, "com.acme");
    return &message->subscription;
}

static void
udpa_by_wildcard(void **state)
{
    const udpai_subscription_message *asked = next_subscription(*state);
    assert_int_equal(asked->n_names, 1);
    assert_str(asked->names[0], "*");
    assert_int_equal(asked->n_versions + asked->n_digests, 0);
}

static void
udpa_by_name_with_what_is_held(void **state)
{
    struct fixture *self = *state;
    hold(self, UDPAI_LOAD_UDPA, 0, "of none");
    hold(self, UDPAI_LOAD_UDPA, 7, "of seven");
    hold(self, UDPAI_LOAD_UDPA, 3, "of three");
    self->subscription.first = 6;
    self->subscription.n_names = 3;
    const udpai_subscription_message *asked = next_subscription(self);
    assert_int_equal(asked->n_names, 3);
    assert_str(asked->names[0], "com.acme/000006");
    assert_str(asked->names[2], "com.acme/000000");
    assert_int_equal(asked->n_versions, 2);
    assert_str(asked->versions[0].name, "com.acme/000007");
    assert_str(asked->versions[0].version, "of seven");
    assert_str(asked->versions[1].name, "com.acme/000000");
    assert_str(asked->versions[1].version, "of none");
}

static void
udpa_receipt(void **state)
{
    struct fixture *self = *state;
    const udpai_load_ack answer = {UDPAI_STR("0123"), UDPAI_STR(""), UDPAI_STR("")};
    udpai_load_put_acknowledgement(&self->out, UDPAI_LOAD_UDPA, &self->subscription, &answer);
    const udpai_message *message = next_udpa(self);
    assert_int_equal(message->kind, UDPAI_MESSAGE_RECEIPT);
    assert_str(message->receipt.nonce, "0123");
    assert_int_equal(message->receipt.n_statuses, 0);
}

/* ---- publications ---- */

static void
assert_published(const udpai_publication_entry *entry,
                 udpai_contents *contents,
                 size_t index,
                 const char *version)
{
    char room[UDPAI_CONTENTS_NAME_ROOM];
    size_t size;
    assert_null(entry->error);
    assert_false(entry->is_refresh);
    assert_str(udpai_contents_name(room, "com.acme", index), udpa_resource_name(entry->resource));
    assert_string_equal(udpa_resource_version(entry->resource), version);
    assert_string_equal(udpa_resource_type_url(entry->resource), TYPE);
    const char *payload = udpa_resource_payload(entry->resource, &size);
    assert_true(udpai_str_eq((udpai_str){payload, size}, contents->bytes));
}

static void
put_publication(struct fixture *self, const udpai_load_publication *publication)
{
    udpai_load_put_publication(&self->out, publication);
    const udpai_message *message = next_udpa(self);
    assert_int_equal(message->kind, UDPAI_MESSAGE_PUBLISH);
    const udpai_publication *read = message->publication;
    assert_false(read->state_of_the_world || read->complete);
    assert_int_equal(read->receipt_required, publication->wants_receipt);
    assert_int_equal(read->entries.n, publication->n);
    assert_int_equal(read->removals.n, 0);
    char version[24];
    snprintf(version, sizeof(version), "%llu", (unsigned long long)publication->serial + 1);
    assert_str(read->nonce, version);
    for (size_t i = 0; i < read->entries.n; i++) {
        size_t index = publication->first + i * publication->step;
        udpai_contents_set(publication->contents, index, publication->serial);
        assert_published(&read->entries.items[i], publication->contents, index, version);
    }
}

/* Sizes around which lengths take another byte. */
static void
publications_of_all_sizes(void **state)
{
    struct fixture *self = *state;
    static const size_t sizes[] = {0, 90, 100, 110, 120, 130, 300, 16200, 16384, 70000};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(sizes); i++) {
        udpai_contents contents;
        assert_true(udpai_contents_make(&contents, "com.acme", sizes[i]));
        for (size_t n = 1; n <= 21; n += 5)
            put_publication(self, &(udpai_load_publication){.contents = &contents,
                                                            .first = 999000,
                                                            .step = n,
                                                            .n = n,
                                                            .serial = n == 1 ? UINT32_MAX : n,
                                                            .wants_receipt = n % 2});
        udpai_contents_done(&contents);
    }
}

/* The locality of its endpoints has the mark, and it is named as the resource. */
static void
contents_are_those_of_a_cluster(void **state)
{
    (void)state;
    udpai_contents contents;
    assert_true(udpai_contents_make(&contents, "com.acme", 300));
    udpai_contents_set(&contents, 42, 0x2a);
    udpai_proto_field name = {0}, group = {0}, locality = {0}, zone = {0}, endpoint = {0};
    udpai_proto_reader reader = udpai_proto_read(contents.bytes);
    assert_true(udpai_proto_next(&reader, &name) && udpai_proto_next(&reader, &group));
    assert_int_equal(name.number, 1);
    assert_str(name.bytes, "com.acme/000042");
    assert_int_equal(group.number, 2);
    assert_true(reader.at == reader.end);
    reader = udpai_proto_read(group.bytes);
    assert_true(udpai_proto_next(&reader, &locality));
    assert_int_equal(locality.number, 1);
    size_t n = 0;
    while (udpai_proto_next(&reader, &endpoint) && endpoint.number == 2)
        n++;
    assert_true(n > 3 && reader.at == reader.end && !reader.failed);
    reader = udpai_proto_read(locality.bytes);
    assert_true(udpai_proto_next(&reader, &zone));
    assert_int_equal(zone.number, 3);
    assert_str(zone.bytes, "udpa.bench:000000000000002a");
    udpai_contents_done(&contents);
}

static void
without_memory_nothing_is_put(void **state)
{
    struct fixture *self = *state;
    udpai_contents contents;
    assert_true(udpai_contents_make(&contents, "com.acme", 300));
    udpai_alloc_fail_after(0);
    udpai_load_put_publication(&self->out,
                               &(udpai_load_publication){.contents = &contents, .step = 1, .n = 1});
    udpai_alloc_fail_after(-1);
    assert_true(udpai_strbuf_failed(&self->out));
    assert_int_equal(self->out.len, 0);
    udpai_contents_done(&contents);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(delta_by_wildcard),
        CASE(delta_by_name),
        CASE(delta_with_what_is_held),
        CASE(delta_as_an_envoy),
        CASE(delta_acknowledgement_of_another_type),
        CASE(delta_acknowledgement),
        CASE(state_of_the_world_question),
        CASE(state_of_the_world_acknowledgement),
        CASE(udpa_says_who_we_are),
        CASE(udpa_by_wildcard),
        CASE(udpa_by_name_with_what_is_held),
        CASE(udpa_receipt),
        CASE(publications_of_all_sizes),
        CASE(contents_are_those_of_a_cluster),
        CASE(without_memory_nothing_is_put),
    };
    return cmocka_run_group_tests_name("bench/protocol", tests, NULL, NULL);
}
