/* SPDX-License-Identifier: Apache-2.0 */
/* The providers of an application: mistakes in them, and what the node is told. */
#include "endpoint/providers.h"

#include "tests/harness/oom.h"
#include "tests/harness/test.h"

typedef struct trial {
    udpa_source sources[2];
    const char *types[2];
    udpa_descriptor descriptors[3];
    udpa_provider providers[2];
    udpa_endpoint_options options;
} trial;

/* Two sources, a and b, side by side for clusters. */
static void
trial_init(trial *self)
{
    *self = (trial){
        .sources = {UDPA_SOURCE_INIT, UDPA_SOURCE_INIT},
        .types = {"envoy.config.cluster.v3.Cluster", "example.com/a.Type"},
        .descriptors = {UDPA_DESCRIPTOR_INIT, UDPA_DESCRIPTOR_INIT, UDPA_DESCRIPTOR_INIT},
        .providers = {UDPA_PROVIDER_INIT, UDPA_PROVIDER_INIT},
        .options = UDPA_ENDPOINT_OPTIONS_INIT,
    };
    self->sources[0].name = self->descriptors[0].source = self->descriptors[2].source = "a";
    self->sources[1].name = self->descriptors[1].source = "b";
    self->descriptors[0].continuation = UDPA_CONTINUE;
    self->descriptors[1].name_space = "com.acme";
    self->descriptors[1].continuation = UDPA_STOP_ON_FAILURE;
    self->descriptors[2].name_space = "com.acme";
    self->providers[0].types = self->types;
    self->providers[0].n_types = 2;
    for (int i = 0; i < 2; i++) {
        self->providers[i].descriptors = self->descriptors;
        self->providers[i].n_descriptors = 3;
    }
    self->options.sources = self->sources;
    self->options.n_sources = 2;
    self->options.providers = self->providers;
    self->options.n_providers = 2;
}

static void
refuses(const trial *self, udpa_err code, const char *words)
{
    udpai_provider_plan plan = {0};
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(udpai_provider_plan_make(&plan, &self->options, &error), code);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("'%s' does not say '%s'", udpa_error_message(error), words);
    udpai_provider_plan_done(&plan);
}

static void
test_mistakes(void **state)
{
    (void)state;
    trial self;
    trial_init(&self);
    self.descriptors[1].source = "c";
    refuses(&self, UDPA_ERR_INVAL, "names the source 'c', which the endpoint does not have");
    self.descriptors[1].source = NULL;
    refuses(&self, UDPA_ERR_INVAL, "names the source ''");
    trial_init(&self);
    self.descriptors[1].name_space = "Com.Acme";
    refuses(&self, UDPA_ERR_INVAL, "Com.Acme");
    trial_init(&self);
    self.descriptors[1].continuation = (udpa_continuation)3;
    refuses(&self, UDPA_ERR_INVAL, "3 is no continuation");
    trial_init(&self);
    self.descriptors[2].name_space = NULL;
    refuses(&self, UDPA_ERR_INVAL, "has source 'a' with the namespace '' twice");
    trial_init(&self);
    self.providers[1].n_descriptors = 0;
    refuses(&self, UDPA_ERR_INVAL, "has no descriptors");
    self.providers[1].n_descriptors = 65;
    refuses(&self, UDPA_ERR_LIMIT, "65 descriptors");
    trial_init(&self);
    self.types[0] = "";
    refuses(&self, UDPA_ERR_INVAL, "type is empty");
    trial_init(&self);
    self.providers[0].n_types = 257;
    refuses(&self, UDPA_ERR_LIMIT, "257 types");
    const char *const names[] = {"com.acme/x", "x"};
    trial_init(&self);
    self.providers[0].names = names;
    self.providers[0].n_names = 2;
    refuses(&self, UDPA_ERR_INVAL, "'x'");
    self.providers[0].n_types = 0;
    refuses(&self, UDPA_ERR_INVAL, "a provider of 'com.acme/x' has no types");
    self.providers[0].n_names = 4097;
    refuses(&self, UDPA_ERR_LIMIT, "4097 names");
    trial_init(&self);
    self.options.n_providers = 257;
    refuses(&self, UDPA_ERR_LIMIT, "257 providers");
}

