/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/session/transfer_items.h"

#include "model/links.h"
#include "model/removal.h"
#include "tests/harness/resources.h"
#include "tests/harness/transfer.h"

/* ---- one of each, with all that it may have ---- */

#define ENV_IS_PROD                                                                                \
    UDPAI_STR("\x0a\x0b\x0a\x03"                                                                   \
              "env\x12\x04prod")

udpa_resource *
transfer_make_resource(size_t which)
{
    switch (which) {
    case 0:
        return RESOURCE("com.acme/a", .value = "1", .version = "v1", .authority = "acme",
                        .generation = UINT64_MAX, .ttl_ms = 5000, .lazy = true, .is_signed = true,
                        .hops = {{"n1", "acme"}, {"n2", ""}},
                        .aliases = {"com.acme/other", "com.acme/*.x"});
    case 1:
        return RESOURCE("com.acme/a-prod", .do_not_cache = true, .aliases = {"com.acme/a"},
                        .constraints = ENV_IS_PROD);
    case 2:
        return RESOURCE("com.acme/moved", .type = UDPAI_TYPE_LOCATOR, .redirected_type = TEST_CDS);
    default:
        return RESOURCE("com.acme/b", .type = TEST_EDS, .value = "\xff\x01");
    }
}

static udpa_resource *
make_removal(void)
{
    const udpai_hop hop = {
        .node_id = UDPAI_STR("node-a"), .authority = UDPAI_STR("acme"), .time_us = 17};
    const udpai_resource_parts parts = {
        .name = UDPAI_STR("com.acme/kept"),
        .authority = UDPAI_STR("acme"),
        .generation = UINT64_MAX,
        .signature = {1, UDPAI_STR("key"), 3, 4, UDPAI_STR("value")},
        .hops = &hop,
        .n_hops = 1,
    };
    udpa_resource *removal = NULL;
    assert_ok(udpai_removal_make(&removal, UDPAI_STR(TEST_EDS), &parts));
    return removal;
}

static udpai_change_set *
make_changes(void)
{
    udpai_change_set *set = udpai_change_set_new();
    assert_non_null(set);
    for (size_t i = 0; i < TRANSFER_RESOURCES; i++) {
        UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = transfer_make_resource(i);
        UDPA_AUTO(udpa_bytes_unref) udpa_bytes *node = NULL, *links = NULL;
        const uint64_t numbers[] = {1, 7, UINT64_MAX};
        const char *const nodes[TRANSFER_RESOURCES] = {"node-a", NULL, "", "node-a"};
        assert_non_null(resource);
        if (nodes[i])
            assert_ok(udpa_bytes_new(&node, nodes[i], strlen(nodes[i])));
        if (i) { /* none, one, two */
            links = udpai_links_new(numbers, i - 1);
            assert_non_null(links);
        }
        const udpai_change change = {
            .kind = (udpai_change_kind)(i % 3),
            .resource = resource,
            .removal = i == 2 ? make_removal() : NULL,
            .deadline_ms = i * 1000,
            .from_node = node,
            .visible_to = links,
        };
        assert_ok(udpai_change_set_add(set, &change));
        udpa_resource_unref(change.removal);
    }
    return set;
}

static const udpai_str texts[] = {UDPAI_STR("com.acme"), UDPAI_STR("com.acme/x"), UDPAI_STR("z")};

static udpai_settled_groups *
make_groups(void)
{
    const udpai_settled_part parts[] = {
        {.number = 3, .is_whole = true},
        {.number = 4, .answered = texts, .asked = texts + 1, .n_answered = 2, .n_asked = 2},
    };
    udpai_settled_groups *table = NULL;
    for (unsigned i = 0; i < 80; i++) { /* more than a page has */
        char name[] = "com.acme/000";
        name[9] = (char)('0' + i / 100);
        name[10] = (char)('0' + i / 10 % 10);
        name[11] = (char)('0' + i % 10);
        UDPA_AUTO(udpai_settled_group_unref)
        udpai_settled_group *group = udpai_settled_group_new(udpai_str_from(name), parts, i % 3);
        udpai_settled_groups *next = udpai_settled_groups_with(table, group);
        assert_non_null(next);
        udpai_settled_groups_unref(table);
        table = next;
    }
    return table;
}

