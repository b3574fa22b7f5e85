/* SPDX-License-Identifier: Apache-2.0 */
/* Orders and reports cross to another process and are there what they were here; and whatever else
 * comes from there is refused. */
#include "session/transfer.h"

#include <stdio.h>

#include "tests/harness/oom.h"
#include "tests/harness/resources.h"
#include "tests/unit/session/transfer_items.h"

/* Of the last message that was refused. */
static char why[500];

/* From a copy of just this size, so that a sanitizer sees what is read behind it; NULL: refused. */
static bool
is_refused(bool is_order, const char *data, size_t len)
{
    udpai_transfer transfer;
    udpa_error *error = NULL;
    char *copy = malloc(len + !len);
    transfer_item made;
    assert_non_null(copy);
    if (len)
        memcpy(copy, data, len);
    udpai_transfer_init(&transfer);
    udpa_err err = transfer_decode_item(&transfer, is_order, (udpai_str){copy, len}, &made, &error);
    if (err != UDPA_OK) {
        assert_int_equal(err, UDPA_ERR_MALFORMED);
        assert_int_equal(udpa_error_code(error), err);
        assert_non_null(strstr(udpa_error_message(error), "cannot be read: "));
        snprintf(why, sizeof(why), "%s", udpa_error_message(error));
        assert_true(!made.order && !made.report);
    }
    udpa_error_unref(error);
    transfer_free_item(&made);
    udpai_transfer_done(&transfer);
    free(copy);
    return err != UDPA_OK;
}

typedef void (*item_fn)(bool is_order, const udpai_strbuf *bytes);

static void
with_each(item_fn test)
{
    for (unsigned i = 0; i < TRANSFER_ITEMS; i++) {
        udpai_strbuf bytes = {0};
        transfer_item made = transfer_make_item(i);
        if (!made.order && !made.report)
            continue;
        assert_ok(transfer_encode_item(&made, &bytes));
        test(made.order != NULL, &bytes);
        udpai_strbuf_done(&bytes);
        transfer_free_item(&made);
    }
}

/* ---- there and back ---- */

static void
all_comes_across_as_it_was(void **state)
{
    (void)state;
    udpai_transfer transfer;
    udpai_transfer_init(&transfer);
    for (unsigned i = 0; i < TRANSFER_ITEMS; i++) {
        udpai_strbuf bytes = {0}, again = {0};
        transfer_item made = transfer_make_item(i), back;
        if (!made.order && !made.report)
            continue;
        udpai_strbuf_puts(&bytes, "before");
        assert_ok(transfer_encode_item(&made, &bytes));
        assert_memory_equal(bytes.data, "before", 6);
        udpai_str message = {bytes.data + 6, bytes.len - 6};
        assert_ok(transfer_decode_item(&transfer, made.order != NULL, message, &back, NULL));
        memset(bytes.data, 'x', bytes.len); /* what was made does not look at it */
        assert_true(transfer_same_item(&made, &back));
        assert_ok(transfer_encode_item(&back, &again));
        assert_int_equal(again.len, message.len);
        transfer_free_item(&back);
        transfer_free_item(&made);
        udpai_strbuf_done(&bytes);
        udpai_strbuf_done(&again);
    }
    udpai_transfer_done(&transfer);
}

static void
assert_crosses(transfer_item made)
{
    udpai_transfer transfer;
    udpai_strbuf bytes = {0};
    transfer_item back;
    udpai_transfer_init(&transfer);
    assert_ok(transfer_encode_item(&made, &bytes));
    assert_ok(transfer_decode_item(&transfer, made.order != NULL, udpai_strbuf_view(&bytes), &back,
                                   NULL));
    assert_true(transfer_same_item(&made, &back));
    transfer_free_item(&back);
    transfer_free_item(&made);
    udpai_strbuf_done(&bytes);
    udpai_transfer_done(&transfer);
}

