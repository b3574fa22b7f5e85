/* SPDX-License-Identifier: Apache-2.0 */
/* To which audience a client belongs, and what it is shown then. */
#include <stdio.h>

#include "tests/harness/wire.h"
#include "xds_test.h"

/* ---- who belongs to it ---- */

#define WORDS(...)                                                                                 \
    {                                                                                              \
        (const udpai_str[]){__VA_ARGS__},                                                          \
            sizeof((const udpai_str[]){__VA_ARGS__}) / sizeof(udpai_str)                           \
    }
#define WORD(text)                                                                                 \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

/* Does a client with this Node and certificate belong to an audience with this match? */
static bool
matches(const udpai_xds_match *match, const udpai_node_parts *parts, const udpai_identity *identity)
{
    udpai_xds_audience audience = {.match = *match};
    udpai_node_info *node = NULL;
    assert_ok(udpai_node_info_new(&node, parts));
    udpai_xds_audience *found = udpai_xds_audience_choose(&audience, 1, identity, node);
    udpai_node_info_unref(node);
    assert_true(!found || found == &audience);
    return found != NULL;
}

static void
expect_pattern(const char *pattern, const char *id, bool expected)
{
    const udpai_str item = udpai_str_from(pattern);
    const udpai_xds_match match = {.node_ids = {&item, 1}};
    const udpai_node_parts parts = {.id = udpai_str_from(id)};
    if (matches(&match, &parts, NULL) != expected)
        fail_msg("pattern '%s', text '%s'", pattern, id);
}

static void
a_star_stands_for_any_bytes(void **state)
{
    (void)state;
    expect_pattern("a", "a", true);
    expect_pattern("a", "b", false);
    expect_pattern("a", "ab", false);
    expect_pattern("ab", "a", false);
    expect_pattern("*", "", true);
    expect_pattern("*", "any/thing", true);
    expect_pattern("edge-*", "edge-7", true);
    expect_pattern("edge-*", "edge-", true);
    expect_pattern("edge-*", "ledge-7", false);
    expect_pattern("*-canary", "a-canary-canary", true);
    expect_pattern("*-canary", "a-canary-", false);
    expect_pattern("a*b*c", "a-b-b-c-c", true);
    expect_pattern("a*b*c", "a-c-b", false);
    expect_pattern("**", "", true);
    expect_pattern("a**", "ab", true);
    expect_pattern("a?c", "abc", false);
}

static void
everything_that_is_given_must_match(void **state)
{
    (void)state;
    static const udpai_str features[] = {WORD("x"), WORD("y.z")};
    const udpai_node_parts node = {
        .id = UDPAI_STR("n"),
        .cluster = UDPAI_STR("c"),
        .region = UDPAI_STR("r"),
        .zone = UDPAI_STR("z"),
        .sub_zone = UDPAI_STR("s"),
        .features = features,
        .n_features = UDPAI_ARRAY_LEN(features),
    };
    assert_true(matches(&(udpai_xds_match){0}, &node, NULL));
    assert_true(matches(&(udpai_xds_match){.node_ids = WORDS(WORD("m"), WORD("n")),
                                           .clusters = WORDS(WORD("c")),
                                           .region = UDPAI_STR("r"),
                                           .zone = UDPAI_STR("*"),
                                           .client_features = WORDS(WORD("y.*"), WORD("x"))},
                        &node, NULL));
    assert_false(
        matches(&(udpai_xds_match){.node_ids = WORDS(WORD("n")), .clusters = WORDS(WORD("d"))},
                &node, NULL));
    assert_false(matches(&(udpai_xds_match){.region = UDPAI_STR("q")}, &node, NULL));
    assert_false(matches(&(udpai_xds_match){.zone = UDPAI_STR("q")}, &node, NULL));
    assert_false(matches(&(udpai_xds_match){.sub_zone = UDPAI_STR("q")}, &node, NULL));
    assert_false(
        matches(&(udpai_xds_match){.client_features = WORDS(WORD("x"), WORD("w"))}, &node, NULL));
    assert_false(matches(&(udpai_xds_match){.clusters = WORDS(WORD("c"))},
                         &(udpai_node_parts){.id = UDPAI_STR("n")}, NULL));
}

