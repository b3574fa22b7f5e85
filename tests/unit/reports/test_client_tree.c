/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a tree of nodes, by what some of them have said. */
#include "reports/client_tree.h"

#include <stdio.h>

#include "base/strbuf.h"
#include "reports/client_names.h"
#include "tests/harness/oom.h"
#include "tests/harness/resources.h"
#include "udpa/status/v1/status.pb-c.h"

static udpa_err
add_value(udpai_client_tree *tree, const char *name, udpai_str value)
{
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any = udpai_any_make(UDPAI_STR(UDPAI_TYPE_CLIENT_STATUS), value);
    const udpai_resource_parts parts = {.name = udpai_str_from(name), .any = any};
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL;
    if (!any || udpai_resource_make(&resource, &parts) != UDPA_OK)
        return UDPA_ERR_NOMEM;
    return udpai_client_tree_add(tree, resource);
}

/* "top=2/1:a,b": it has told of two clients and leaves out one, and a and b are below it. */
static udpa_err
add_node(udpai_client_tree *tree, const char *text)
{
    char copy[128], name[300], *below[8], *id = copy;
    Udpa__Status__V1__NodeClients of_node = UDPA__STATUS__V1__NODE_CLIENTS__INIT;
    Udpa__Status__V1__ClientStatus status = UDPA__STATUS__V1__CLIENT_STATUS__INIT;
    uint8_t room[512];
    snprintf(copy, sizeof(copy), "%s", text);
    char *rest = strchr(copy, ':');
    *rest++ = '\0';
    of_node.nodes_below = below;
    for (char *at = strtok_r(rest, ",", &rest); at; at = strtok_r(NULL, ",", &rest))
        below[of_node.n_nodes_below++] = at;
    char *count = strchr(copy, '=');
    *count++ = '\0';
    of_node.n_clients = strtoull(count, &count, 10);
    of_node.n_left_out = strtoull(count + 1, NULL, 10);
    status.of_node = &of_node;
    size_t size = udpa__status__v1__client_status__pack(&status, room);
    snprintf(name, sizeof(name), "udpa.clients/%s/%s", id, id);
    return add_value(tree, name, (udpai_str){(const char *)room, size});
}

static udpa_err
add_client(udpai_client_tree *tree, const char *node, int number)
{
    char name[300];
    snprintf(name, sizeof(name), "udpa.clients/%s/x/%d/%s", node, number, node);
    return add_value(tree, name, (udpai_str){0});
}

/* Of another epoch than 0. */
static udpa_err
add_old_client(udpai_client_tree *tree, const char *node, int number)
{
    char name[300];
    snprintf(name, sizeof(name), "udpa.clients/%s/x/%d/%s", node, number, node);
    return add_value(tree, name, UDPAI_STR("\x68\x07"));
}

/* "top whole; a missing": in the order in which they were met. */
static const char *
show(const udpai_client_tree *tree)
{
    static const char *const words[] = {"whole", "missing", "partial", "other", "stale"};
    static char text[1000];
    text[0] = '\0';
    for (size_t i = 0; i < tree->nodes.n; i++) {
        const udpai_client_node *node = tree->nodes.items[i];
        size_t len = strlen(text);
        snprintf(text + len, sizeof(text) - len, "%s%.*s %s", i ? "; " : "",
                 (int)udpa_bytes_size(node->id), (const char *)udpa_bytes_data(node->id),
                 words[node->state]);
    }
    return text;
}

static void
expect(udpai_client_tree *tree, bool is_settled, const char *expected)
{
    bool is;
    assert_ok(udpai_client_tree_evaluate(tree, UDPAI_STR("top"), false, &is));
    assert_string_equal(show(tree), expected);
    assert_int_equal(is, is_settled);
    udpai_client_tree_clear(tree);
}