static void
what_may_be_missing_may_be_missing(void **state)
{
    (void)state;
    static const udpai_order_kind orders[] = {UDPAI_ORDER_HANG_UP, UDPAI_ORDER_ACL};
    static const udpai_report_kind reports[] = {UDPAI_REPORT_OPENED, UDPAI_REPORT_RECEIPT,
                                                UDPAI_REPORT_CLOSED, UDPAI_REPORT_STATUS,
                                                UDPAI_REPORT_CENSUS};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(orders); i++)
        assert_crosses((transfer_item){.order = udpai_order_new(orders[i])});
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(reports); i++)
        assert_crosses((transfer_item){.report = udpai_report_new(reports[i])});
    udpai_report *clients = transfer_make_report(UDPAI_REPORT_CLIENTS);
    clients->info = udpai_node_info_unref(clients->info);
    assert_crosses((transfer_item){.report = clients});
    udpai_order *settled = udpai_order_new(UDPAI_ORDER_SETTLED);
    settled->settled = udpai_settled_new(&(udpai_settled_facts){0});
    assert_crosses((transfer_item){.order = settled});
    udpai_order *changes = udpai_order_new(UDPAI_ORDER_CHANGES);
    changes->changes = udpai_change_set_new();
    assert_crosses((transfer_item){.order = changes});
}