/* What a client says of itself is no certificate. */
static void
only_a_certificate_gives_an_identity(void **state)
{
    (void)state;
    static const udpai_str uris[] = {WORD("spiffe://acme/edge/7")}, names[] = {WORD("e.acme.com")};
    const udpai_identity_parts parts = {
        .common_name = UDPAI_STR("edge-7"),
        .uris = uris,
        .n_uris = 1,
        .dns_names = names,
        .n_dns_names = 1,
        .authenticated = true,
    };
    udpai_identity_parts said = parts;
    said.authenticated = false;
    udpai_identity *identity = NULL, *claimed = NULL;
    assert_ok(udpai_identity_new(&identity, &parts));
    assert_ok(udpai_identity_new(&claimed, &said));
    const udpai_node_parts node = {.id = UDPAI_STR("edge-7")};
    const udpai_xds_match all[] = {
        {.identities = WORDS(WORD("edge-*"))},
        {.identities = WORDS(WORD("x"), WORD("spiffe://acme/edge/*"))},
        {.identities = WORDS(WORD("*.acme.com"))},
    };
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(all); i++) {
        assert_true(matches(&all[i], &node, identity));
        assert_false(matches(&all[i], &node, claimed));
        assert_false(matches(&all[i], &node, NULL));
    }
    assert_false(matches(&(udpai_xds_match){.identities = WORDS(WORD("edge"))}, &node, identity));
    udpai_identity_unref(identity);
    udpai_identity_unref(claimed);
}

/* ---- metadata ---- */

#define V_STRING(text) W_TEXT(3, text)
#define V_BOOL(value) W_VARINT(4, value)
#define ENTRY(key, value) W_MESSAGE(1, W_TEXT(1, key), W_MESSAGE(2, value))

static udpai_str
v_number(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof(bits));
    return wire_fixed64(2, bits);
}

static bool
metadata_has(udpai_str metadata, const char *outer, const char *inner, const char *value)
{
    const udpai_str path[] = {udpai_str_from(outer), udpai_str_from(inner)};
    const udpai_xds_metadata_match wanted = {path, *inner ? 2 : 1, udpai_str_from(value)};
    const udpai_xds_match match = {.metadata = &wanted, .n_metadata = 1};
    return matches(&match, &(udpai_node_parts){.metadata = metadata}, NULL);
}

static void
metadata_is_found_by_its_path(void **state)
{
    (void)state;
    udpai_str metadata = W_JOIN(
        ENTRY("team", V_STRING("payments")), ENTRY("canary", V_BOOL(1)),
        ENTRY("shard", v_number(7)), ENTRY("nothing", W_VARINT(1, 0)),
        ENTRY("labels", W_MESSAGE(5, ENTRY("app.kubernetes.io/name", V_STRING("web-1")))),
        ENTRY("tags", W_MESSAGE(6, W_MESSAGE(1, V_STRING("a")), W_MESSAGE(1, v_number(0.5)))));
    assert_true(metadata_has(metadata, "team", "", "payments"));
    assert_true(metadata_has(metadata, "team", "", "pay*"));
    assert_false(metadata_has(metadata, "team", "", "pay"));
    assert_true(metadata_has(metadata, "canary", "", "true"));
    assert_false(metadata_has(metadata, "canary", "", "false"));
    assert_false(metadata_has(metadata, "canary", "", "*"));
    assert_true(metadata_has(metadata, "shard", "", "7"));
    assert_true(metadata_has(metadata, "shard", "", "7.0"));
    assert_false(metadata_has(metadata, "shard", "", "7x"));
    assert_false(metadata_has(metadata, "shard", "", ""));
    assert_false(metadata_has(metadata, "nothing", "", "*"));
    assert_false(metadata_has(metadata, "missing", "", "*"));
    assert_true(metadata_has(metadata, "labels", "app.kubernetes.io/name", "web-*"));
    assert_false(metadata_has(metadata, "labels", "app", "*"));
    assert_false(metadata_has(metadata, "labels", "", "*"));
    assert_false(metadata_has(metadata, "team", "payments", "*"));
    assert_true(metadata_has(metadata, "tags", "", "a"));
    assert_true(metadata_has(metadata, "tags", "", "0.5"));
    assert_false(metadata_has(metadata, "tags", "", "b"));
    wire_free_all();
}

static void
the_last_of_two_counts_and_what_is_malformed_does_not(void **state)
{
    (void)state;
    assert_true(
        metadata_has(W_JOIN(ENTRY("k", V_STRING("a")), ENTRY("k", V_STRING("b"))), "k", "", "b"));
    assert_false(
        metadata_has(W_JOIN(ENTRY("k", V_STRING("a")), ENTRY("k", V_STRING("b"))), "k", "", "a"));
    assert_true(metadata_has(ENTRY("k", W_JOIN(V_BOOL(1), V_STRING("b"))), "k", "", "b"));
    assert_false(
        metadata_has(W_JOIN(ENTRY("k", V_STRING("a")), UDPAI_STR("\x12\x7f")), "k", "", "a"));
    assert_false(metadata_has(ENTRY("k", UDPAI_STR("\x1a\x7f")), "k", "", "*"));
    assert_false(metadata_has(W_NOTHING, "k", "", "*"));
    assert_false(metadata_has(ENTRY("k", W_NOTHING), "k", "", "*"));
    wire_free_all();
}

