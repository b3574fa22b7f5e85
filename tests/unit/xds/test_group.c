/* SPDX-License-Identifier: Apache-2.0 */
/* Clients whose name space is made of what they say of themselves. */
#include <stdio.h>

#include "base/alloc.h"
#include "tests/harness/wire.h"
#include "xds_test.h"

#define NAME_SPACE "local/clients/{node_id}"

/* ---- name spaces ---- */

static void
expect_expanded(const char *template, const udpai_node_parts *parts, const char *expected)
{
    char room[UDPAI_XDS_GROUP_NAMESPACE_MAX];
    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *node = NULL;
    UDPA_AUTO(udpai_identity_unref) udpai_identity *identity = NULL;
    udpai_str name_space = {0};
    assert_ok(udpai_node_info_new(&node, parts));
    assert_ok(udpai_identity_new(&identity, &(udpai_identity_parts){
                                                .common_name = UDPAI_STR("spiffe://a/b"),
                                                .authenticated = true,
                                            }));
    const udpai_xds_client client = {identity, node};
    udpa_err err =
        udpai_xds_template_expand(udpai_str_from(template), &client, room, &name_space, NULL);
    assert_int_equal(err, expected ? UDPA_OK : UDPA_ERR_DENIED);
    if (expected)
        assert_str(name_space, expected);
}

static void
words_are_what_the_client_says(void **state)
{
    (void)state;
    const udpai_node_parts parts = {
        .id = UDPAI_STR("n"),
        .cluster = UDPAI_STR("c"),
        .region = UDPAI_STR("r"),
        .zone = UDPAI_STR("z"),
        .sub_zone = UDPAI_STR("s"),
    };
    expect_expanded("a/{node_id}", &parts, "a/n");
    expect_expanded("a/{cluster}", &parts, "a/c");
    expect_expanded("a/{region}.{zone}.{sub_zone}/x", &parts, "a/r.z.s/x");
    expect_expanded("a/{identity}", &parts, "a/spiffe:%2F%2Fa%2Fb");
    expect_expanded("a/{cluster}", &(udpai_node_parts){.id = UDPAI_STR("n")}, NULL);
}

/* No value reaches another client's name space, or makes one name of two. */
static void
a_value_is_one_segment(void **state)
{
    (void)state;
    expect_expanded("a/{node_id}", &(udpai_node_parts){.id = UDPAI_STR("x/y")}, "a/x%2Fy");
    expect_expanded("a/{node_id}", &(udpai_node_parts){.id = UDPAI_STR("x%2Fy")}, "a/x%252Fy");
    expect_expanded("a/{node_id}", &(udpai_node_parts){.id = UDPAI_STR("*")}, "a/%2A");
    expect_expanded("a/{node_id}", &(udpai_node_parts){.id = UDPAI_STR("{cluster}?#")},
                    "a/%7Bcluster%7D%3F%23");
    expect_expanded("a/{node_id}", &(udpai_node_parts){.id = UDPAI_STR("sidecar~10.1.2.3~a.b~c")},
                    "a/sidecar~10.1.2.3~a.b~c");
}

/* Words of one segment: what stands between them is escaped in what they stand for. */
static void
no_two_make_one_name(void **state)
{
    (void)state;
    static const char *const templates[] = {"a/{region}.{zone}", "a/{region}-{zone}/{node_id}",
                                            "a/{region}:-{zone}", "a/x.{region}=.{zone}.y"};
    static const char *const values[] = {"a", "b",   "a.b", "b.a",  "a-b", "a-", "-b",
                                         "-", ".",   "..",  "a:-b", "a:",  "-:", "=.a",
                                         "=", "%2E", "2E",  "/",    "a/b"};
    char made[UDPAI_ARRAY_LEN(values) * UDPAI_ARRAY_LEN(values)][100];
    for (size_t t = 0; t < UDPAI_ARRAY_LEN(templates); t++) {
        size_t n = 0;
        for (size_t i = 0; i < UDPAI_ARRAY_LEN(values); i++)
            for (size_t k = 0; k < UDPAI_ARRAY_LEN(values); k++) {
                char room[UDPAI_XDS_GROUP_NAMESPACE_MAX];
                udpai_str name_space;
                UDPA_AUTO(udpai_node_info_unref) udpai_node_info *node = NULL;
                const udpai_node_parts parts = {.id = UDPAI_STR("n"),
                                                .region = udpai_str_from(values[i]),
                                                .zone = udpai_str_from(values[k])};
                assert_ok(udpai_node_info_new(&node, &parts));
                const udpai_xds_client client = {.node = node};
                assert_ok(udpai_xds_template_expand(udpai_str_from(templates[t]), &client, room,
                                                    &name_space, NULL));
                snprintf(made[n], sizeof(made[n]), "%.*s", UDPAI_SHOWN(name_space));
                for (size_t before = 0; before < n; before++)
                    assert_string_not_equal(made[before], made[n]);
                n++;
            }
    }
    expect_expanded("a/{region}-{zone}",
                    &(udpai_node_parts){.region = UDPAI_STR("eu-1"), .zone = UDPAI_STR("b.c")},
                    "a/eu%2D1-b.c");
}