static void
it_is_known_what_is_missing(void **state)
{
    (void)state;
    udpai_client_tree tree;
    udpai_client_tree_init(&tree);
    expect(&tree, false, "top missing"); /* it has not even said so itself */
    assert_ok(add_node(&tree, "top=0/0:"));
    expect(&tree, true, "top whole");
    assert_ok(add_node(&tree, "top=1/0:a,b"));
    assert_ok(add_client(&tree, "top", 1));
    assert_ok(add_node(&tree, "a=2/0:c"));
    assert_ok(add_client(&tree, "a", 1));
    expect(&tree, false, "top whole; a partial; b missing; c missing");
    assert_ok(add_node(&tree, "top=0/0:a"));
    assert_ok(add_node(&tree, "a=2/0:top,a"));
    assert_ok(add_client(&tree, "a", 1));
    assert_ok(add_client(&tree, "a", 2));
    assert_ok(add_client(&tree, "a", 3)); /* that has gone, or comes */
    expect(&tree, true, "top whole; a whole");
}

static bool
counts(const udpai_client_tree *tree, const char *name, udpai_str value)
{
    UDPA_AUTO(udpa_bytes_unref)
    udpa_bytes *any = udpai_any_make(UDPAI_STR(UDPAI_TYPE_CLIENT_STATUS), value);
    const udpai_resource_parts parts = {.name = udpai_str_from(name), .any = any};
    UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = NULL;
    assert_ok(udpai_resource_make(&resource, &parts));
    return udpai_client_tree_counts(tree, resource);
}

static void
what_is_from_before_does_not_count(void **state)
{
    (void)state;
    udpai_client_tree tree;
    udpai_client_tree_init(&tree);
    assert_ok(add_client(&tree, "top", 1));
    assert_ok(add_old_client(&tree, "top", 2));
    assert_true(counts(&tree, "udpa.clients/top/x/2/top", UDPAI_STR("\x68\x07")));
    assert_ok(add_node(&tree, "top=2/0:"));
    assert_true(counts(&tree, "udpa.clients/top/x/1/top", UDPAI_STR("")));
    assert_false(counts(&tree, "udpa.clients/top/x/2/top", UDPAI_STR("\x68\x07")));
    assert_true(counts(&tree, "udpa.clients/other/x/2/other", UDPAI_STR("\x68\x07")));
    expect(&tree, false, "top partial");
    for (int i = 1; i < 10; i++) {
        const char value[] = {0x68, (char)i};
        assert_ok(add_value(&tree, "udpa.clients/top/x/1/top", (udpai_str){value, 2}));
    }
    assert_ok(add_node(&tree, "top=0/0:"));
    expect(&tree, true, "top whole");
}

static void
who_is_not_connected_is_stale(void **state)
{
    (void)state;
    udpai_client_tree tree;
    udpai_client_tree_init(&tree);
    assert_ok(add_node(&tree, "top=0/0:"));
    assert_ok(add_node(&tree, "a=1/0:b"));
    assert_ok(add_client(&tree, "a", 1));
    assert_ok(add_client(&tree, "d", 1));
    expect(&tree, true, "top whole; a stale; b stale; d stale");
}

static void
who_leaves_clients_out_is_not_whole_and_not_waited_for(void **state)
{
    (void)state;
    udpai_client_tree tree;
    udpai_client_tree_init(&tree);
    assert_ok(add_node(&tree, "top=0/3:"));
    expect(&tree, true, "top partial");
    assert_ok(add_client(&tree, "top", 1)); /* ahead of the count */
    expect(&tree, false, "top partial");
}

static void
one_node_alone_is_looked_at(void **state)
{
    (void)state;
    udpai_client_tree tree;
    bool is_settled;
    udpai_client_tree_init(&tree);
    assert_ok(add_node(&tree, "top=1/0:a"));
    assert_ok(add_client(&tree, "top", 1));
    assert_ok(udpai_client_tree_evaluate(&tree, UDPAI_STR("top"), true, &is_settled));
    assert_true(is_settled);
    assert_string_equal(show(&tree), "top whole; a other");
    udpai_client_tree_clear(&tree);
}

