/* SPDX-License-Identifier: Apache-2.0 */
/* A bed whose node takes sources from resources of the authority x: what is published of them, and
 * how the node is told to reach them. */
#ifndef UDPAI_TESTS_DELIVERY_BED_H
#define UDPAI_TESTS_DELIVERY_BED_H

#include "federation/dynamic_sources.h"

#include <stdio.h>

#include "tests/unit/federation/federation_test.h"
#include "udpa/config/v1/bootstrap.pb-c.h"
#include "udpa/config/v1/resource_provider.pb-c.h"

#define CLA "envoy.config.endpoint.v3.ClusterLoadAssignment"
#define PROVIDER "type.googleapis.com/udpa.config.v1.ResourceProvider"
#define LINGER 30000
#define AWAITED (5 * 60 * 1000)

typedef Udpa__Config__V1__ConfigSource source_message;

typedef struct speech {
    const char *by, *authority;           /* of the resource */
    const char *name, *address, *xds_for; /* of the source */
    const char *credential;
    bool has_tls, recovers, is_path, is_per_client, reports_load;
} speech;

static const speech to_d = {
    .by = "com.acme/d", .authority = "x", .name = "d", .address = "127.0.0.1:1", .credential = ""};

/* How the node reaches them, in the order in which it was told; and what it holds of that. */
static struct {
    char text[4096];
    long n_held;
    const char *refusal;
} targets;

static inline void
note_target(const char *before, udpai_str name, const char *between, udpai_str address)
{
    size_t len = strlen(targets.text);
    snprintf(targets.text + len, sizeof(targets.text) - len, "%s%.*s%s%.*s ", before, (int)name.len,
             name.data, between, (int)address.len, address.data);
}

static inline udpa_err
make_target(void *userdata,
            const udpai_dynamic_source_config *source,
            void **ret_target,
            udpa_error **ret_error)
{
    (void)userdata;
    if (targets.refusal)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "%s", targets.refusal);
    note_target("", source->name, "=", source->address);
    targets.n_held++;
    *ret_target = &targets;
    return UDPA_OK;
}

static inline void
ended(void *userdata, udpai_str name)
{
    (void)userdata;
    note_target("-", name, "", (udpai_str){"", 0});
}

static inline void *
ref_target(void *target)
{
    targets.n_held++;
    return target;
}

static inline void
release_target(void *target)
{
    assert_ptr_equal(target, &targets);
    targets.n_held--;
}

static inline void
assert_targets(const char *expected)
{
    assert_string_equal(targets.text, expected);
    targets.text[0] = '\0';
}

/* ---- what is said ---- */

static inline udpa_resource *
pack(const ProtobufCMessage *message, const char *type, const char *name, const char *authority)
{
    static unsigned n_versions;
    char bytes[2048], version[20];
    size_t size = protobuf_c_message_pack(message, (uint8_t *)bytes);
    assert_true(size < sizeof(bytes) && !memchr(bytes, 0, size));
    bytes[size] = '\0';
    snprintf(version, sizeof(version), "%u", ++n_versions);
    udpa_resource *resource =
        RESOURCE(name, .type = type, .value = bytes, .version = version, .authority = authority);
    assert_non_null(resource);
    return resource;
}

static inline udpa_resource *
say(const speech *self)
{
    source_message source = UDPA__CONFIG__V1__CONFIG_SOURCE__INIT;
    Udpa__Config__V1__UdpaSource udpa = UDPA__CONFIG__V1__UDPA_SOURCE__INIT;
    Udpa__Config__V1__XdsSource xds = UDPA__CONFIG__V1__XDS_SOURCE__INIT;
    Udpa__Config__V1__ReportLoad report_load = UDPA__CONFIG__V1__REPORT_LOAD__INIT;
    Udpa__Config__V1__PathSource path = UDPA__CONFIG__V1__PATH_SOURCE__INIT;
    Udpa__Config__V1__ClientTls tls = UDPA__CONFIG__V1__CLIENT_TLS__INIT;
    Udpa__Config__V1__Recover recover = UDPA__CONFIG__V1__RECOVER__INIT;
    /* So that it is not empty, which would be a zero byte. */
    ProtobufCMessageUnknownField unknown = {
        .tag = 1, .wire_type = PROTOBUF_C_WIRE_TYPE_VARINT, .len = 1, .data = (uint8_t[]){1}};
    char *types[] = {(char *)(uintptr_t)CLA};
    recover.types = types;
    recover.n_types = 1;
    tls.ca_file = (char *)(uintptr_t) "ca.pem";
    source.name = (char *)(uintptr_t)self->name;
    source.credential = (char *)(uintptr_t)self->credential;
    source.recover = self->recovers ? &recover : NULL;
    udpa.address = xds.address = path.path = (char *)(uintptr_t)self->address;
    udpa.tls = self->has_tls ? &tls : NULL;
    source.kind_case = UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_UDPA;
    source.udpa = &udpa;
    if (self->is_path) {
        source.kind_case = UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_PATH;
        source.path = &path;
    } else if (self->xds_for) {
        source.kind_case = UDPA__CONFIG__V1__CONFIG_SOURCE__KIND_XDS;
        source.xds = &xds;
        xds.authority = (char *)(uintptr_t)self->xds_for;
        if (self->is_per_client)
            xds.audience = UDPA__CONFIG__V1__XDS_SOURCE__AUDIENCE__PER_CLIENT;
        report_load.base.n_unknown_fields = 1;
        report_load.base.unknown_fields = &unknown;
        xds.load_reporting = self->reports_load ? &report_load : NULL;
    }
    return pack(&source.base, UDPAI_DYNAMIC_SOURCE_TYPE, self->by, self->authority);
}