static void
one_that_is_too_long_is_refused(void **state)
{
    (void)state;
    char id[200], room[UDPAI_XDS_GROUP_NAMESPACE_MAX];
    memset(id, '/', sizeof(id));
    UDPA_AUTO(udpai_node_info_unref) udpai_node_info *node = NULL;
    udpai_str name_space;
    assert_ok(udpai_node_info_new(&node, &(udpai_node_parts){.id = {id, 132}}));
    const udpai_xds_client client = {.node = node};
    assert_ok(
        udpai_xds_template_expand(UDPAI_STR("abc/{node_id}"), &client, room, &name_space, NULL));
    assert_int_equal(name_space.len, UDPAI_XDS_GROUP_NAMESPACE_MAX);
    assert_int_equal(
        udpai_xds_template_expand(UDPAI_STR("abcd/{node_id}"), &client, room, &name_space, NULL),
        UDPA_ERR_LIMIT);
}

static void
expect_template(const char *template, const char *words)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_err err = udpai_xds_template_check(udpai_str_from(template), &error);
    assert_int_equal(err == UDPA_OK, words == NULL);
    if (words)
        assert_non_null(strstr(udpa_error_message(error), words));
}

static void
words_that_are_none_are_told(void **state)
{
    (void)state;
    expect_template("a.b/{node_id}", NULL);
    expect_template("a.b/x/{region}-{zone}/y", NULL);
    expect_template("{node_id}", "behind the first '/'");
    expect_template("a.{cluster}/x", "behind the first '/'");
    expect_template("a/{id}", "{id} is no word");
    expect_template("a/{}", "{} is no word");
    expect_template("a/{node_id", "{{node_id} is no word");
    expect_template("a/{nod}", "{nod} is no word");
    expect_template("a/{region}{zone}", "need something between them");
    expect_template("a/{region}x{zone}", "need something between them");
    expect_template("a/{region}%.{zone}", "need something between them");
    expect_template("a/{region}/{zone}x", NULL);
    expect_template("a/{region}x/{zone}", NULL);
    expect_template("a/{node_id}/", "empty segment");
    expect_template("a//{node_id}", "empty segment");
}

/* ---- clients ---- */

typedef struct fixture {
    xds_world world;
    xds_client one, two, other;
} fixture;

static int
setup(void **state)
{
    fixture *self = calloc(1, sizeof(*self));
    xds_world_init(&self->world);
    xds_settle(&self->world);
    self->world.audience.default_namespace = UDPAI_STR(NAME_SPACE);
    self->world.audience.n_namespaces = 0;
    udpai_xds_server_init(&self->world.xds_server);
    xds_change(&self->world, "+CDS/local/clients/n1/a=1!a +CDS/local/clients/n2/a=2!a "
                             "+CDS/local/clients/n2/b=1!b");
    fake_hub_drop_reports(&self->world.hub);
    *state = self;
    return 0;
}

static int
teardown(void **state)
{
    fixture *self = *state;
    xds_client_close(&self->one);
    xds_client_close(&self->two);
    xds_client_close(&self->other);
    assert_int_equal(self->world.xds_server.groups.by_name_space.n, 0);
    xds_world_done(&self->world);
    free(self);
    return 0;
}

static void
ask_as(fixture *self, xds_client *client, bool is_delta, const char *node_id)
{
    xds_client_open(client, &self->world, is_delta);
    XDS_SEND(client, "CDS", .names = "", .node_id = node_id);
}

