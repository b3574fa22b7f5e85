/* SPDX-License-Identifier: Apache-2.0 */
/* What udpactl client makes of a report by CSDS. */
#include "ctl/client_view.h"

#include "model/types.h"
#include "tests/harness/oom.h"

typedef Envoy__Service__Status__V3__ClientConfig__GenericXdsConfig entry_message;

#define T(text) ((char *)(uintptr_t)(text))
#define NOW_US INT64_C(1000000000000)

static const struct {
    const char *name, *version;
    Envoy__Service__Status__V3__ConfigStatus status;
    Envoy__Admin__V3__ClientResourceStatus client;
    const char *details; /* NULL: there is no error */
    const char *failed;
} entries[] = {
    {"good", "v1", ENVOY__SERVICE__STATUS__V3__CONFIG_STATUS__SYNCED,
     ENVOY__ADMIN__V3__CLIENT_RESOURCE_STATUS__ACKED, NULL, NULL},
    {"bad", "v1", ENVOY__SERVICE__STATUS__V3__CONFIG_STATUS__ERROR,
     ENVOY__ADMIN__V3__CLIENT_RESOURCE_STATUS__NACKED, "no\x1b[2J", "v2"},
    {"doubt", "v3", ENVOY__SERVICE__STATUS__V3__CONFIG_STATUS__STALE,
     ENVOY__ADMIN__V3__CLIENT_RESOURCE_STATUS__UNKNOWN, "came with bad", NULL},
    {"late", "v4", ENVOY__SERVICE__STATUS__V3__CONFIG_STATUS__STALE,
     ENVOY__ADMIN__V3__CLIENT_RESOURCE_STATUS__REQUESTED, NULL, NULL},
    {"sent", "v5", ENVOY__SERVICE__STATUS__V3__CONFIG_STATUS__STALE,
     ENVOY__ADMIN__V3__CLIENT_RESOURCE_STATUS__UNKNOWN, NULL, NULL},
    {"next", "v6", ENVOY__SERVICE__STATUS__V3__CONFIG_STATUS__NOT_SENT,
     ENVOY__ADMIN__V3__CLIENT_RESOURCE_STATUS__REQUESTED, NULL, NULL},
    {"pending", "", ENVOY__SERVICE__STATUS__V3__CONFIG_STATUS__NOT_SENT,
     ENVOY__ADMIN__V3__CLIENT_RESOURCE_STATUS__REQUESTED, NULL, NULL},
    {"none", "", ENVOY__SERVICE__STATUS__V3__CONFIG_STATUS__NOT_SENT,
     ENVOY__ADMIN__V3__CLIENT_RESOURCE_STATUS__DOES_NOT_EXIST, NULL, NULL},
};

#define N_ENTRIES UDPAI_ARRAY_LEN(entries)

static udpa_err
take_all(udpai_ctl_client_state *state, const char *id)
{
    entry_message items[N_ENTRIES], *pointers[N_ENTRIES];
    Envoy__Admin__V3__UpdateFailureState failures[N_ENTRIES];
    Envoy__Service__Status__V3__ClientConfig config =
                                                 ENVOY__SERVICE__STATUS__V3__CLIENT_CONFIG__INIT,
                                             *configs[] = {&config};
    Envoy__Config__Core__V3__Node node = ENVOY__CONFIG__CORE__V3__NODE__INIT;
    udpai_ctl_client_response response = ENVOY__SERVICE__STATUS__V3__CLIENT_STATUS_RESPONSE__INIT;
    uint8_t room[2048];
    for (size_t i = 0; i < N_ENTRIES; i++) {
        envoy__service__status__v3__client_config__generic_xds_config__init(&items[i]);
        envoy__admin__v3__update_failure_state__init(&failures[i]);
        items[i].type_url = T(UDPAI_TYPE_CLUSTER);
        items[i].name = T(entries[i].name);
        items[i].version_info = T(entries[i].version);
        items[i].config_status = entries[i].status;
        items[i].client_status = entries[i].client;
        if (entries[i].details) {
            failures[i].details = T(entries[i].details);
            failures[i].version_info = T(entries[i].failed ? entries[i].failed : "");
            items[i].error_state = &failures[i];
        }
        pointers[i] = &items[i];
    }
    node.id = T(id);
    config.node = &node;
    config.client_scope = T("top/edge");
    config.n_generic_xds_configs = N_ENTRIES;
    config.generic_xds_configs = pointers;
    response.n_config = 1;
    response.config = configs;
    size_t size = envoy__service__status__v3__client_status_response__get_packed_size(&response);
    assert_true(size <= sizeof(room));
    (void)envoy__service__status__v3__client_status_response__pack(&response, room);
    return udpai_ctl_client_take(state, (udpai_str){(const char *)room, size});
}

static void
begin(udpai_ctl_client_state *state)
{
    udpai_ctl_client_begin(state);
    state->name_space = "local";
    assert_ok(take_all(state, "one"));
}