static udpai_settled *
make_settled(void)
{
    const udpai_waiting_question waiting[] = {{UDPAI_STR("\x6a\x04\x0a\x02n9"), texts + 1, 1},
                                              {UDPAI_STR("\x6a\x04\x0a\x02n8"), texts, 3}};
    const udpai_unsettled missing[] = {
        {.type_url = UDPAI_STR(TEST_CDS),
         .prefix = UDPAI_STR("com"),
         .source = UDPAI_STR("up"),
         .peer_node = UDPAI_STR("n9"),
         .waits = UDPAI_STR("\x6a\x04\x0a\x02n9"),
         .may_wait_for_us = true,
         .since_ms = UINT64_MAX,
         .answered = texts,
         .n_answered = 3,
         .only_absence = true},
        {.of_groups = 3,
         .on_demand = true,
         .by_name = true,
         .asked = texts + 1,
         .n_asked = 1,
         .waiting = waiting,
         .n_waiting = 2},
    };
    const udpai_settled_name items[] = {
        {UDPAI_STR(TEST_CDS), UDPAI_STR("com.acme/a"), true, texts[0], texts[1], true, 7, texts[2]},
        {UDPAI_STR(TEST_EDS), UDPAI_STR("com.acme/a"), false, {0}, {0}, false, 0, {0}},
    };
    UDPA_AUTO(udpai_settled_groups_unref) udpai_settled_groups *groups = make_groups();
    UDPA_AUTO(udpai_settled_names_unref)
    udpai_settled_names *names = udpai_settled_names_new(items, 2);
    const udpai_settled_facts facts = {missing, 2, groups, names, true, true, texts, 2, texts[1]};
    udpai_settled *settled = udpai_settled_new(&facts);
    assert_non_null(settled);
    return settled;
}

udpai_acl *
transfer_make_acl(void)
{
    const udpai_acl_rule rules[] = {
        {UDPAI_STR("first"), texts, 3, UDPAI_ACL_PUBLISH | UDPAI_ACL_ADMIN, texts, 1, texts + 1, 2,
         texts + 2, 1},
        {.actions = UDPAI_ACL_SUBSCRIBE},
    };
    const udpai_acl_options options = {rules, 2, true, false, true};
    udpai_acl *acl = NULL;
    assert_ok(udpai_acl_new(&acl, &options));
    return acl;
}

udpai_subscription_message *
transfer_make_subscription(size_t n_names)
{
    const udpai_held_version versions[] = {{UDPAI_STR("com.acme/a"), UDPAI_STR("v1")}, {{0}, {0}}};
    const udpai_held_digest digests[] = {{UDPAI_STR("com.acme/a"), UINT64_MAX}},
                            paths[] = {{UDPAI_STR("w"), 0}, {{0}, 128}};
    const udpai_subscription_message message = {
        UDPAI_STR(TEST_CDS),
        UDPAI_STR("com.acme"),
        texts,
        n_names,
        versions,
        2,
        digests,
        1,
        paths,
        2,
        9,
        true,
        -5,
        UDPAI_STR("why \xc3\xa4"),
    };
    udpai_subscription_message *copy = udpai_subscription_message_copy(&message);
    assert_non_null(copy);
    return copy;
}

/* What a SubscriptionError may say. */
static udpai_subscription_message *
make_subscription_error(void)
{
    const udpai_subscription_message message = {
        .type_url = UDPAI_STR(TEST_CDS),
        .name_space = UDPAI_STR("com.acme"),
        .names = texts,
        .n_names = 3,
        .status_code = 7,
        .status_text = UDPAI_STR("denied"),
    };
    udpai_subscription_message *copy = udpai_subscription_message_copy(&message);
    assert_non_null(copy);
    return copy;
}

static udpa_resource *
make_refresh(void)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *any = NULL;
    assert_ok(udpa_bytes_new(&any, "", 0));
    const udpai_resource_parts parts = {
        .name = UDPAI_STR("com.acme/r"), .version = UDPAI_STR("v"), .any = any, .ttl_ms = 10};
    udpa_resource *resource = NULL;
    assert_ok(udpai_resource_make(&resource, &parts));
    return resource;
}

void
transfer_add_entry(udpai_publication *publication,
                   udpa_resource *resource,
                   bool is_refresh,
                   const char *why)
{
    assert_non_null(resource);
    assert_ok(udpai_publication_add(publication, resource, is_refresh));
    if (why)
        publication->entries.items[publication->entries.n - 1].error =
            udpa_error_new(UDPA_ERR_INVAL, NULL, "%s", why);
    udpa_resource_unref(resource);
}

