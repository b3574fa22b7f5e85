/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that come by resources: a publishes the ConfigSource of d, which is asked, moved, lost,
 * and over a restart still there. */
#include "federation/delivery.h"

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
    bool has_tls, recovers, is_path, is_per_client;
} speech;

static const speech to_d = {
    .by = "com.acme/d", .authority = "x", .name = "d", .address = "127.0.0.1:1", .credential = ""};

/* How the node reaches them, in the order in which it was told; and what it holds of that. */
static struct {
    char text[4096];
    long n_held;
    const char *refusal;
} targets;

static void
note_target(const char *before, udpai_str name, const char *between, udpai_str address)
{
    size_t len = strlen(targets.text);
    snprintf(targets.text + len, sizeof(targets.text) - len, "%s%.*s%s%.*s ", before, (int)name.len,
             name.data, between, (int)address.len, address.data);
}

static udpa_err
make_target(void *userdata,
            const udpai_delivered_config *source,
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

static void
ended(void *userdata, udpai_str name)
{
    (void)userdata;
    note_target("-", name, "", (udpai_str){"", 0});
}

static void *
ref_target(void *target)
{
    targets.n_held++;
    return target;
}

static void
release_target(void *target)
{
    assert_ptr_equal(target, &targets);
    targets.n_held--;
}

static void
assert_targets(const char *expected)
{
    assert_string_equal(targets.text, expected);
    targets.text[0] = '\0';
}

/* ---- what is said ---- */

static udpa_resource *
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

static udpa_resource *
say(const speech *self)
{
    source_message source = UDPA__CONFIG__V1__CONFIG_SOURCE__INIT;
    Udpa__Config__V1__UdpaSource udpa = UDPA__CONFIG__V1__UDPA_SOURCE__INIT;
    Udpa__Config__V1__XdsSource xds = UDPA__CONFIG__V1__XDS_SOURCE__INIT;
    Udpa__Config__V1__PathSource path = UDPA__CONFIG__V1__PATH_SOURCE__INIT;
    Udpa__Config__V1__ClientTls tls = UDPA__CONFIG__V1__CLIENT_TLS__INIT;
    Udpa__Config__V1__Recover recover = UDPA__CONFIG__V1__RECOVER__INIT;
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
    }
    return pack(&source.base, UDPAI_DELIVERY_TYPE, self->by, self->authority);
}

static const char *
publish(fed_bed *bed, const speech *self)
{
    return fed_put(bed, bed->sessions[0], say(self), false);
}

static const char *
withdraw(fed_bed *bed, const char *by)
{
    char word[100];
    snprintf(word, sizeof(word), "-%s", by);
    return fed_publish(bed, 'a', UDPAI_DELIVERY_TYPE, word);
}

/* x comes from this source. */
static const char *
delegate(fed_bed *bed, const char *name, const char *source)
{
    char own_name[200], delegated[100];
    Udpa__Config__V1__ConfigDescriptor descriptor = UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__INIT;
    Udpa__Config__V1__ConfigDescriptor *list[] = {&descriptor};
    Udpa__Config__V1__ResourceProvider provider = UDPA__CONFIG__V1__RESOURCE_PROVIDER__INIT;
    snprintf(own_name, sizeof(own_name), "com.acme/%s/" CLA, name);
    snprintf(delegated, sizeof(delegated), "com.acme/%s", name);
    descriptor.source_case = UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__SOURCE_RESOURCE_NAME;
    descriptor.resource_name = (char *)(uintptr_t)source;
    provider.type = (char *)(uintptr_t)CLA;
    provider.resource_name = delegated;
    provider.config_descriptors = list;
    provider.n_config_descriptors = 1;
    return fed_put(bed, bed->sessions[0], pack(&provider.base, PROVIDER, own_name, "x"), false);
}

/* ---- the bed ---- */

