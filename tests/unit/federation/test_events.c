/* SPDX-License-Identifier: Apache-2.0 */
/* Events of a source: every one of them is told to who subscribes in the process, none is kept. */
#include <stdio.h>

#include "events/topics.h"
#include "federation_test.h"

#define LOGS "udpa.node/a/events/access-log"

typedef struct heard {
    char text[1024];
    const char *refusal; /* what the subscriber says of each; NULL: it is content */
    bool defers;
    udpai_local_update *deferred;
    unsigned n_removals;
} heard;

static heard all, other;

static void
on_update(void *userdata, udpai_local_update *update)
{
    heard *self = userdata;
    for (size_t i = 0; i < udpai_local_update_size(update); i++) {
        const udpai_local_change *change = udpai_local_update_at(update, i);
        size_t len = strlen(self->text);
        snprintf(self->text + len, sizeof(self->text) - len, "%s=%s ",
                 udpa_resource_version(change->resource),
                 udpa_resource_authority(change->resource));
        self->n_removals += change->is_removed;
        if (self->refusal)
            udpai_local_update_refuse(update, i,
                                      udpa_error_new(UDPA_ERR_INVAL, NULL, "%s", self->refusal));
    }
    if (!self->defers)
        return;
    self->deferred = update;
    udpai_local_update_defer(update);
}

static udpai_local_subscription *
subscribe(fed_bed *bed, const char *prefix, const char *name, heard *to)
{
    const udpai_str names = udpai_str_from(name);
    const udpai_selection selection = {
        .type_url = UDPAI_STR(UDPAI_TYPE_EVENT),
        .prefix = udpai_str_from(prefix),
        .names = &names,
        .n_names = name != NULL,
    };
    const udpai_local_ops ops = {.update = on_update, .userdata = to};
    udpai_local_subscription *subscription = NULL;
    assert_ok(udpai_node_subscribe(bed->node, &selection, &ops, &subscription));
    udpai_node_flush(bed->node);
    return subscription;
}

static void
begin(fed_bed *bed, bool is_endpoint)
{
    fed_type(bed, UDPAI_TYPE_EVENT);
    FED_PROVIDER(bed, {'a', "", UDPAI_STOP_ON_SUCCESS, true});
    bed->config.is_endpoint = is_endpoint;
    fed_start(bed);
    all = other = (heard){0};
}

static const char *
say(fed_bed *bed, const char *name, const char *version)
{
    return fed_put(bed, bed->sessions[0],
                   RESOURCE(name, .type = UDPAI_TYPE_EVENT, .value = version, .version = version),
                   false);
}

#define assert_heard(heard, expected)                                                              \
    do {                                                                                           \
        assert_string_equal((heard).text, (expected));                                             \
        (heard).text[0] = '\0';                                                                    \
    } while (0)

static void
each_event_is_told_and_none_is_kept(void **state)
{
    fed_bed *bed = *state;
    begin(bed, true);
    subscribe(bed, "udpa.node/a", NULL, &all);
    subscribe(bed, "", "udpa.node/a/events/tap", &other);
    fed_connect(bed, 'a');
    assert_string_equal(say(bed, LOGS, "7.1"), "");
    assert_string_equal(say(bed, LOGS, "7.2"), "");
    assert_string_equal(say(bed, "udpa.node/a/events/tap", "7.1"), "");
    assert_heard(all, "7.1=a 7.2=a 7.1=a ");
    assert_heard(other, "7.1=a ");
    assert_string_equal(fed_value(bed, UDPAI_TYPE_EVENT, LOGS), "");
    heard late = {0};
    subscribe(bed, "", LOGS, &late);
    assert_heard(late, "");
    fed_close(bed, 'a');
    fed_advance(bed, 3600000);
    assert_int_equal(all.n_removals, 0);
}

static void
what_comes_again_with_another_stream_is_told_once(void **state)
{
    fed_bed *bed = *state;
    begin(bed, true);
    subscribe(bed, "", NULL, &all);
    fed_connect(bed, 'a');
    say(bed, LOGS, "7.1");
    say(bed, LOGS, "7.2");
    fed_close(bed, 'a');
    fed_advance(bed, 60000);
    fed_connect(bed, 'a');
    say(bed, LOGS, "7.1");
    say(bed, LOGS, "7.2");
    say(bed, LOGS, "7.3");
    assert_heard(all, "7.1=a 7.2=a 7.3=a ");
    say(bed, LOGS, "8.1"); /* the node has begun anew */
    say(bed, LOGS, "whatever");
    say(bed, LOGS, "whatever");
    assert_heard(all, "8.1=a whatever=a whatever=a ");
}

static void
what_a_subscriber_says_of_it_goes_back(void **state)
{
    fed_bed *bed = *state;
    begin(bed, true);
    subscribe(bed, "", NULL, &all);
    fed_connect(bed, 'a');
    all.refusal = "it is full";
    assert_non_null(strstr(say(bed, LOGS, "7.1"), "it is full"));
    all.refusal = NULL;
    all.defers = true;
    say(bed, LOGS, "7.2");
    assert_non_null(all.deferred);
    udpai_local_update_done(all.deferred);
    udpai_node_flush(bed->node);
}

static void
a_management_node_takes_none(void **state)
{
    fed_bed *bed = *state;
    begin(bed, false);
    fed_want(bed, UDPAI_TYPE_EVENT, "*");
    fed_connect(bed, 'a');
    assert_non_null(strstr(say(bed, LOGS, "7.1"), "nothing to be kept"));
    const fed_peer peer = {.id = "x"};
    uint64_t session = fed_arrive(bed, &peer);
    assert_non_null(strstr(
        fed_put(bed, session,
                RESOURCE("com.acme/a", .type = UDPAI_TYPE_EVENT, .value = "1", .version = "1"),
                false),
        "nothing to be kept"));
}

static void
topics_without_number_are_told_all_the_same(void **state)
{
    fed_bed *bed = *state;
    char name[64];
    begin(bed, true);
    subscribe(bed, "", NULL, &all);
    fed_connect(bed, 'a');
    for (int i = 0; i < 1030; i++) {
        all.text[0] = '\0';
        snprintf(name, sizeof(name), "udpa.node/%d/events/tap", i);
        say(bed, name, "7.1");
        assert_string_equal(all.text, "7.1=a ");
    }
    all.text[0] = '\0';
    say(bed, "udpa.node/0/events/tap", "7.1");
    say(bed, "udpa.node/1029/events/tap", "7.1"); /* it is not known to have been told */
    assert_heard(all, "7.1=a ");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        fed_test(each_event_is_told_and_none_is_kept),
        fed_test(what_comes_again_with_another_stream_is_told_once),
        fed_test(what_a_subscriber_says_of_it_goes_back),
        fed_test(a_management_node_takes_none),
        fed_test(topics_without_number_are_told_all_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