static void
every_error_code_crosses(void **state)
{
    (void)state;
#define CROSS(name, value, grpc, text)                                                             \
    if ((value) != UDPA_OK) {                                                                      \
        udpai_report *report = udpai_report_new(UDPAI_REPORT_CLOSED);                              \
        report->error = udpa_error_new(UDPA_ERR_##name, NULL, "%s", #name);                        \
        assert_crosses((transfer_item){.report = report});                                         \
    }
    UDPA_ERR_MAP(CROSS)
#undef CROSS
}

/* Also from one message to the next, and with others between. */
static void
resources_share_what_they_have_in_common(void **state)
{
    (void)state;
    udpai_transfer transfer;
    udpai_order *back[2] = {NULL};
    udpai_strbuf bytes = {0};
    udpai_transfer_init(&transfer);
    UDPA_AUTO(udpai_order_free) udpai_order *order = transfer_make_order(UDPAI_ORDER_CHANGES);
    assert_ok(udpai_order_encode(order, &bytes));
    for (int i = 0; i < 2; i++)
        assert_ok(udpai_order_decode(&transfer, udpai_strbuf_view(&bytes), &back[i], NULL));
    udpai_transfer_done(&transfer);
    const udpai_change *first = udpai_change_set_at(back[0]->changes, 0);
    const udpai_change *second = udpai_change_set_at(back[0]->changes, 1);
    for (size_t i = 0; i < TRANSFER_RESOURCES; i++) {
        const udpai_change *a = udpai_change_set_at(back[0]->changes, i);
        const udpai_change *b = udpai_change_set_at(back[1]->changes, i);
        assert_ptr_equal(udpai_resource_type(a->resource), udpai_resource_type(b->resource));
        assert_ptr_equal(a->from_node, b->from_node);
    }
    assert_ptr_equal(udpai_resource_type(first->resource), udpai_resource_type(second->resource));
    assert_ptr_equal(first->from_node, udpai_change_set_at(back[0]->changes, 3)->from_node);
    udpai_order_free(back[0]);
    udpai_order_free(back[1]);
    udpai_strbuf_done(&bytes);
}

/* ---- what does not cross ---- */

static int target;

static void
release_target(void *of)
{
    assert_ptr_equal(of, &target);
}

static void
assert_not_told(const transfer_item *of)
{
    udpai_strbuf bytes = {0};
    assert_int_equal(transfer_encode_item(of, &bytes), UDPA_ERR_INVAL);
    assert_int_equal(bytes.len, 0);
}

static void
what_belongs_to_one_process_is_not_told(void **state)
{
    (void)state;
    transfer_item dial = {.order = transfer_make_order(UDPAI_ORDER_DIAL)};
    assert_not_told(&dial);
    dial.order->target = &target;
    dial.order->release_target = release_target;
    assert_not_told(&dial);
    transfer_item begun = {.order = transfer_make_order(UDPAI_ORDER_CHANGES)};
    begun.order->place = 1;
    assert_not_told(&begun);
    transfer_item question = {.report = transfer_make_report(UDPAI_REPORT_OWN_STATUS)};
    assert_not_told(&question);
    transfer_free_item(&question);
    transfer_free_item(&dial);
    transfer_free_item(&begun);
}

/* Both ways: neither what has not what its kind needs, nor what has more. */
static void
what_is_not_whole_is_not_told(void **state)
{
    (void)state;
    transfer_item order = {.order = udpai_order_new(UDPAI_ORDER_SUBSCRIBE)};
    transfer_item report = {.report = udpai_report_new(UDPAI_REPORT_PUBLICATION)};
    assert_not_told(&order);
    assert_not_told(&report);
    order.order->subscription = transfer_make_subscription(2);
    order.order->acl = transfer_make_acl();
    report.report->publication = transfer_make_publication();
    report.report->info = transfer_make_info();
    assert_not_told(&order);
    assert_not_told(&report);
    transfer_free_item(&order);
    transfer_free_item(&report);
}

/* ---- what comes is not believed ---- */

static void
refuses_any_part(bool is_order, const udpai_strbuf *bytes)
{
    for (size_t len = 0; len < bytes->len; len++)
        assert_true(is_refused(is_order, bytes->data, len));
}

static void
a_message_that_was_cut_off_is_refused(void **state)
{
    (void)state;
    with_each(refuses_any_part);
}

static void
refuses_more(bool is_order, const udpai_strbuf *bytes)
{
    char *more = calloc(1, bytes->len + 1);
    assert_non_null(more);
    memcpy(more, bytes->data, bytes->len);
    assert_true(is_refused(is_order, more, bytes->len + 1));
    free(more);
}

static void
a_message_that_goes_on_is_refused(void **state)
{
    (void)state;
    with_each(refuses_more);
}

static void
survives_flips(bool is_order, const udpai_strbuf *bytes)
{
    size_t step = bytes->len > 300 ? 7 : 1; /* of the longest, not each */
    for (size_t bit = 0; bit < bytes->len * 8; bit += step) {
        bytes->data[bit / 8] ^= (char)(1 << bit % 8);
        (void)is_refused(is_order, bytes->data, bytes->len);
        (void)is_refused(!is_order, bytes->data, bytes->len);
        bytes->data[bit / 8] ^= (char)(1 << bit % 8);
    }
}

static void
a_flipped_bit_does_no_harm(void **state)
{
    (void)state;
    with_each(survives_flips);
}

static void
nonsense_does_no_harm(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (int i = 0; i < 8000; i++) {
        char bytes[64];
        size_t len = test_random_below(&seed, sizeof(bytes) + 1);
        for (size_t k = 0; k < len; k++)
            bytes[k] = (char)(test_random_below(&seed, 3) ? test_random_below(&seed, 4)
                                                          : test_random_below(&seed, 256));
        (void)is_refused(i & 1, bytes, len);
    }
}

#define REFUSED(is_order, literal) assert_true(is_refused(is_order, literal, sizeof(literal) - 1))
#define HEAD "\0\0\0\0" /* session, link, ticket, flags */

/* Counts that nothing stands behind take no memory; numbers are in their bounds. */
static void
numbers_are_held_against_what_is_there(void **state)
{
    (void)state;
    unsigned long before = udpai_alloc_live();
    REFUSED(true, "\x00\x01" HEAD "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    assert_non_null(strstr(why, "it counts more than it has"));
    REFUSED(true, "\x01\x02" HEAD "\xff\xff\xff\xff\x7f\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00");
    REFUSED(true, "\x0a\x04" HEAD "\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00"); /* rules */
    assert_non_null(strstr(why, "it counts more than it has"));
    REFUSED(true, "\x0e\x00" HEAD);            /* no kind */
    REFUSED(true, "\x02\x00" HEAD);            /* DIAL */
    REFUSED(true, "\x04\x00\x00\x00\x00\x04"); /* flags */
    REFUSED(true, "\x00\x00" HEAD);            /* CHANGES without */
    REFUSED(false, "\x08\x80\x04" HEAD "\x00\x01"
                   "x"); /* CLOSED, with success */
    REFUSED(false, "\x08\x80\x04" HEAD "\x13\x01"
                   "x");                                /* with a code that is none */
    REFUSED(false, "\x08\x80\x04" HEAD "\x01\x01\x00"); /* with a zero byte */
    REFUSED(false, "\x08\x80\x04" HEAD "\x01\x01\xff"); /* not UTF-8 */
    assert_int_equal(udpai_alloc_live(), before);
    static const char closed[] = "\x08\x80\x04" HEAD "\x01\x01"
                                 "x";
    assert_false(is_refused(false, closed, sizeof(closed) - 1));
}

static void
assert_refused_report(udpai_report *report)
{
    udpai_strbuf bytes = {0};
    assert_ok(udpai_report_encode(report, &bytes));
    assert_true(is_refused(false, bytes.data, bytes.len));
    udpai_strbuf_done(&bytes);
    udpai_report_free(report);
}

/* What a peer's own message would be refused for. */
static void
a_publication_is_held_against_the_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        udpai_report *report = transfer_make_report(UDPAI_REPORT_PUBLICATION);
        udpai_publication *publication = report->publication;
        if (i == 0) /* it is not said that it may not be */
            publication->entries.items[4].error =
                udpa_error_unref(publication->entries.items[4].error);
        else if (i == 1) /* nothing is in it */
            publication->entries.items[5].is_refresh = false;
        else
            transfer_add_entry(publication, RESOURCE("com.acme/c", .version = "\xff"), false,
                               "bad");
        assert_refused_report(report);
    }
}