/* The next thing that the loop side is told of groups: "+local/clients/n1 n1". */
static void
expect_told(fixture *self, const char *expected)
{
    char text[200] = "";
    UDPA_AUTO(udpai_report_free)
    udpai_report *report = fake_hub_take_report(&self->world.hub, UDPAI_REPORT_CLIENTS);
    udpai_str id =
        report && report->info ? udpai_node_info_parts(report->info)->id : (udpai_str){0};
    if (report)
        snprintf(text, sizeof(text), "%c%.*s %.*s", report->subscribed ? '+' : '-',
                 UDPAI_SHOWN(udpai_bytes_view(report->name_space)), UDPAI_SHOWN(id));
    assert_string_equal(text, expected);
}

static void
each_has_its_own(void **state)
{
    fixture *self = *state;
    for (int is_delta = 0; is_delta < 2; is_delta++) {
        ask_as(self, &self->one, is_delta, "n1");
        ask_as(self, &self->two, is_delta, "n2");
        xds_expect(&self->one, "CDS[a]");
        xds_expect(&self->two, "CDS[a b]");
        xds_ack_all(&self->one);
        xds_ack_all(&self->two);
        xds_change(&self->world,
                   is_delta ? "+CDS/local/clients/n1/a=8!a" : "+CDS/local/clients/n1/a=9!a");
        xds_expect(&self->one, "CDS[a]");
        xds_expect(&self->two, "");
        xds_client_close(&self->one);
        xds_client_close(&self->two);
    }
}

static void
the_first_begins_a_group_and_the_last_ends_it(void **state)
{
    fixture *self = *state;
    ask_as(self, &self->one, true, "n1");
    expect_told(self, "+local/clients/n1 n1");
    ask_as(self, &self->two, false, "n1");
    ask_as(self, &self->other, false, "n2");
    expect_told(self, "+local/clients/n2 n2");
    xds_client_close(&self->one);
    expect_told(self, "");
    xds_client_close(&self->two);
    expect_told(self, "-local/clients/n1 ");
    expect_told(self, "");
}

static void
what_it_says_later_is_told(void **state)
{
    fixture *self = *state;
    ask_as(self, &self->one, true, "n1");
    expect_told(self, "+local/clients/n1 n1");
    XDS_SEND(&self->one, "CDS", .names = "", .node_id = "n1", .says_node = true,
             .parameter = "env=blue");
    expect_told(self, "+local/clients/n1 n1");
    XDS_SEND(&self->one, "CDS", .names = "", .node_id = "n1", .says_node = true,
             .parameter = "env=blue");
    expect_told(self, "");
    XDS_SEND(&self->one, "CDS", .names = "", .node_id = "n3", .says_node = true,
             .parameter = "env=blue");
    xds_expect_end(&self->one, UDPA_ERR_ABORTED, "your Node has changed");
    expect_told(self, "");
}

static void
of_several_the_first_stands_for_all(void **state)
{
    fixture *self = *state;
    self->world.audience.default_namespace = UDPAI_STR("local/groups/{cluster}");
    ask_as(self, &self->one, true, "n1");
    expect_told(self, "+local/groups/cluster n1");
    ask_as(self, &self->two, true, "n2");
    xds_client_close(&self->one);
    ask_as(self, &self->one, true, "n3");
    expect_told(self, "");
    xds_client_close(&self->two);
    xds_client_close(&self->one);
    expect_told(self, "-local/groups/cluster ");
}

/* Its group has just ended, and begins again: what the one before had goes behind its back. */
static void
nothing_is_gone_before_its_sources_have_answered(void **state)
{
    fixture *self = *state;
    ask_as(self, &self->one, true, "n2");
    ask_as(self, &self->two, false, "n2");
    xds_expect(&self->one, "CDS[a b]");
    xds_expect(&self->two, "CDS[a b]");
    xds_ack_all(&self->one);
    xds_ack_all(&self->two);
    xds_settle_except(&self->world, "local/clients/n2");
    xds_change(&self->world, "-CDS/local/clients/n2/a -CDS/local/clients/n2/b");
    xds_expect(&self->one, "");
    xds_expect(&self->two, "");
    xds_change(&self->world, "+CDS/local/clients/n2/a=3!a");
    xds_expect(&self->one, "CDS[a]");
    xds_ack_all(&self->one);
    xds_expect(&self->two, "");
    xds_settle(&self->world);
    xds_expect(&self->one, "CDS[-b]");
    xds_expect(&self->two, "CDS[a b] CDS[a]"); /* what is new, then what has gone */
}