/* ---- what they are shown ---- */

typedef struct fixture {
    xds_world world;
    xds_client client;
    udpai_xds_audience audiences[2];
} fixture;

/* The first audience: node ids "shop-*", namespace shop.acme; the second: cluster "c". */
static int
setup(void **state)
{
    static const udpai_str shops = WORD("shop-*"), cluster = WORD("back"), more[] = {WORD("com")};
    fixture *self = calloc(1, sizeof(*self));
    xds_world_init(&self->world);
    xds_settle(&self->world);
    self->audiences[0] = (udpai_xds_audience){
        .name = UDPAI_STR("shops"),
        .match.node_ids = {&shops, 1},
        .default_namespace = UDPAI_STR("shop.acme"),
        .control_plane = UDPAI_STR("udpa-test"),
    };
    self->audiences[1] = (udpai_xds_audience){
        .name = UDPAI_STR("back"),
        .match.node_ids = {&cluster, 1},
        .default_namespace = UDPAI_STR("local"),
        .namespaces = more,
        .n_namespaces = 1,
        .control_plane = UDPAI_STR("udpa-test"),
    };
    self->world.xds_server.audiences = self->audiences;
    self->world.xds_server.n_audiences = 2;
    udpai_xds_server_init(&self->world.xds_server);
    xds_change(&self->world, "+CDS/shop.acme/a=1 +CDS/local/b=1 +CDS/com.acme/c=1");
    *state = self;
    return 0;
}

static int
teardown(void **state)
{
    fixture *self = *state;
    xds_world_done(&self->world);
    free(self);
    return 0;
}

static void
ask_as(fixture *self, bool is_delta, const char *node_id)
{
    xds_client_open(&self->client, &self->world, is_delta);
    XDS_SEND(&self->client, "CDS", .names = "", .node_id = node_id);
}

static void
each_audience_is_shown_its_own(void **state)
{
    fixture *self = *state;
    for (int is_delta = 0; is_delta < 2; is_delta++) {
        ask_as(self, is_delta, "shop-1");
        xds_expect(&self->client, is_delta ? "CDS[a]" : "CDS[shop.acme/a]");
        xds_client_close(&self->client);
        ask_as(self, is_delta, "back");
        xds_expect(&self->client, "CDS[b com.acme/c]");
        xds_client_close(&self->client);
    }
}

static void
what_changes_is_told_to_whom_it_concerns(void **state)
{
    fixture *self = *state;
    xds_client other;
    ask_as(self, true, "shop-1");
    xds_expect(&self->client, "CDS[a]");
    xds_client_open(&other, &self->world, true);
    XDS_SEND(&other, "CDS", .names = "", .node_id = "back");
    xds_expect(&other, "CDS[b com.acme/c]");
    xds_change(&self->world, "+CDS/local/b=2");
    xds_expect(&self->client, "");
    xds_expect(&other, "CDS[b]");
    xds_client_close(&other);
    xds_client_close(&self->client);
}

static void
expect_parameter(const char *type_url, const char *key, const char *value, bool expected)
{
    const udpai_xds_parameter_match parameter = {udpai_str_from(type_url), udpai_str_from(key),
                                                 udpai_str_from(value)};
    const udpai_xds_match match = {.parameters = &parameter, .n_parameters = 1};
    udpai_str env = W_MESSAGE(1, W_TEXT(1, "env"), W_TEXT(2, "blue")),
              size = W_MESSAGE(1, W_TEXT(1, "size"), W_TEXT(2, "9"));
    const udpai_node_parts node = {
        .parameters = W_JOIN(W_MESSAGE(12, W_TEXT(1, "x/A"), W_MESSAGE(2, size)),
                             W_MESSAGE(12, W_TEXT(1, "x/B"), W_MESSAGE(2, size, env)))};
    if (matches(&match, &node, NULL) != expected)
        fail_msg("type '%s', %s=%s", type_url, key, value);
    assert_false(matches(&match, &(udpai_node_parts){.id = UDPAI_STR("n")}, NULL));
    const udpai_node_parts broken = {.parameters = W_JOIN(node.parameters, UDPAI_STR("\x62\x7f"))};
    assert_false(matches(&match, &broken, NULL));
    wire_free_all();
}

static void
parameters_are_found_by_type_and_key(void **state)
{
    (void)state;
    expect_parameter("", "env", "blue", true);
    expect_parameter("", "env", "b*", true);
    expect_parameter("", "env", "red", false);
    expect_parameter("", "blue", "env", false);
    expect_parameter("x/B", "env", "blue", true);
    expect_parameter("x/A", "env", "blue", false);
    expect_parameter("x/A", "size", "9", true);
    expect_parameter("x/C", "size", "9", false);
}