/* Whom a change is shown to is a list in order. */
static void
links_are_held_against_the_rules(void **state)
{
    (void)state;
    static const char bytes[][16] = {"\1\0\0\0\0\0\0\0\2", "\2\0\0\0\0\0\0\0\1", "\1"};
    static const size_t sizes[] = {16, 16, 1};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(sizes); i++) {
        UDPA_AUTO(udpa_resource_unref) udpa_resource *resource = transfer_make_resource(3);
        UDPA_AUTO(udpa_bytes_unref) udpa_bytes *links = NULL;
        assert_ok(udpa_bytes_new(&links, bytes[i], sizes[i]));
        udpai_order *order = udpai_order_new(UDPAI_ORDER_CHANGES);
        order->changes = udpai_change_set_new();
        assert_ok(udpai_change_set_add(order->changes,
                                       &(udpai_change){.resource = resource, .visible_to = links}));
        udpai_strbuf text = {0};
        assert_ok(udpai_order_encode(order, &text));
        assert_int_equal(is_refused(true, text.data, text.len), i > 0);
        udpai_strbuf_done(&text);
        udpai_order_free(order);
    }
}

static void
answers_stand_beside_questions(void **state)
{
    (void)state;
    udpai_report *answers = transfer_make_report(UDPAI_REPORT_ACKNOWLEDGEMENTS);
    transfer_add_status(answers, "three");
    assert_refused_report(answers);
    udpai_report *status = transfer_make_report(UDPAI_REPORT_STATUS);
    transfer_add_status(status, NULL);
    assert_refused_report(status);
    udpai_report *interest = udpai_report_new(UDPAI_REPORT_INTEREST);
    interest->subscription = transfer_make_subscription(2);
    assert_refused_report(interest);
    interest = udpai_report_new(UDPAI_REPORT_INTEREST);
    interest->subscription = transfer_make_subscription(0);
    assert_refused_report(interest);
}