static void
words_say_what_is_amiss(void **state)
{
    (void)state;
    udpai_client_tree tree;
    char room[160];
    bool is;
    udpai_client_tree_init(&tree);
    assert_ok(add_node(&tree, "top=5/2:a"));
    assert_ok(add_client(&tree, "top", 1));
    assert_ok(udpai_client_tree_evaluate(&tree, UDPAI_STR("top"), false, &is));
    assert_string_equal(udpai_client_node_describe(tree.nodes.items[0], room, sizeof(room)),
                        "partial: 1 clients of this node are known, and it has 7");
    assert_non_null(
        strstr(udpai_client_node_describe(tree.nodes.items[1], room, sizeof(room)), "missing: "));
    udpai_client_tree_clear(&tree);
}

static void
nonsense_is_passed_over(void **state)
{
    (void)state;
    udpai_client_tree tree;
    udpai_client_tree_init(&tree);
    assert_ok(add_node(&tree, "top=0/0:"));
    assert_ok(add_value(&tree, "com.acme/x", (udpai_str){0}));
    assert_ok(add_value(&tree, "udpa.clients/%zz/%zz", (udpai_str){0}));
    assert_ok(add_value(&tree, "udpa.clients/%FF/%FF", (udpai_str){0}));
    assert_ok(add_value(&tree, "udpa.clients/a/a", UDPAI_STR("\xa2\x01\x7f\xff")));
    expect(&tree, true, "top whole; a stale");
}

static void
more_nodes_than_are_looked_at(void **state)
{
    (void)state;
    udpai_client_tree tree;
    char id[32];
    bool is;
    udpai_client_tree_init(&tree);
    for (int i = 0; i < UDPAI_CLIENT_TREE_NODES_MAX + 10; i++) {
        snprintf(id, sizeof(id), "n%d", i);
        assert_ok(add_client(&tree, id, 1));
    }
    assert_true(tree.is_cut);
    assert_int_equal(tree.nodes.n, UDPAI_CLIENT_TREE_NODES_MAX);
    assert_ok(udpai_client_tree_evaluate(&tree, UDPAI_STR("n0"), false, &is));
    udpai_client_tree_clear(&tree);
    assert_int_equal(tree.nodes.n, 0);
}

static udpa_err
judge_once(void *context)
{
    (void)context;
    udpai_client_tree tree;
    bool is;
    udpai_client_tree_init(&tree);
    udpa_err err = add_node(&tree, "top=1/0:a,b,c");
    if (err == UDPA_OK)
        err = add_client(&tree, "a", 1);
    if (err == UDPA_OK)
        err = udpai_client_tree_evaluate(&tree, UDPAI_STR("top"), false, &is);
    udpai_client_tree_clear(&tree);
    return err;
}

static void
without_memory_nothing_leaks(void **state)
{
    (void)state;
    oom_torture(judge_once, NULL);
}

/* A peer may say anything of who is below it. */
static void
who_is_below_has_a_name(void **state)
{
    (void)state;
    udpai_client_tree tree;
    udpai_client_tree_init(&tree);
    assert_ok(add_node(&tree, "top=0/0:a"));
    expect(&tree, false, "top whole; a missing");
    assert_ok(add_value(&tree, "udpa.clients/top/top",
                        UDPAI_STR("\xa2\x01\x05\x1a\x00\x1a\x01"
                                  "a")));
    expect(&tree, false, "top whole; a missing");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_known_what_is_missing),
        cmocka_unit_test(what_is_from_before_does_not_count),
        cmocka_unit_test(who_is_not_connected_is_stale),
        cmocka_unit_test(who_leaves_clients_out_is_not_whole_and_not_waited_for),
        cmocka_unit_test(one_node_alone_is_looked_at),
        cmocka_unit_test(words_say_what_is_amiss),
        cmocka_unit_test(nonsense_is_passed_over),
        cmocka_unit_test(more_nodes_than_are_looked_at),
        cmocka_unit_test(without_memory_nothing_leaks),
        cmocka_unit_test(who_is_below_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