static void
say_again(fixture *self, const char *node_id, const char *parameter)
{
    XDS_SEND(&self->client, "CDS", .names = self->client.is_delta ? "" : "*", .node_id = node_id,
             .says_node = true, .parameter = parameter);
}

/* It is told at once that it must connect again, and then it is what it has become. */
static void
a_client_may_change_its_audience(void **state)
{
    fixture *self = *state;
    const udpai_xds_parameter_match green = {.key = UDPAI_STR("env"), .value = UDPAI_STR("green")};
    self->audiences[0].match = (udpai_xds_match){.parameters = &green, .n_parameters = 1};
    for (int is_delta = 0; is_delta < 2; is_delta++) {
        ask_as(self, is_delta, "back");
        xds_expect(&self->client, "CDS[b com.acme/c]");
        /* The same, less, or something that makes no difference. */
        say_again(self, "back", NULL);
        say_again(self, "", "env=green");
        say_again(self, "back", "env=blue");
        xds_expect(&self->client, "");
        say_again(self, "back", "env=green");
        xds_expect_end(&self->client, UDPA_ERR_ABORTED, "audience 'shops'");
        xds_expect_end(&self->client, UDPA_ERR_ABORTED, "no longer to 'back'");
        xds_client_reopen(&self->client);
        XDS_SEND(&self->client, "CDS", .names = "", .node_id = "back", .parameter = "env=green");
        xds_expect(&self->client, is_delta ? "CDS[a]" : "CDS[shop.acme/a]");
        xds_client_close(&self->client);
    }
}

/* What it held as another is taken away; what it still may see, it keeps. */
static void
what_it_may_not_see_any_more_is_removed(void **state)
{
    fixture *self = *state;
    char hash[UDPAI_CONTENT_HASH_HEX + 1], held[256];
    self->audiences[0].namespaces = self->audiences[1].namespaces; /* com.acme */
    self->audiences[0].n_namespaces = 1;
    xds_client_open(&self->client, &self->world, true);
    snprintf(held, sizeof(held), "b=x com.acme/c=%s", xds_hash("CDS/com.acme/c=1", hash));
    XDS_SEND(&self->client, "CDS", .names = "", .node_id = "shop-1", .held = held);
    xds_expect(&self->client, "CDS[a] CDS[-b]");
    xds_client_close(&self->client);
}

static void
who_comes_to_belong_to_none_is_refused(void **state)
{
    fixture *self = *state;
    ask_as(self, true, "shop-1");
    xds_expect(&self->client, "CDS[a]");
    say_again(self, "workshop", NULL);
    xds_expect_end(&self->client, UDPA_ERR_DENIED, "node id 'workshop'");
    xds_client_close(&self->client);
}

static void
who_belongs_to_none_is_refused_with_words(void **state)
{
    fixture *self = *state;
    ask_as(self, true, "workshop");
    xds_expect_end(&self->client, UDPA_ERR_DENIED, "node id 'workshop'");
    xds_expect_end(&self->client, UDPA_ERR_DENIED, "cluster 'cluster'");
    xds_client_close(&self->client);
}

static void
who_does_not_say_who_he_is_belongs_where_everybody_does(void **state)
{
    fixture *self = *state;
    xds_client_open(&self->client, &self->world, true);
    self->client.sent_first = true; /* no Node */
    XDS_SEND(&self->client, "CDS", .names = "");
    xds_expect_end(&self->client, UDPA_ERR_DENIED, "node id ''");
    xds_client_close(&self->client);
    self->audiences[1].match = (udpai_xds_match){0};
    xds_client_open(&self->client, &self->world, true);
    self->client.sent_first = true;
    XDS_SEND(&self->client, "CDS", .names = "");
    xds_expect(&self->client, "CDS[b com.acme/c]");
    xds_client_close(&self->client);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_star_stands_for_any_bytes),
        cmocka_unit_test(everything_that_is_given_must_match),
        cmocka_unit_test(only_a_certificate_gives_an_identity),
        cmocka_unit_test(metadata_is_found_by_its_path),
        cmocka_unit_test(the_last_of_two_counts_and_what_is_malformed_does_not),
        cmocka_unit_test(parameters_are_found_by_type_and_key),
        CASE(each_audience_is_shown_its_own),
        CASE(a_client_may_change_its_audience),
        CASE(what_it_may_not_see_any_more_is_removed),
        CASE(who_comes_to_belong_to_none_is_refused),
        CASE(what_changes_is_told_to_whom_it_concerns),
        CASE(who_belongs_to_none_is_refused_with_words),
        CASE(who_does_not_say_who_he_is_belongs_where_everybody_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