static void
an_error_of_a_subscription_is_cut(void **state)
{
    (void)state;
    udpai_str names[40];
    udpai_strbuf bytes = {0};
    udpai_transfer transfer;
    udpai_report *back = NULL;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(names); i++)
        names[i] = UDPAI_STR("com.acme/a");
    udpai_report *report = udpai_report_new(UDPAI_REPORT_SUBSCRIPTION_ERROR);
    report->subscription = udpai_subscription_message_copy(
        &(udpai_subscription_message){.names = names, .n_names = UDPAI_ARRAY_LEN(names)});
    assert_ok(udpai_report_encode(report, &bytes));
    udpai_transfer_init(&transfer);
    assert_ok(udpai_report_decode(&transfer, udpai_strbuf_view(&bytes), &back, NULL));
    assert_int_equal(back->subscription->n_names, UDPAI_ECHOED_NAMES);
    udpai_transfer_done(&transfer);
    udpai_strbuf_done(&bytes);
    udpai_report_free(report);
    udpai_report_free(back);
}

static void
groups_stand_in_order(void **state)
{
    (void)state;
    static const char rising[] = "\x01\x02" HEAD "\x00\x02\x01"
                                 "a\x00\x01"
                                 "b\x00\x00\x00\x00\x00\x00\x00";
    static const char twice[] = "\x01\x02" HEAD "\x00\x02\x01"
                                "a\x00\x01"
                                "a\x00\x00\x00\x00\x00\x00\x00";
    assert_false(is_refused(true, rising, sizeof(rising) - 1));
    assert_true(is_refused(true, twice, sizeof(twice) - 1));
}

/* ---- without memory ---- */

static udpa_err
encode_scenario(void *context)
{
    udpai_strbuf bytes = {0};
    udpa_err err = transfer_encode_item(context, &bytes);
    if (err != UDPA_OK)
        assert_int_equal(bytes.len, 0);
    udpai_strbuf_done(&bytes);
    return err;
}

typedef struct decoding {
    bool is_order;
    udpai_str bytes;
} decoding;

static udpa_err
decode_scenario(void *context)
{
    const decoding *of = context;
    udpai_transfer transfer;
    udpa_error *error = NULL;
    transfer_item made;
    udpai_transfer_init(&transfer);
    udpa_err err = transfer_decode_item(&transfer, of->is_order, of->bytes, &made, &error);
    transfer_free_item(&made);
    udpa_error_unref(error);
    udpai_transfer_done(&transfer);
    return err;
}

static void
without_memory_nothing_is_left_behind(void **state)
{
    (void)state;
    for (unsigned i = 0; i < TRANSFER_ITEMS; i++) {
        udpai_strbuf bytes = {0};
        transfer_item made = transfer_make_item(i);
        if (!made.order && !made.report)
            continue;
        assert_ok(transfer_encode_item(&made, &bytes));
        unsigned long before = udpai_alloc_live();
        oom_torture(encode_scenario, &made);
        decoding of = {made.order != NULL, udpai_strbuf_view(&bytes)};
        oom_torture(decode_scenario, &of);
        assert_int_equal(udpai_alloc_live(), before);
        udpai_strbuf_done(&bytes);
        transfer_free_item(&made);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_comes_across_as_it_was),
        cmocka_unit_test(what_may_be_missing_may_be_missing),
        cmocka_unit_test(every_error_code_crosses),
        cmocka_unit_test(resources_share_what_they_have_in_common),
        cmocka_unit_test(what_belongs_to_one_process_is_not_told),
        cmocka_unit_test(what_is_not_whole_is_not_told),
        cmocka_unit_test(a_message_that_was_cut_off_is_refused),
        cmocka_unit_test(a_message_that_goes_on_is_refused),
        cmocka_unit_test(a_flipped_bit_does_no_harm),
        cmocka_unit_test(nonsense_does_no_harm),
        cmocka_unit_test(numbers_are_held_against_what_is_there),
        cmocka_unit_test(a_publication_is_held_against_the_rules),
        cmocka_unit_test(links_are_held_against_the_rules),
        cmocka_unit_test(answers_stand_beside_questions),
        cmocka_unit_test(an_error_of_a_subscription_is_cut),
        cmocka_unit_test(groups_stand_in_order),
        cmocka_unit_test(without_memory_nothing_is_left_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