static int
setup(void **state)
{
    static const udpai_str authorities[] = {{"x", 1}}, prefixes[] = {{"com.acme", 8}};
    memset(&targets, 0, sizeof(targets));
    if (fed_setup(state) != 0)
        return -1;
    fed_bed *bed = *state;
    bed->config.delegation = (udpai_delegation_config){authorities, 1, prefixes, 1};
    bed->config.delivery = (udpai_delivery_config){
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

static int
teardown(void **state)
{
    int result = fed_teardown(state);
    return targets.n_held == 0 ? result : -1;
}

#define delivery_test(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

/* A name that is static, or not there at all, in the place of b. */
static void
configure(fed_bed *bed, const char *first)
{
    fed_type(bed, UDPAI_DELIVERY_TYPE);
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

static void
start(fed_bed *bed)
{
    configure(bed, NULL);
    fed_start(bed);
    fed_connect(bed, 'a');
    fed_want(bed, "EDS", "com.acme/x");
    (void)fed_publish(bed, 'a', "EDS", "x=of-a !");
    (void)fed_publish(bed, 'a', PROVIDER, "!");
    (void)fed_publish(bed, 'a', UDPAI_DELIVERY_TYPE, "!");
    (void)fed_orders(bed);
}

/* d is there, x comes from it, and it has said so. */
static void
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
static void
note_link(fed_bed *bed, uint64_t link)
{
    bed->links['d' - 'a'] = link;
}

/* ---- coming ---- */

static void
what_names_it_is_asked_of_it(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    assert_string_equal(publish(bed, &to_d), "");
    assert_orders(bed, ""); /* nobody asks it for anything */
    assert_string_equal(delegate(bed, "x", "d"), "");
    assert_orders(bed, "dial d");
    fed_connect(bed, 'd');
    assert_orders(bed, "sub d EDS :x");
    assert_value(bed, "EDS", "x", "of-a");
    (void)fed_publish(bed, 'd', "EDS", "x=of-d !");
    assert_value(bed, "EDS", "x", "of-d");
}

static void
what_names_it_waits_for_it(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    assert_string_equal(delegate(bed, "x", "d"), "");
    fed_advance(bed, 60000);
    assert_orders(bed, "");
    assert_value(bed, "EDS", "x", "of-a");
    assert_string_equal(publish(bed, &to_d), "");
    assert_orders(bed, "dial d");
    fed_connect(bed, 'd');
    (void)fed_publish(bed, 'd', "EDS", "x=of-d !");
    assert_value(bed, "EDS", "x", "of-d");
}

static void
what_the_configuration_names_fails_over_behind_it(void **state)
{
    fed_bed *bed = *state;
    configure(bed, "d");
    fed_start(bed);
    fed_advance(bed, 2000);
    assert_non_null(strstr(fed_orders(bed), "dial b"));
    fed_connect(bed, 'a');
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "EDS", "x=of-b !");
    assert_value(bed, "EDS", "x", "of-b");
    (void)fed_orders(bed);
    assert_string_equal(publish(bed, &to_d), "");
    assert_orders(bed, "dial d");
    fed_connect(bed, 'd');
    (void)fed_publish(bed, 'd', "EDS", "x=of-d !");
    assert_value(bed, "EDS", "x", "of-b"); /* until it has stayed */
    fed_advance(bed, 5000);
    assert_value(bed, "EDS", "x", "of-d");
}

/* ---- changing ---- */

static void
another_address_is_no_failure(void **state)
{
    fed_bed *bed = *state;
    speech moved = to_d;
    start_with_d(bed);
    moved.address = "127.0.0.1:2";
    assert_string_equal(publish(bed, &moved), "");
    assert_targets("d=127.0.0.1:2 ");
    assert_orders(bed, "hangup d");
    fed_close(bed, 'd');
    assert_orders(bed, "dial d");
    assert_value(bed, "EDS", "x", "of-d");
    fed_connect(bed, 'd');
    assert_orders(bed, "sub d EDS :x+1");
}

static void
the_same_again_changes_nothing(void **state)
{
    fed_bed *bed = *state;
    start_with_d(bed);
    assert_string_equal(publish(bed, &to_d), "");
    assert_targets("");
    assert_orders(bed, "");
}

static void
another_kind_is_another_source(void **state)
{
    fed_bed *bed = *state;
    speech other = to_d;
    start_with_d(bed);
    other.xds_for = "control";
    assert_string_equal(publish(bed, &other), "");
    assert_orders(bed, "hangup d, dial e"); /* by another link */
    note_link(bed, 5);
    assert_value(bed, "EDS", "x", "of-d");
    fed_connect_as(bed, 'd', &(fed_peer){.is_xds = true});
    fed_speak(bed, 'd');
    assert_orders(bed, "sub d EDS :x+1");
}

static void
another_name_is_another_source(void **state)
{
    fed_bed *bed = *state;
    speech renamed = to_d;
    start_with_d(bed);
    renamed.name = "e";
    assert_string_equal(publish(bed, &renamed), "");
    assert_non_null(strstr(fed_orders(bed), "hangup"));
    assert_value(bed, "EDS", "x", "of-d");
    assert_string_equal(delegate(bed, "x", "e"), "");
    assert_non_null(strstr(fed_orders(bed), "dial"));
}

/* ---- going ---- */

static void
what_came_by_it_stays_for_a_while_and_goes(void **state)
{
    fed_bed *bed = *state;
    start_with_d(bed);
    assert_string_equal(withdraw(bed, "com.acme/d"), "");
    assert_targets("-d ");
    assert_orders(bed, "hangup d");
    fed_close(bed, 'd');
    assert_value(bed, "EDS", "x", "of-d");
    fed_advance(bed, LINGER - 1000);
    assert_value(bed, "EDS", "x", "of-d");
    fed_advance(bed, 2000);
    assert_value(bed, "EDS", "x", "");
    assert_true(fed_name_settled(bed, "EDS", "com.acme/x"));
    assert_orders(bed, "");
    fed_restart(bed);
    assert_value(bed, "EDS", "x", "");
}

static void
what_is_said_on_its_stream_is_nobodys(void **state)
{
    fed_bed *bed = *state;
    start_with_d(bed);
    (void)withdraw(bed, "com.acme/d");
    (void)fed_publish(bed, 'd', "EDS", "x=late !");
    assert_value(bed, "EDS", "x", "of-d");
    fed_close(bed, 'd');
    assert_orders(bed, "hangup d");
}

static void
it_comes_back_to_what_it_had(void **state)
{
    fed_bed *bed = *state;
    start_with_d(bed);
    (void)withdraw(bed, "com.acme/d");
    fed_advance(bed, 10000);
    (void)fed_orders(bed);
    assert_string_equal(publish(bed, &to_d), "");
    assert_orders(bed, "dial e"); /* by another link */
    note_link(bed, 5);
    fed_connect(bed, 'd');
    assert_orders(bed, "sub d EDS :x+1");
    fed_advance(bed, 2 * LINGER);
    assert_value(bed, "EDS", "x", "of-d");
}

static void
it_comes_back_after_all_has_gone(void **state)
{
    fed_bed *bed = *state;
    start_with_d(bed);
    (void)withdraw(bed, "com.acme/d");
    fed_advance(bed, 2 * LINGER);
    (void)fed_orders(bed);
    assert_string_equal(publish(bed, &to_d), "");
    note_link(bed, 5);
    assert_false(fed_name_settled(bed, "EDS", "com.acme/x"));
    fed_connect(bed, 'd');
    (void)fed_publish(bed, 'd', "EDS", "x=again !");
    assert_value(bed, "EDS", "x", "again");
    (void)fed_orders(bed);
    fed_restart(bed); /* and is kept again */
    assert_value(bed, "EDS", "x", "again");
}

static void
who_stands_in_goes_on(void **state)
{
    fed_bed *bed = *state;
    configure(bed, "d");
    fed_start(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', UDPAI_DELIVERY_TYPE, "!");
    (void)publish(bed, &to_d);
    fed_connect(bed, 'd');
    (void)fed_publish(bed, 'd', "EDS", "x=of-d !");
    assert_value(bed, "EDS", "x", "of-d");
    (void)fed_orders(bed);
    (void)withdraw(bed, "com.acme/d");
    assert_orders(bed, "hangup d, dial b");
    fed_connect(bed, 'b');
    assert_value(bed, "EDS", "x", "of-d");
    (void)fed_publish(bed, 'b', "EDS", "x=of-b !");
    assert_value(bed, "EDS", "x", "of-b");
    fed_advance(bed, 2 * LINGER);
    assert_value(bed, "EDS", "x", "of-b");
    assert_true(fed_settled(bed, "EDS", "com.acme"));
}

/* d itself says where it is: with its word that goes, it goes, and nothing else happens. */
static void
one_that_delivers_itself_ends(void **state)
{
    fed_bed *bed = *state;
    configure(bed, NULL);
    static udpai_descriptor_config both[] = {{{"a", 1}, {"", 0}, UDPAI_CONTINUE, false},
                                             {{"d", 1}, {"", 0}, UDPAI_CONTINUE, false}};
    static udpai_provider_config provider;
    provider = (udpai_provider_config){bed->types, 1, both, 2};
    bed->config.providers = &provider;
    bed->config.n_providers = 1;
    fed_start(bed);
    fed_connect(bed, 'a');
    (void)publish(bed, &to_d);
    fed_connect(bed, 'd');
    assert_string_equal(fed_put(bed, bed->sessions['d' - 'a'], say(&to_d), false), "");
    (void)withdraw(bed, "com.acme/d");
    (void)fed_orders(bed);
    assert_targets("d=127.0.0.1:1 ");
    (void)fed_publish(bed, 'a', UDPAI_DELIVERY_TYPE, "!");
    (void)fed_publish(bed, 'd', UDPAI_DELIVERY_TYPE, "!");
    (void)fed_publish(bed, 'd', UDPAI_DELIVERY_TYPE, "-com.acme/d");
    assert_orders(bed, "hangup d");
    assert_targets("-d ");
    fed_advance(bed, 10 * LINGER);
    assert_targets("");
    assert_orders(bed, "");
}

/* ---- over a restart ---- */

static void
after_a_restart_it_is_there_at_once(void **state)
{
    fed_bed *bed = *state;
    start_with_d(bed);
    fed_restart(bed);
    assert_targets("d=127.0.0.1:1 ");
    assert_value(bed, "EDS", "x", "of-d");
    assert_non_null(strstr(fed_orders(bed), "dial d"));
    fed_connect(bed, 'd');
    assert_orders(bed, "sub d EDS :x+1");
}

static void
forget_origin(fed_bed *bed, const char *key)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *origin = NULL;
    assert_ok(udpa_bytes_new(&origin, key, strlen(key)));
    fed_disk_do(&bed->kept,
                &(udpai_durable_op){.kind = UDPAI_DURABLE_FORGET_ORIGIN, .origin = origin});
}

/* Kept contents of one whose resource is not kept, such as one of a file. */
static void
what_was_kept_of_it_waits_for_it(void **state)
{
    fed_bed *bed = *state;
    speech by_file = to_d;
    udpa_resource *resource = say(&by_file);
    udpai_directory directory = {.root = UDPAI_STR("/files"),
                                 .authority = UDPAI_STR("x"),
                                 .resources = &resource,
                                 .n_resources = 1};
    configure(bed, "d");
    bed->root = "/files";
    fed_start(bed);
    assert_ok(udpai_node_set_files(bed->node, &directory, NULL));
    udpa_resource_unref(resource);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', UDPAI_DELIVERY_TYPE, "!");
    (void)fed_orders(bed);
    fed_connect(bed, 'd');
    (void)fed_publish(bed, 'd', "EDS", "x=of-d !");
    assert_value(bed, "EDS", "x", "of-d");
    forget_origin(bed, "path:/files");
    fed_restart(bed);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', UDPAI_DELIVERY_TYPE, "!");
    fed_advance(bed, AWAITED - 5000);
    assert_value(bed, "EDS", "x", "of-d");
    fed_advance(bed, 10000); /* the directory was not read yet */
    assert_value(bed, "EDS", "x", "of-d");
    directory.n_resources = 0;
    assert_ok(udpai_node_set_files(bed->node, &directory, NULL));
    fed_advance(bed, 5000);
    assert_value(bed, "EDS", "x", "");
}

/* ---- what is refused ---- */

static void
refuses(fed_bed *bed, const speech *self, const char *words)
{
    const char *refused = publish(bed, self);
    if (!strstr(refused, words))
        fail_msg("'%s' does not say '%s'", refused, words);
    assert_targets("");
    assert_orders(bed, "");
}

static void
what_is_wrong_changes_nothing(void **state)
{
    fed_bed *bed = *state;
    start_with_d(bed);
    speech wrong = to_d;
    wrong.name = "a/b";
    refuses(bed, &wrong, "'a/b' is no name of a ConfigSource");
    wrong.name = "a";
    refuses(bed, &wrong, "this node's configuration has a ConfigSource 'a'");
    wrong = to_d;
    wrong.has_tls = true;
    refuses(bed, &wrong, "may name no files");
    wrong = to_d;
    wrong.recovers = true;
    refuses(bed, &wrong, "says recover or stand_in");
    wrong = to_d;
    wrong.is_path = true;
    refuses(bed, &wrong, "must be of kind udpa or xds");
    wrong = to_d;
    char long_address[600];
    memset(long_address, 'a', sizeof(long_address));
    long_address[sizeof(long_address) - 1] = '\0';
    wrong.address = long_address;
    refuses(bed, &wrong, "needs an address");
    wrong = to_d;
    wrong.xds_for = "control";
    wrong.is_per_client = true;
    refuses(bed, &wrong, "has an audience");
    wrong = to_d;
    wrong.xds_for = "";
    refuses(bed, &wrong, "needs an authority");
    wrong = to_d;
    wrong.address = "127.0.0.1:3";
    targets.refusal = "that is this node itself";
    refuses(bed, &wrong, "that is this node itself");
    assert_value(bed, "EDS", "x", "of-d");
}

static void
others_may_not_deliver(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    speech other = to_d;
    other.authority = "y";
    refuses(bed, &other, "is of 'y', of whom this node takes none");
    other = to_d;
    other.by = "org.other/d";
    refuses(bed, &other, "lies outside dynamic_sources.namespaces");
}

static void
who_may_not_deliver_ends_what_was_delivered(void **state)
{
    fed_bed *bed = *state;
    start_with_d(bed);
    speech other = to_d;
    other.authority = "y";
    assert_non_null(strstr(publish(bed, &other), "of whom this node takes none"));
    assert_targets("-d ");
    assert_orders(bed, "hangup d");
}

static void
a_name_is_the_firsts_as_long_as_it_is_there(void **state)
{
    fed_bed *bed = *state;
    start_with_d(bed);
    speech second = to_d;
    second.by = "com.acme/other";
    second.address = "127.0.0.1:2";
    refuses(bed, &second, "'d' comes by the resource 'com.acme/d' already");
    (void)withdraw(bed, "com.acme/d");
    assert_targets("-d d=127.0.0.1:2 ");
    assert_orders(bed, "hangup d, dial e"); /* by another link */
    assert_value(bed, "EDS", "x", "of-d");
}

static void
there_are_no_more_than_may_be(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    static const char *const names[] = {"com.acme/1", "com.acme/2", "com.acme/3"};
    speech next = to_d;
    for (int i = 0; i < 2; i++) {
        next.by = names[i];
        next.name = names[i] + 9;
        assert_string_equal(publish(bed, &next), "");
    }
    assert_targets("1=127.0.0.1:1 2=127.0.0.1:1 ");
    next.by = names[2];
    next.name = "3";
    refuses(bed, &next, "2 ConfigSources come by resources already");
    (void)withdraw(bed, names[0]);
    assert_targets("-1 3=127.0.0.1:1 "); /* there is room now */
}

static void
no_more_are_awaited_than_may_be(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    assert_string_equal(delegate(bed, "x", "d"), "");
    assert_string_equal(delegate(bed, "y", "e"), "");
    assert_non_null(strstr(delegate(bed, "z", "f"), "that are not there are named already"));
    assert_string_equal(publish(bed, &to_d), "");
    fed_connect(bed, 'd'); /* and what was refused has its place now */
    speech to_f = to_d;
    to_f.by = "com.acme/f";
    to_f.name = "f";
    assert_string_equal(publish(bed, &to_f), "");
    (void)fed_orders(bed);
    fed_want(bed, "EDS", "com.acme/z");
    assert_false(fed_name_settled(bed, "EDS", "com.acme/z"));
}

static void
garbage_is_refused(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    assert_true(*fed_put(
        bed, bed->sessions[0],
        RESOURCE("com.acme/d", .type = UDPAI_DELIVERY_TYPE, .value = "\x0a\x7f", .authority = "x"),
        false));
    assert_targets("");
}

static void
without_rules_none_are_taken(void **state)
{
    fed_bed *bed = *state;
    bed->config.delivery.n_authorities = 0;
    start(bed);
    assert_string_equal(publish(bed, &to_d), "");
    assert_targets("");
    assert_non_null(strstr(delegate(bed, "x", "d"), "which this node does not have"));
}

/* ---- without memory ---- */

static void
without_memory_it_is_made_up_for(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    assert_string_equal(delegate(bed, "x", "d"), "");
    for (long n = 0; n < 80; n++) {
        fed_short(bed, n, true);
        (void)publish(bed, &to_d);
        fed_advance(bed, 1);
        assert_value(bed, "EDS", "x", "of-a");
        if (strstr(fed_orders(bed), "dial"))
            return;
    }
    fail_msg("it was never taken");
}

/* The word was lost, and its source hung up for that: it says it again. */
static void
say_again_that_it_is_gone(fed_bed *bed)
{
    fed_close(bed, 'a');
    fed_advance(bed, 1000);
    fed_connect(bed, 'a');
    (void)fed_publish(bed, 'a', UDPAI_DELIVERY_TYPE, "-com.acme/d !");
}

/* What there is no memory to tell subscribers in the process of, they are not told again. */
#define N_UNTOLD 3

static void
without_memory_its_end_is_made_up_for(void **state)
{
    int n_untold = 0;
    for (long n = 0; n < 30; n++) {
        fed_bed *bed = *state;
        start_with_d(bed);
        fed_short(bed, n, true);
        (void)withdraw(bed, "com.acme/d");
        fed_advance(bed, 1);
        if (strstr(fed_orders(bed), "hangup a"))
            say_again_that_it_is_gone(bed);
        n_untold += !*targets.text;
        if (*targets.text) {
            assert_targets("-d ");
            fed_advance(bed, LINGER);
            assert_value(bed, "EDS", "x", "");
        }
        assert_int_equal(teardown(state), 0);
        assert_int_equal(setup(state), 0);
    }
    assert_true(n_untold <= N_UNTOLD);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        delivery_test(what_names_it_is_asked_of_it),
        delivery_test(what_names_it_waits_for_it),
        delivery_test(what_the_configuration_names_fails_over_behind_it),
        delivery_test(another_address_is_no_failure),
        delivery_test(the_same_again_changes_nothing),
        delivery_test(another_kind_is_another_source),
        delivery_test(another_name_is_another_source),
        delivery_test(what_came_by_it_stays_for_a_while_and_goes),
        delivery_test(what_is_said_on_its_stream_is_nobodys),
        delivery_test(it_comes_back_to_what_it_had),
        delivery_test(it_comes_back_after_all_has_gone),
        delivery_test(who_stands_in_goes_on),
        delivery_test(one_that_delivers_itself_ends),
        delivery_test(after_a_restart_it_is_there_at_once),
        delivery_test(what_was_kept_of_it_waits_for_it),
        delivery_test(what_is_wrong_changes_nothing),
        delivery_test(others_may_not_deliver),
        delivery_test(who_may_not_deliver_ends_what_was_delivered),
        delivery_test(a_name_is_the_firsts_as_long_as_it_is_there),
        delivery_test(there_are_no_more_than_may_be),
        delivery_test(no_more_are_awaited_than_may_be),
        delivery_test(garbage_is_refused),
        delivery_test(without_rules_none_are_taken),
        delivery_test(without_memory_it_is_made_up_for),
        delivery_test(without_memory_its_end_is_made_up_for),
    };
    return cmocka_run_group_tests_name("delivery", tests, NULL, NULL);
}