static void
only_what_differs_is_listed(void **state)
{
    (void)state;
    udpai_ctl_client_state client;
    udpai_cli_layout layout = {0};
    udpai_strbuf out = {0};
    begin(&client);
    udpai_ctl_client_put(&client, &layout, NOW_US, &out);
    assert_str(
        udpai_strbuf_view(&out),
        "CLIENT   NODE       TYPE      HAS   REJECTED   IN DOUBT   NOT ANSWERED   SENT   NOT SENT  "
        " "
        "NOT FOUND\n"
        "one      top/edge   cluster     1          1          1              1      1          2  "
        " "
        "        1\n"
        "\n"
        "DIFFERS\n"
        "TYPE      NAME      STATE          HAS   SHOULD HAVE   AGE   FROM   WHY\n"
        "cluster   bad       rejected       v1    v2            -     -      no?[2J\n"
        "cluster   doubt     in doubt       -     v3            -     -      came with bad\n"
        "cluster   late      not answered   -     v4            -     -      the client has not "
        "answered the response with it yet\n"
        "cluster   sent      sent           -     v5            -     -      this client "
        "acknowledges nothing\n"
        "cluster   next      not sent       -     v6            -     -      it is to be sent "
        "next\n"
        "cluster   pending   not sent       -     -             -     -      the node waits for a "
        "source that may have it\n"
        "cluster   none      not found      -     -             -     -      no source has it\n");
    udpai_strbuf_done(&out);
    udpai_ctl_client_done(&client);
}

static size_t
count(const char *text, const char *what)
{
    size_t n = 0;
    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

static void
all_is_listed_if_it_is_asked_for(void **state)
{
    (void)state;
    udpai_ctl_client_state client;
    udpai_strbuf out = {0};
    begin(&client);
    client.lists_all = true;
    udpai_ctl_client_put_json(&client, &out);
    assert_int_equal(count(out.data, "\"shouldHave\""), N_ENTRIES);
    assert_non_null(strstr(out.data, "\"name\": \"good\", \"state\": \"hasIt\", \"has\": \"v1\", "
                                     "\"shouldHave\": \"v1\""));
    udpai_strbuf_done(&out);
    udpai_ctl_client_done(&client);
}

static void
another_type_has_nothing(void **state)
{
    (void)state;
    udpai_ctl_client_state client;
    udpai_strbuf out = {0};
    udpai_cli_requests requests = {0};
    begin(&client);
    client.type_url = UDPAI_TYPE_LISTENER;
    assert_true(udpai_ctl_client_is_known(&client));
    udpai_ctl_client_put_json(&client, &out);
    assert_str(udpai_strbuf_view(&out), "{\n  \"types\": [\n  ],\n  \"resources\": [\n  ]\n}\n");
    assert_ok(udpai_ctl_client_request(&client, &requests));
    assert_int_equal(requests.n, 0);
    udpai_strbuf_done(&out);
    udpai_ctl_client_done(&client);
}

/* A response may go on with a client of the one before; another client has rows of its own. */
static void
responses_are_added_up(void **state)
{
    (void)state;
    udpai_ctl_client_state client;
    udpai_strbuf out = {0};
    begin(&client);
    assert_ok(take_all(&client, "one"));
    assert_ok(take_all(&client, "two"));
    udpai_ctl_client_put_json(&client, &out);
    assert_int_equal(count(out.data, "\"hasIt\": 2, \"rejected\": 2, "), 1);
    assert_int_equal(count(out.data, "\"hasIt\": 1, \"rejected\": 1, "), 1);
    udpai_strbuf_done(&out);
    udpai_ctl_client_done(&client);
}

static void
what_differs_is_looked_up(void **state)
{
    (void)state;
    udpai_ctl_client_state client;
    udpai_cli_requests requests = {0};
    begin(&client);
    assert_ok(udpai_ctl_client_request(&client, &requests));
    assert_int_equal(requests.n, 1);
    assert_int_equal(requests.items[0].names.n, N_ENTRIES - 2); /* neither good nor none */
    assert_string_equal(requests.items[0].names.items[0], "local/bad");
    udpai_cli_requests_done(&requests);
    udpai_ctl_client_done(&client);
}

static void
what_is_none_is_an_error(void **state)
{
    (void)state;
    udpai_ctl_client_state client;
    udpai_ctl_client_begin(&client);
    assert_int_equal(udpai_ctl_client_take(&client, UDPAI_STR("\x0a\x7f")), UDPA_ERR_MALFORMED);
    assert_ok(udpai_ctl_client_take(&client, UDPAI_STR("")));
    assert_false(udpai_ctl_client_is_known(&client));
    udpai_ctl_client_done(&client);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_differs_is_listed),
        cmocka_unit_test(all_is_listed_if_it_is_asked_for),
        cmocka_unit_test(another_type_has_nothing),
        cmocka_unit_test(responses_are_added_up),
        cmocka_unit_test(what_differs_is_looked_up),
        cmocka_unit_test(what_is_none_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