static void
test_structures_have_their_size(void **state)
{
    (void)state;
    trial self;
    trial_init(&self);
    self.providers[0].struct_size = 0;
    refuses(&self, UDPA_ERR_INVAL, "UDPA_PROVIDER_INIT");
    trial_init(&self);
    self.descriptors[0].struct_size = 0;
    refuses(&self, UDPA_ERR_INVAL, "UDPA_DESCRIPTOR_INIT");
}

static void
assert_text(udpai_str text, const char *expected)
{
    assert_true(udpai_str_eq(text, udpai_str_from(expected)));
}

static void
test_the_node_has_them_in_their_order(void **state)
{
    (void)state;
    trial self;
    trial_init(&self);
    udpai_provider_plan plan = {0};
    assert_int_equal(udpai_provider_plan_make(&plan, &self.options, NULL), UDPA_OK);
    assert_int_equal(plan.providers.n, 2);
    const udpai_provider_config *typed = &plan.providers.items[0];
    assert_int_equal(typed->n_types, 2);
    assert_text(typed->types[0], "type.googleapis.com/envoy.config.cluster.v3.Cluster");
    assert_text(typed->types[1], "example.com/a.Type");
    assert_int_equal(typed->n_descriptors, 3);
    assert_text(typed->descriptors[0].source, "a");
    assert_text(typed->descriptors[0].prefix, "");
    assert_int_equal(typed->descriptors[0].continuation, UDPAI_CONTINUE);
    assert_true(typed->descriptors[0].on_demand);
    assert_text(typed->descriptors[1].source, "b");
    assert_text(typed->descriptors[1].prefix, "com.acme");
    assert_int_equal(typed->descriptors[1].continuation, UDPAI_STOP_ON_FAILURE);
    assert_int_equal(typed->descriptors[2].continuation, UDPAI_STOP_ON_SUCCESS);
    assert_int_equal(plan.providers.items[1].n_types, 0);
    udpai_provider_plan_done(&plan);
}

static void
test_names_have_their_own(void **state)
{
    (void)state;
    trial self;
    const char *const names[] = {"com.acme/x", "com.acme/y"};
    trial_init(&self);
    self.providers[0].names = names;
    self.providers[0].n_names = 2;
    udpai_provider_plan plan = {0};
    assert_int_equal(udpai_provider_plan_make(&plan, &self.options, NULL), UDPA_OK);
    assert_int_equal(plan.providers.n, 1); /* that of every type */
    assert_int_equal(plan.named.n, 4);
    assert_text(plan.named.items[1].name, "com.acme/x");
    assert_text(plan.named.items[1].type_url, "example.com/a.Type");
    assert_text(plan.named.items[2].name, "com.acme/y");
    assert_int_equal(plan.named.items[2].n_descriptors, 3);
    assert_true(plan.named.items[2].at_once);
    udpai_provider_plan_done(&plan);
}

static void
test_without_any_sources_stand_in_for_each_other(void **state)
{
    (void)state;
    trial self;
    trial_init(&self);
    udpai_provider_plan plan = {0};
    self.options.n_providers = 0;
    assert_int_equal(udpai_provider_plan_make(&plan, &self.options, NULL), UDPA_OK);
    assert_int_equal(plan.providers.n, 1);
    const udpai_provider_config *all = &plan.providers.items[0];
    assert_int_equal(all->n_types, 0);
    assert_int_equal(all->n_descriptors, 2);
    assert_text(all->descriptors[1].source, "b");
    assert_int_equal(all->descriptors[1].continuation, UDPAI_STOP_ON_SUCCESS);
    udpai_provider_plan_done(&plan);
    self.options.n_sources = 0;
    udpai_provider_plan nobody = {0};
    assert_int_equal(udpai_provider_plan_make(&nobody, &self.options, NULL), UDPA_OK);
    assert_int_equal(nobody.providers.n, 0);
    udpai_provider_plan_done(&nobody);
}

