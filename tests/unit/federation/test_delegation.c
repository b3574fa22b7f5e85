/* SPDX-License-Identifier: Apache-2.0 */
/* Resources that delegate others: X says that an endpoint assignment comes from Y. */
#include "federation/delegation.h"

#include "tests/unit/federation/federation_test.h"
#include "udpa/config/v1/resource_provider.pb-c.h"

#define CLA "envoy.config.endpoint.v3.ClusterLoadAssignment"
#define NAME "com.acme/x/" CLA

typedef Udpa__Config__V1__ConfigDescriptor descriptor_message;

typedef struct speech {
    const char *name, *authority;                /* of the resource */
    const char *type, *resource_name;            /* that it delegates */
    const char *source, *second_source, *prefix; /* to whom */
    int mode, continuation;
    bool is_inline;
} speech;

static const speech to_b = {NAME, "x", CLA, "com.acme/x", "b", NULL, "", 1, 0, false};

static udpa_resource *
say(const speech *self)
{
    char bytes[2048];
    descriptor_message descriptors[2], *list[] = {&descriptors[0], &descriptors[1]};
    Udpa__Config__V1__ConfigSource source = UDPA__CONFIG__V1__CONFIG_SOURCE__INIT;
    Udpa__Config__V1__ResourceProvider provider = UDPA__CONFIG__V1__RESOURCE_PROVIDER__INIT;
    const char *const sources[] = {self->source, self->second_source};
    source.name = (char *)(uintptr_t) "inline";
    provider.type = (char *)(uintptr_t)self->type;
    provider.resource_name = (char *)(uintptr_t)self->resource_name;
    provider.config_descriptors = list;
    for (; provider.n_config_descriptors < 2 && sources[provider.n_config_descriptors];
         provider.n_config_descriptors++) {
        descriptor_message *at = list[provider.n_config_descriptors];
        udpa__config__v1__config_descriptor__init(at);
        at->source_case = UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__SOURCE_RESOURCE_NAME;
        at->resource_name = (char *)(uintptr_t)sources[provider.n_config_descriptors];
        at->namespace_ = (char *)(uintptr_t)self->prefix;
        at->mode = (Udpa__Config__V1__ConfigDescriptor__Mode)self->mode;
        at->continuation =
            (Udpa__Config__V1__ConfigDescriptor__ContinuationBehavior)self->continuation;
        if (self->is_inline) {
            at->source_case = UDPA__CONFIG__V1__CONFIG_DESCRIPTOR__SOURCE_CONFIG_SOURCE;
            at->config_source = &source;
        }
    }
    size_t size = udpa__config__v1__resource_provider__pack(&provider, (uint8_t *)bytes);
    assert_true(size < sizeof(bytes) && !memchr(bytes, 0, size));
    bytes[size] = '\0';
    udpa_resource *resource = RESOURCE(self->name, .type = UDPAI_DELEGATION_TYPE, .value = bytes,
                                       .version = bytes, .authority = self->authority);
    assert_non_null(resource);
    return resource;
}