/* Among them one that may not be, and says so. */
udpai_publication *
transfer_make_publication(void)
{
    udpai_publication *publication = udpai_publication_new();
    assert_non_null(publication);
    publication->state_of_the_world = publication->receipt_required = true;
    publication->commit = 54321;
    publication->size_bytes = 12345;
    assert_ok(udpai_publication_set(&publication->type_url, UDPAI_STR(TEST_EDS)));
    assert_ok(udpai_publication_set(&publication->name_space, UDPAI_STR("com")));
    assert_ok(udpai_publication_set(&publication->nonce, UDPAI_STR("nonce-1")));
    assert_ok(udpai_publication_set(&publication->waits, UDPAI_STR("\x6a\x04\x0a\x02n9")));
    publication->waits_behind = 3;
    for (size_t i = 0; i < TRANSFER_RESOURCES; i++)
        transfer_add_entry(publication, transfer_make_resource(i), false,
                           i == 3 ? "com.acme/b: denied" : NULL);
    transfer_add_entry(publication, RESOURCE("no name", .ttl_ms = UDPAI_TTL_MAX_MS + 1), false,
                       "bad");
    transfer_add_entry(publication, make_refresh(), true, NULL);
    publication->entries.items[0].is_ignored = true;
    assert_ok(udpai_publication_remove(publication, UDPAI_STR("com.acme/gone")));
    UDPA_AUTO(udpa_resource_unref) udpa_resource *removal = make_removal();
    assert_ok(udpai_publication_remove_stated(publication, UDPAI_STR("com.acme/kept"), removal));
    publication->removals.items[1].error = udpa_error_new(UDPA_ERR_DENIED, NULL, "no");
    publication->is_trial = true;
    assert_ok(udpai_publication_add_effect(publication, UDPAI_EFFECT_NOTHING, (udpai_str){0}));
    assert_ok(udpai_publication_add_effect(publication, UDPAI_EFFECT_REMOVES, UDPAI_STR("bank")));
    return publication;
}

udpai_order *
transfer_make_order(udpai_order_kind kind)
{
    udpai_order *order = udpai_order_new(kind);
    assert_non_null(order);
    order->session = UINT64_MAX;
    order->link = 300;
    order->ticket = 1;
    order->is_source = order->is_set = true;
    if (kind == UDPAI_ORDER_CHANGES) {
        order->changes = make_changes();
        order->since_ms = 8888;
        for (size_t i = 0; i < 2; i++) {
            const udpai_change_mark mark = {UINT64_MAX - i, i, {{1, 2}, {(uint8_t)(i + 1)}, i > 0}};
            assert_true(udpai_vector_push(&order->marks, mark));
        }
    }
    if (kind == UDPAI_ORDER_SETTLED)
        order->settled = make_settled();
    if (kind == UDPAI_ORDER_HANG_UP)
        order->error = udpa_error_new(UDPA_ERR_UNKNOWN, NULL, "because of \xc3\xa4");
    if (kind == UDPAI_ORDER_SUBSCRIBE || kind == UDPAI_ORDER_UNSUBSCRIBE ||
        kind == UDPAI_ORDER_ACKNOWLEDGEMENTS)
        order->subscription = transfer_make_subscription(3);
    if (kind == UDPAI_ORDER_PUBLICATION_DONE || kind == UDPAI_ORDER_PUBLISH)
        order->publication = transfer_make_publication();
    if (kind == UDPAI_ORDER_ACL)
        order->acl = transfer_make_acl();
    if (kind == UDPAI_ORDER_EVENTS)
        assert_ok(udpa_bytes_new(&order->events, "events", 6));
    if (kind == UDPAI_ORDER_EPOCH || kind == UDPAI_ORDER_TWINS || kind == UDPAI_ORDER_SPREAD)
        assert_ok(udpa_bytes_new(&order->announced, "epoch", 5));
    order->commit = 123456789;
    return order;
}

static udpai_identity *
make_identity(void)
{
    const udpai_identity_parts parts = {UDPAI_STR("cn"), texts, 2, texts + 1, 1, true};
    udpai_identity *identity = NULL;
    assert_ok(udpai_identity_new(&identity, &parts));
    return identity;
}

udpai_node_info *
transfer_make_info(void)
{
    const udpai_node_parts parts = {
        .id = UDPAI_STR("node-1"),
        .cluster = UDPAI_STR("cluster"),
        .region = UDPAI_STR("region"),
        .zone = UDPAI_STR("zone"),
        .sub_zone = UDPAI_STR("sub"),
        .user_agent_name = UDPAI_STR("envoy"),
        .user_agent_version = UDPAI_STR("1.30"),
        .features = texts,
        .n_features = 3,
        .metadata = UDPAI_STR("\x0a\x00"),
        .parameters = UDPAI_STR("\x62\x08\x0a\x01k\x12\x03"
                                "val"),
    };
    udpai_node_info *info = NULL;
    assert_ok(udpai_node_info_new(&info, &parts));
    return info;
}