static void
test_a_source_stands_by(void **state)
{
    (void)state;
    const char *const types[] = {"udpa.load.v1.ClientLoad", "example.com/a.Type"};
    udpai_provider_plan plan = {0};
    udpai_source_config config = {0};
    udpa_source source = UDPA_SOURCE_INIT;
    source.name = "b";
    assert_int_equal(udpai_provider_plan_standby(&plan, &source, &config, NULL), UDPA_OK);
    assert_int_equal(config.n_standby, 0);
    source.standby = types;
    source.n_standby = 2;
    assert_int_equal(udpai_provider_plan_standby(&plan, &source, &config, NULL), UDPA_OK);
    assert_int_equal(config.n_standby, 2);
    assert_text(config.standby[0], "type.googleapis.com/udpa.load.v1.ClientLoad");
    assert_text(config.standby[1], "example.com/a.Type");
    udpai_provider_plan_done(&plan);
}

static void
refuses_standby(const udpa_source *source, udpa_err code, const char *words)
{
    udpai_provider_plan plan = {0};
    udpai_source_config config = {0};
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    assert_int_equal(udpai_provider_plan_standby(&plan, source, &config, &error), code);
    if (!strstr(udpa_error_message(error), words))
        fail_msg("'%s' does not say '%s'", udpa_error_message(error), words);
    udpai_provider_plan_done(&plan);
}

static void
test_who_cannot_stand_by(void **state)
{
    (void)state;
    const char *const types[] = {"udpa.load.v1.ClientLoad", ""};
    const udpa_xds_server xds = UDPA_XDS_SERVER_INIT;
    udpa_source source = UDPA_SOURCE_INIT;
    source.name = "b";
    source.standby = types;
    source.n_standby = 2;
    refuses_standby(&source, UDPA_ERR_INVAL, "type is empty");
    source.n_standby = 257;
    refuses_standby(&source, UDPA_ERR_LIMIT, "257 types of standby");
    source.n_standby = 1;
    source.only_when_needed = true;
    refuses_standby(&source, UDPA_ERR_INVAL, "source 'b': one that is connected only_when_needed");
    source.xds = &xds;
    refuses_standby(&source, UDPA_ERR_INVAL, "nothing is reported to an xDS server");
}

static udpa_err
make_standby(void *userdata)
{
    udpai_provider_plan plan = {0};
    udpai_source_config config = {0};
    udpa_err err = udpai_provider_plan_standby(&plan, userdata, &config, NULL);
    udpai_provider_plan_done(&plan);
    return err;
}

static udpa_err
make(void *userdata)
{
    const trial *self = userdata;
    udpai_provider_plan plan = {0};
    udpa_err err = udpai_provider_plan_make(&plan, &self->options, NULL);
    udpai_provider_plan_done(&plan);
    return err;
}

static void
test_lack_of_memory(void **state)
{
    (void)state;
    trial self;
    trial_init(&self);
    oom_torture(make, &self);
    self.sources[0].standby = self.types;
    self.sources[0].n_standby = 2;
    oom_torture(make_standby, &self.sources[0]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_structures_have_their_size),
        cmocka_unit_test(test_the_node_has_them_in_their_order),
        cmocka_unit_test(test_names_have_their_own),
        cmocka_unit_test(test_without_any_sources_stand_in_for_each_other),
        cmocka_unit_test(test_a_source_stands_by),
        cmocka_unit_test(test_who_cannot_stand_by),
        cmocka_unit_test(test_lack_of_memory),
    };
    return cmocka_run_group_tests_name("providers", tests, NULL, NULL);
}