/* a has all of EDS and of delegations; those of authority x are followed. */
static void
start(fed_bed *bed)
{
    static const udpai_str authorities[] = {{"x", 1}, {"also-*", 6}};
    static const udpai_str prefixes[] = {{"com.acme", 8}};
    bed->config.delegation = (udpai_delegation_config){authorities, 2, prefixes, 1};
    fed_type(bed, "EDS");
    fed_type(bed, UDPAI_DELEGATION_TYPE);
    FED_PROVIDER(bed, {'a', "", UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    fed_want(bed, "EDS", "com.acme/x");
    (void)fed_publish(bed, 'a', "EDS", "x=of-a !");
    (void)fed_publish(bed, 'a', UDPAI_DELEGATION_TYPE, "!");
    (void)fed_orders(bed);
}

static const char *
publish(fed_bed *bed, const speech *self)
{
    return fed_put(bed, bed->sessions[0], say(self), false);
}

static const char *
withdraw(fed_bed *bed)
{
    return fed_publish(bed, 'a', UDPAI_DELEGATION_TYPE, "-" NAME);
}

/* ---- following ---- */

static void
the_source_that_it_names_is_asked_and_counts(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    assert_string_equal(publish(bed, &to_b), "");
    assert_orders(bed, "dial b");
    fed_connect(bed, 'b');
    assert_orders(bed, "sub b EDS :x");
    assert_value(bed, "EDS", "x", "of-a"); /* until b has spoken */
    assert_non_null(strstr(fed_publish(bed, 'b', "EDS", "x=of-b y=of-b !"), "'com.acme/y' lies"));
    assert_value(bed, "EDS", "x", "of-b");
    assert_value(bed, "EDS", "y", "");
}

static void
when_it_goes_what_came_by_it_goes(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    (void)publish(bed, &to_b);
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "EDS", "x=of-b !");
    (void)fed_publish(bed, 'a', "EDS", "-x");
    (void)fed_orders(bed);
    assert_value(bed, "EDS", "x", "of-b");
    assert_string_equal(withdraw(bed), "");
    assert_value(bed, "EDS", "x", "");
    assert_orders(bed, "unsub b EDS :x, hangup b");
}

static void
another_version_names_another_source(void **state)
{
    fed_bed *bed = *state;
    speech to_c = to_b;
    start(bed);
    (void)publish(bed, &to_b);
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "EDS", "x=of-b !");
    to_c.source = "c";
    assert_string_equal(publish(bed, &to_c), "");
    fed_connect(bed, 'c');
    assert_value(bed, "EDS", "x", "of-b");
    (void)fed_publish(bed, 'c', "EDS", "x=of-c !");
    assert_value(bed, "EDS", "x", "of-c");
}

static void
it_counts_from_the_start_of_the_next_process(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    (void)publish(bed, &to_b);
    fed_connect(bed, 'b');
    (void)fed_publish(bed, 'b', "EDS", "x=of-b !");
    fed_restart(bed);
    assert_value(bed, "EDS", "x", "of-b");
    fed_want(bed, "EDS", "com.acme/x");
    assert_false(fed_name_settled(bed, "EDS", "com.acme/x"));
}

static void
it_may_come_from_a_publisher(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    uint64_t session = fed_arrive(bed, &(fed_peer){.id = "operator"});
    assert_string_equal(fed_put(bed, session, say(&to_b), false), "");
    assert_orders(bed, "dial b");
}

/* ---- what is not followed ---- */

static void
refuses(fed_bed *bed, const speech *self, const char *words)
{
    const char *refused = publish(bed, self);
    if (!strstr(refused, words))
        fail_msg("'%s' does not say '%s'", refused, words);
    assert_orders(bed, "");
}

static void
others_may_not_delegate(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    speech other = to_b;
    other.authority = "y";
    refuses(bed, &other, "'y' delegates 'com.acme/x', which this node does not follow");
    other.authority = "also-me";
    assert_string_equal(publish(bed, &other), "");
    assert_orders(bed, "dial b");
}

/* Its place was taken by one that may not: what it said does not hold any more. */
static void
who_may_not_delegate_ends_what_was_delegated(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    (void)publish(bed, &to_b);
    (void)fed_orders(bed);
    speech other = to_b;
    other.authority = "y";
    assert_non_null(strstr(publish(bed, &other), "does not follow"));
    assert_orders(bed, "hangup b");
}

static void
names_outside_may_not_be_delegated(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    speech outside = to_b;
    outside.name = "org.other/x/" CLA;
    outside.resource_name = "org.other/x";
    refuses(bed, &outside, "'org.other/x' may not be delegated here");
}