static void
who_does_not_say_it_is_refused(void **state)
{
    fixture *self = *state;
    ask_as(self, &self->one, true, "");
    xds_expect_end(&self->one, UDPA_ERR_DENIED, "depends on {node_id}, which you have not sent");
    expect_told(self, "");
}

static void
there_are_no_more_than_the_limit(void **state)
{
    fixture *self = *state;
    udpai_xds_groups_set_max(&self->world.xds_server.groups, 1, 0);
    ask_as(self, &self->one, true, "n1");
    ask_as(self, &self->two, true, "n1");
    xds_expect(&self->two, "CDS[a]");
    ask_as(self, &self->other, true, "n2");
    xds_expect_end(&self->other, UDPA_ERR_LIMIT, "limits.max_client_groups");
}

/* One certificate's clients do not take the others' places. */
static void
there_are_no_more_of_one_than_its_share(void **state)
{
    fixture *self = *state;
    UDPA_AUTO(udpai_identity_unref) udpai_identity *identity = NULL;
    udpai_xds_groups *groups = &self->world.xds_server.groups;
    udpai_xds_groups_set_max(groups, 0, 2);
    assert_ok(udpai_identity_new(&identity, &(udpai_identity_parts){
                                                .common_name = UDPAI_STR("mallory"),
                                                .authenticated = true,
                                            }));
    udpai_xds_group *joined[3] = {0};
    for (size_t i = 0; i < 3; i++) {
        UDPA_AUTO(udpai_node_info_unref) udpai_node_info *node = NULL;
        const char id[] = {(char)('a' + i), '\0'};
        assert_ok(udpai_node_info_new(&node, &(udpai_node_parts){.id = udpai_str_from(id)}));
        const udpai_xds_client client = {identity, node};
        udpa_err err = udpai_xds_group_join(groups, self->world.hub.hub, &self->world.audience,
                                            &client, &joined[i], NULL);
        assert_int_equal(err, i < 2 ? UDPA_OK : UDPA_ERR_LIMIT);
    }
    ask_as(self, &self->one, true, "n1");
    xds_expect(&self->one, "CDS[a]");
    for (size_t i = 0; i < 3; i++)
        udpai_xds_group_leave(groups, self->world.hub.hub, joined[i]);
}

static void
without_memory_it_is_all_or_nothing(void **state)
{
    fixture *self = *state;
    bool is_served = false;
    for (long n = 0; !is_served; n++) {
        xds_client_open(&self->one, &self->world, true);
        udpai_alloc_fail_after(n);
        XDS_SEND(&self->one, "CDS", .names = "", .node_id = "n1");
        udpai_alloc_fail_after(-1);
        is_served = !self->one.stream.is_finished;
        xds_client_close(&self->one);
        assert_int_equal(self->world.xds_server.groups.by_name_space.n, 0);
        size_t n_told = 0;
        udpai_report *report;
        while ((report = fake_hub_take_report(&self->world.hub, UDPAI_REPORT_CLIENTS))) {
            n_told += report->subscribed ? 1 : (size_t)-1;
            udpai_report_free(report);
        }
        assert_int_equal(n_told, 0);
        assert_true(n < 1000);
    }
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_what_the_client_says),
        cmocka_unit_test(a_value_is_one_segment),
        cmocka_unit_test(no_two_make_one_name),
        cmocka_unit_test(one_that_is_too_long_is_refused),
        cmocka_unit_test(words_that_are_none_are_told),
        CASE(each_has_its_own),
        CASE(the_first_begins_a_group_and_the_last_ends_it),
        CASE(what_it_says_later_is_told),
        CASE(of_several_the_first_stands_for_all),
        CASE(nothing_is_gone_before_its_sources_have_answered),
        CASE(who_does_not_say_it_is_refused),
        CASE(there_are_no_more_than_the_limit),
        CASE(there_are_no_more_of_one_than_its_share),
        CASE(without_memory_it_is_all_or_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