static inline const char *
publish(fed_bed *bed, const speech *self)
{
    return fed_put(bed, bed->sessions[0], say(self), false);
}

static inline const char *
withdraw(fed_bed *bed, const char *by)
{
    char word[100];
    snprintf(word, sizeof(word), "-%s", by);
    return fed_publish(bed, 'a', UDPAI_DYNAMIC_SOURCE_TYPE, word);
}

/* A name comes from this source, or else from the other one (NULL: none). */
static inline const char *
delegate_to(fed_bed *bed, const char *name, const char *source, const char *other)
{
    char own_name[200], delegated[100];
    Udpa__Config__V1__ConfigDescriptor descriptor = UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__INIT,
                                       second = UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__INIT;
    Udpa__Config__V1__ConfigDescriptor *list[] = {&descriptor, &second};
    Udpa__Config__V1__ResourceProvider provider = UDPA__CONFIG__V1__RESOURCE_PROVIDER__INIT;
    snprintf(own_name, sizeof(own_name), "com.acme/%s/" CLA, name);
    snprintf(delegated, sizeof(delegated), "com.acme/%s", name);
    descriptor.source_case = UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__SOURCE_RESOURCE_NAME;
    descriptor.resource_name = (char *)(uintptr_t)source;
    second.source_case = UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__SOURCE_RESOURCE_NAME;
    second.resource_name = (char *)(uintptr_t)other;
    provider.type = (char *)(uintptr_t)CLA;
    provider.resource_name = delegated;
    provider.config_descriptors = list;
    provider.n_config_descriptors = other ? 2 : 1;
    return fed_put(bed, bed->sessions[0], pack(&provider.base, PROVIDER, own_name, "x"), false);
}

static inline const char *
delegate(fed_bed *bed, const char *name, const char *source)
{
    return delegate_to(bed, name, source, NULL);
}

/* ---- the bed ---- */

static inline int
setup(void **state)
{
    static const udpai_str authorities[] = {{"x", 1}}, prefixes[] = {{"com.acme", 8}};
    memset(&targets, 0, sizeof(targets));
    if (fed_setup(state) != 0)
        return -1;
    fed_bed *bed = *state;
    bed->config.delegation = (udpai_delegation_config){authorities, 1, prefixes, 1};
    bed->config.delivery = (udpai_dynamic_sources_config){
        .authorities = authorities,
        .n_authorities = 1,
        .prefixes = prefixes,
        .n_prefixes = 1,
        .max = 2,
        .make_target = make_target,
        .ended = ended,
        .ref_target = ref_target,
        .release_target = release_target,
    };
    return 0;
}

static inline int
teardown(void **state)
{
    int result = fed_teardown(state);
    return targets.n_held == 0 ? result : -1;
}

#define delivery_test(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

/* A name that is static, or not there at all, in the place of b. */
static inline void
configure(fed_bed *bed, const char *first)
{
    fed_type(bed, UDPAI_DYNAMIC_SOURCE_TYPE);
    fed_type(bed, PROVIDER);
    fed_type(bed, "EDS");
    FED_PROVIDER(bed, {'a', "", UDPAI_STOP_ON_SUCCESS, false});
    if (first) {
        static udpai_provider_config providers[2];
        static udpai_descriptor_config chain[2];
        chain[0] =
            (udpai_descriptor_config){udpai_str_from(first), {"", 0}, UDPAI_STOP_ON_SUCCESS, false};
        chain[1] = (udpai_descriptor_config){UDPAI_STR("b"), {"", 0}, UDPAI_STOP_ON_SUCCESS, false};
        providers[0] = bed->provider;
        providers[0].n_types = 2;
        providers[1] = (udpai_provider_config){&bed->types[2], 1, chain, 2};
        bed->config.providers = providers;
        bed->config.n_providers = 2;
    }
}

static inline void
start(fed_bed *bed)
{
    configure(bed, NULL);
    fed_start(bed);
    fed_connect(bed, 'a');
    fed_want(bed, "EDS", "com.acme/x");
    (void)fed_publish(bed, 'a', "EDS", "x=of-a !");
    (void)fed_publish(bed, 'a', PROVIDER, "!");
    (void)fed_publish(bed, 'a', UDPAI_DYNAMIC_SOURCE_TYPE, "!");
    (void)fed_orders(bed);
}

/* d is there, x comes from it, and it has said so. */
static inline void
start_with_d(fed_bed *bed)
{
    start(bed);
    assert_string_equal(publish(bed, &to_d), "");
    assert_string_equal(delegate(bed, "x", "d"), "");
    fed_connect(bed, 'd');
    (void)fed_publish(bed, 'd', "EDS", "x=of-d !");
    (void)fed_publish(bed, 'a', "EDS", "-x");
    (void)fed_orders(bed);
    assert_value(bed, "EDS", "x", "of-d");
    assert_targets("d=127.0.0.1:1 ");
}

/* The node counts its links on. */
static inline void
note_link(fed_bed *bed, uint64_t link)
{
    bed->links['d' - 'a'] = link;
}

#endif