static void
what_is_wrong_is_refused_and_changes_nothing(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    (void)publish(bed, &to_b);
    (void)fed_orders(bed);
    speech wrong = to_b;
    wrong.name = "com.acme/x";
    refuses(bed, &wrong, "is no name of a ResourceProvider");
    wrong = to_b;
    wrong.resource_name = "com.acme/y";
    refuses(bed, &wrong, "its name must be 'com.acme/y/" CLA "'");
    wrong = to_b;
    wrong.type = "envoy.config.cluster.v3.Cluster";
    refuses(bed, &wrong, "its name must be");
    wrong = to_b;
    wrong.is_inline = true;
    refuses(bed, &wrong, "not inline");
    wrong = to_b;
    wrong.source = "nobody";
    refuses(bed, &wrong, "names the ConfigSource 'nobody', which this node does not have");
    wrong = to_b;
    wrong.second_source = "b";
    refuses(bed, &wrong, "names the ConfigSource 'b' twice");
    wrong = to_b;
    wrong.prefix = "com.other";
    refuses(bed, &wrong, "the namespace 'com.other'");
    wrong = to_b;
    wrong.continuation = 7;
    refuses(bed, &wrong, "a continuation or a mode");
    wrong = to_b;
    wrong.source = NULL;
    refuses(bed, &wrong, "has no config_descriptors");
    fed_connect(bed, 'b');
    assert_orders(bed, "sub b EDS :x");
}

static void
who_delegates_cannot_be_delegated(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    speech wrong = to_b;
    wrong.name = "com.acme/x/udpa.config.v1.ResourceProvider";
    wrong.type = "udpa.config.v1.ResourceProvider";
    refuses(bed, &wrong, "an authority that delegates cannot be delegated");
}

static void
garbage_is_refused(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    const char *refused = fed_put(
        bed, bed->sessions[0],
        RESOURCE(NAME, .type = UDPAI_DELEGATION_TYPE, .value = "\x0a\x7f", .authority = "x"),
        false);
    assert_true(*refused);
    assert_orders(bed, "");
}

static void
without_rules_none_are_followed(void **state)
{
    fed_bed *bed = *state;
    fed_type(bed, "EDS");
    fed_type(bed, UDPAI_DELEGATION_TYPE);
    FED_PROVIDER(bed, {'a', "", UDPAI_STOP_ON_SUCCESS, false});
    fed_start(bed);
    fed_connect(bed, 'a');
    fed_want(bed, "EDS", "com.acme/x");
    (void)fed_orders(bed);
    assert_string_equal(publish(bed, &to_b), "");
    assert_orders(bed, "");
}

/* ---- names ---- */

static void
names_say_what_is_delegated(void **state)
{
    (void)state;
    char room[UDPAI_TYPE_URL_MAX];
    udpai_str type_url, name;
    assert_true(
        udpai_delegation_read_name(UDPAI_STR("com.acme/a/b/c.D_1"), room, &type_url, &name));
    assert_true(udpai_str_eq(type_url, UDPAI_STR("type.googleapis.com/c.D_1")));
    assert_true(udpai_str_eq(name, UDPAI_STR("com.acme/a/b")));
    const char *wrong[] = {
        "", "com.acme", "com.acme/x", "com.acme/x/", "com.acme/x/a-b", "com.acme/x/a b", "/x/a"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(wrong); i++)
        assert_false(udpai_delegation_read_name(udpai_str_from(wrong[i]), room, &type_url, &name));
}

/* ---- without memory ---- */

static void
without_memory_it_is_made_up_for(void **state)
{
    fed_bed *bed = *state;
    start(bed);
    for (long n = 0; n < 60; n++) {
        fed_short(bed, n, true);
        (void)publish(bed, &to_b);
        fed_advance(bed, 1);
        const char *orders = fed_orders(bed);
        fed_short(bed, -1, false);
        if (strstr(orders, "dial b"))
            return;
        assert_value(bed, "EDS", "x", "of-a");
    }
    fail_msg("it was never followed");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(the_source_that_it_names_is_asked_and_counts),
        fed_test(when_it_goes_what_came_by_it_goes),
        fed_test(another_version_names_another_source),
        fed_test(it_counts_from_the_start_of_the_next_process),
        fed_test(it_may_come_from_a_publisher),
        fed_test(others_may_not_delegate),
        fed_test(who_may_not_delegate_ends_what_was_delegated),
        fed_test(names_outside_may_not_be_delegated),
        fed_test(what_is_wrong_is_refused_and_changes_nothing),
        fed_test(who_delegates_cannot_be_delegated),
        fed_test(garbage_is_refused),
        fed_test(without_rules_none_are_followed),
        cmocka_unit_test(names_say_what_is_delegated),
        fed_test(without_memory_it_is_made_up_for),
    };
    return cmocka_run_group_tests_name("delegation", tests, NULL, NULL);
}