void
transfer_add_status(udpai_report *report, const char *status)
{
    udpa_bytes *bytes = NULL;
    if (status)
        assert_ok(udpa_bytes_new(&bytes, status, strlen(status)));
    assert_true(udpai_vector_push(&report->statuses, bytes));
}

static void
fill_report(udpai_report *report)
{
    switch (report->kind) {
    case UDPAI_REPORT_OPENED:
        report->identity = make_identity();
        assert_ok(udpa_bytes_new(&report->address, "1.2.3.4:5", 9));
        break;
    case UDPAI_REPORT_CLIENTS:
        assert_ok(udpa_bytes_new(&report->name_space, "com.acme/g", 10));
        report->info = transfer_make_info();
        break;
    case UDPAI_REPORT_NODE:
        report->info = transfer_make_info();
        break;
    case UDPAI_REPORT_PUBLICATION:
    case UDPAI_REPORT_RECEIPT:
        report->publication = transfer_make_publication();
        break;
    case UDPAI_REPORT_SUBSCRIPTION_ERROR:
        report->subscription = make_subscription_error();
        break;
    case UDPAI_REPORT_CLOSED:
        report->error = udpa_error_new(UDPA_ERR_ABORTED, NULL, "too slow");
        break;
    case UDPAI_REPORT_INTEREST:
    case UDPAI_REPORT_PASSED_ON:
    case UDPAI_REPORT_DEMAND:
        report->subscription = transfer_make_subscription(1);
        break;
    case UDPAI_REPORT_ACKNOWLEDGEMENTS:
        report->subscription = transfer_make_subscription(2);
        transfer_add_status(report, NULL);
        transfer_add_status(report, "two");
        break;
    case UDPAI_REPORT_EVENTS:
        assert_ok(udpa_bytes_new(&report->events, "events", 6));
        break;
    case UDPAI_REPORT_MARK:
        report->outcome = UDPAI_MARK_OPEN;
        report->took_ms = 60001;
        break;
    case UDPAI_REPORT_STATUS:
    case UDPAI_REPORT_CENSUS:
        transfer_add_status(report, "one");
        transfer_add_status(report, "");
        break;
    default:
        break;
    }
}

udpai_report *
transfer_make_report(udpai_report_kind kind)
{
    udpai_report *report = udpai_report_new(kind);
    assert_non_null(report);
    report->session = 1u << 31;
    report->link = UINT64_MAX;
    report->ticket = 77;
    report->is_extended = report->subscribed = report->is_disowned = report->is_client = true;
    fill_report(report);
    return report;
}

/* ---- orders and reports alike ---- */

transfer_item
transfer_make_item(unsigned which)
{
    transfer_item made = {NULL, NULL};
    if (which == UDPAI_ORDER_KINDS + UDPAI_REPORT_OWN_STATUS)
        return made; /* of one process */
    if (which >= UDPAI_ORDER_KINDS)
        made.report = transfer_make_report((udpai_report_kind)(which - UDPAI_ORDER_KINDS));
    else if (which != UDPAI_ORDER_DIAL && which != UDPAI_ORDER_OWN_STATUS)
        made.order = transfer_make_order((udpai_order_kind)which);
    return made;
}

void
transfer_free_item(transfer_item *of)
{
    of->order = udpai_order_free(of->order);
    of->report = udpai_report_free(of->report);
}

udpa_err
transfer_encode_item(const transfer_item *of, udpai_strbuf *buffer)
{
    return of->order ? udpai_order_encode(of->order, buffer)
                     : udpai_report_encode(of->report, buffer);
}

udpa_err
transfer_decode_item(udpai_transfer *transfer,
                     bool is_order,
                     udpai_str bytes,
                     transfer_item *ret,
                     udpa_error **ret_error)
{
    *ret = (transfer_item){NULL, NULL};
    return is_order ? udpai_order_decode(transfer, bytes, &ret->order, ret_error)
                    : udpai_report_decode(transfer, bytes, &ret->report, ret_error);
}

bool
transfer_same_item(const transfer_item *a, const transfer_item *b)
{
    return a->order ? same_order(a->order, b->order) : same_report(a->report, b->report);
}
