/* SPDX-License-Identifier: Apache-2.0 */
/* What the log says about xDS clients: that they come, reject something, and go. */
#include "tests/harness/log_lines.h"
#include "xds_test.h"

#define WHO "node 'client', peer 192.0.2.1:4242, identity -"

static log_lines lines;

static int
begin(void **state)
{
    xds_one_setup(state);
    xds_one *self = *state;
    self->world.address = udpai_bytes_cstring(UDPAI_STR("192.0.2.1:4242"));
    log_lines_begin(&lines, UDPA_LOG_INFO, "client");
    return 0;
}

static int
end(void **state)
{
    xds_one *self = *state;
    udpa_bytes *address = self->world.address;
    xds_one_teardown(state);
    log_lines_end();
    udpa_bytes_unref(address);
    return 0;
}

static void
second(xds_one *self)
{
    fake_hub_advance(&self->world.hub, 1000);
}

/* The content hash of what the client was sent, and its nonce, are the test's to find. */
static void
expect_nack(
    xds_client *client, const char *type, const char *name, const char *change, const char *text)
{
    char line[1024], hash[UDPAI_CONTENT_HASH_HEX + 1];
    snprintf(line, sizeof(line),
             "NACK: " WHO ": type %s, name '%s', version '%s', nonce %s: invalid argument: %s\n",
             xds_type_url(type), name, xds_hash(change, hash), xds_nonce(client, type), text);
    log_lines_expect(&lines, line);
}

static void
comes_rejects_and_goes(void **state, bool is_delta)
{
    xds_one *self = *state;
    char text[256];
    xds_client_open(&self->client, &self->world, is_delta);
    xds_change(&self->world, "+CDS/a=1# +CDS/b=1#");
    log_lines_expect(&lines, ""); /* it has not said who it is */
    xds_ask_for(&self->client, "CDS", "");
    snprintf(text, sizeof(text), "connected: " WHO ", protocol %s\n",
             is_delta ? "xds-delta" : "xds-sotw");
    log_lines_expect(&lines, text);
    xds_expect(&self->client, "CDS[a b]");
    second(self);
    xds_nack(&self->client, "CDS", "cluster b is not to my taste");
    expect_nack(&self->client, "CDS", "local/b", "CDS/b=1#", "cluster b is not to my taste");
    second(self);
    xds_client_close(&self->client);
    log_lines_expect(&lines, "disconnected: " WHO ", after 2 s: its streams have ended\n");
}

static void
a_delta_client_is_logged(void **state)
{
    comes_rejects_and_goes(state, true);
}

static void
a_sotw_client_is_logged(void **state)
{
    comes_rejects_and_goes(state, false);
}

/* The first NACK follows the greeting at once: it is a second late, and not lost. */
static void
what_follows_at_once_waits_a_second(void **state)
{
    xds_one *self = *state;
    xds_client_open(&self->client, &self->world, true);
    xds_change(&self->world, "+EDS/a=1");
    xds_subscribe(&self->client, "EDS", "a");
    xds_expect(&self->client, "EDS[a]");
    log_lines_expect(&lines, "connected: " WHO ", protocol xds-delta\n");
    fake_hub_advance(&self->world.hub, 300);
    xds_nack(&self->client, "EDS", "no");
    fake_hub_advance(&self->world.hub, 100);
    xds_client_close(&self->client);
    log_lines_expect(&lines, "");
    fake_hub_advance(&self->world.hub, 600);
    expect_nack(&self->client, "EDS", "local/a", "EDS/a=1", "no (700 ms ago)");
    second(self);
    log_lines_expect(&lines,
                     "disconnected: " WHO ", after 0 s: its streams have ended (1600 ms ago)\n");
    log_lines_expect_fields(&lines, "peer=client address=192.0.2.1:4242");
    second(self);
    log_lines_expect(&lines, "");
    assert_int_equal(udpai_wheel_next(&self->world.hub.wheel), UDPAI_WHEEL_NEVER);
}

/* 100 in a second are one line; the next says how many it stands for. */
static void
a_flood_is_a_line_a_second(void **state)
{
    xds_one *self = *state;
    xds_client_open(&self->client, &self->world, true);
    xds_change(&self->world, "+EDS/a=1");
    xds_subscribe(&self->client, "EDS", "a");
    xds_expect(&self->client, "EDS[a]");
    second(self);
    lines.n = 0;
    for (unsigned i = 0; i < 1000; i++) {
        char change[32];
        xds_nack(&self->client, "EDS", "no");
        snprintf(change, sizeof(change), "+EDS/a=%u", i + 2);
        xds_change(&self->world, change);
        xds_expect(&self->client, "EDS[a]");
        fake_hub_advance(&self->world.hub, 10);
    }
    assert_in_range(lines.n, 10, 11);
    assert_non_null(strstr(lines.text, "(99 more about it not shown)\n"));
}

/* From another port, it is the same. */
static void
who_comes_and_goes_is_a_line_a_second(void **state)
{
    xds_one *self = *state;
    udpa_bytes *address = self->world.address;
    for (unsigned i = 0; i < 500; i++) {
        char text[64];
        int len = snprintf(text, sizeof(text), "192.0.2.1:%u", 2000 + i);
        self->world.address = udpai_bytes_cstring((udpai_str){text, (size_t)len});
        xds_client_open(&self->client, &self->world, true);
        xds_subscribe(&self->client, "EDS", "a");
        xds_client_close(&self->client);
        udpa_bytes_unref(self->world.address);
        fake_hub_advance(&self->world.hub, 10);
    }
    self->world.address = address;
    assert_in_range(lines.n, 5, 6);
}

static void
come_as(xds_one *self, unsigned number)
{
    char id[32];
    snprintf(id, sizeof(id), "client-%u", number);
    xds_client_open(&self->client, &self->world, true);
    XDS_SEND(&self->client, .type = "EDS", .names = "a", .node_id = id);
    xds_client_close(&self->client);
}

/* It could be all clients behind one address that return, or one that is another each time. */
static void
a_peer_of_many_ids_is_bounded(void **state)
{
    xds_one *self = *state;
    for (unsigned i = 0; i < 3000; i++) {
        come_as(self, i);
        fake_hub_advance(&self->world.hub, 10);
        lines.text[0] = '\0';
    }
    second(self); /* 31 s, in which 310 are regained */
    second(self);
    assert_in_range(lines.n, 1300, 1330);
    assert_non_null(strstr(lines.text, " more about all clients not shown)\n"));
}

/* Another peer is not concerned. */
static void
a_loud_peer_hides_no_other(void **state)
{
    xds_one *self = *state;
    udpa_bytes *address = self->world.address;
    for (unsigned i = 0; i < 2000; i++) {
        come_as(self, i);
        fake_hub_advance(&self->world.hub, 10);
    }
    lines.text[0] = '\0';
    self->world.address = udpai_bytes_cstring(UDPAI_STR("198.51.100.7:1"));
    xds_client_open(&self->client, &self->world, true);
    xds_subscribe(&self->client, "EDS", "a");
    udpa_bytes_unref(self->world.address);
    self->world.address = address;
    assert_non_null(strstr(lines.text, "connected: node 'client', peer 198.51.100.7:1"));
}

static void
streams_of_one_connection_are_one_client(void **state)
{
    xds_one *self = *state;
    xds_client other;
    xds_client_open(&self->client, &self->world, true);
    xds_subscribe(&self->client, "EDS", "a");
    xds_client_open(&other, &self->world, false);
    xds_ask_for(&other, "CDS", "");
    second(self);
    xds_client_close(&self->client);
    second(self);
    log_lines_expect(&lines, "connected: " WHO ", protocol xds-delta\n");
    xds_client_close(&other);
    log_lines_expect(&lines, "disconnected: " WHO ", after 2 s: its streams have ended\n");
}

/* One must not hide what another does. */
static void
each_client_has_its_own_second(void **state)
{
    xds_one *self = *state;
    xds_client other;
    xds_client_open(&self->client, &self->world, true);
    xds_subscribe(&self->client, "EDS", "a");
    xds_client_open(&other, &self->world, true);
    XDS_SEND(&other, .type = "EDS", .names = "a", .node_id = "other");
    log_lines_expect(&lines, "connected: " WHO ", protocol xds-delta\n"
                             "connected: node 'other', peer 192.0.2.1:4242, identity -, protocol "
                             "xds-delta\n");
    xds_client_close(&other);
}

/* What has many resources names none, and says how many. */
static void
a_large_response_is_told_by_its_size(void **state)
{
    xds_one *self = *state;
    char changes[1024] = "";
    for (unsigned i = 0; i < 20; i++)
        snprintf(changes + strlen(changes), sizeof(changes) - strlen(changes), "%s+EDS/e%u=1",
                 i ? " " : "", i);
    xds_change(&self->world, changes);
    xds_client_open(&self->client, &self->world, true);
    xds_subscribe(&self->client, "EDS", "");
    second(self);
    lines.text[0] = '\0';
    xds_client *client = &self->client;
    xds_expect(client,
               "EDS[e0 e1 e10 e11 e12 e13 e14 e15 e16 e17 e18 e19 e2 e3 e4 e5 e6 e7 e8 e9]");
    xds_nack(client, "EDS", "too many");
    char line[512];
    snprintf(line, sizeof(line),
             "NACK: " WHO ": type %s, name '' (20 resources), version '%s', nonce %s: invalid "
             "argument: too many\n",
             xds_type_url("EDS"), xds_version(client, "EDS"), xds_nonce(client, "EDS"));
    log_lines_expect(&lines, line);
}

/* No line is made up by a client, and none is longer than a line. */
static void
hostile_texts_stay_in_their_line(void **state)
{
    xds_one *self = *state;
    char text[8192];
    memset(text, 'x', sizeof(text) - 1);
    memcpy(text, "a\nconnected: node 'root'\x1b[2J", 27);
    text[sizeof(text) - 1] = '\0';
    xds_client_open(&self->client, &self->world, true);
    xds_change(&self->world, "+EDS/a=1");
    XDS_SEND(&self->client, .type = "EDS", .names = "a", .node_id = "evil\n'id'");
    xds_expect(&self->client, "EDS[a]");
    second(self);
    xds_nack(&self->client, "EDS", text);
    assert_int_equal(lines.n, 2);
    const char *end_of_first = strchr(lines.text, '\n');
    assert_non_null(end_of_first);
    assert_ptr_equal(strchr(end_of_first + 1, '\n'), lines.text + strlen(lines.text) - 1);
    assert_null(strchr(lines.text, '\x1b'));
    assert_in_range(strlen(end_of_first), 500, 1100);
}

/* Where only warnings are wanted, nothing is kept and no timer set. */
static void
nobody_reads_nothing_is_kept(void **state)
{
    xds_one *self = *state;
    log_lines_begin(&lines, UDPA_LOG_WARNING, "client");
    xds_client_open(&self->client, &self->world, true);
    xds_change(&self->world, "+EDS/a=1");
    xds_subscribe(&self->client, "EDS", "a");
    xds_expect(&self->client, "EDS[a]");
    xds_nack(&self->client, "EDS", "no");
    assert_null(self->client.stream.session->logged);
    log_lines_begin(&lines, UDPA_LOG_INFO, "client");
    xds_change(&self->world, "+EDS/a=2");
    xds_expect(&self->client, "EDS[a]");
    xds_nack(&self->client, "EDS", "no again");
    expect_nack(&self->client, "EDS", "local/a", "EDS/a=2", "no again");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_delta_client_is_logged, begin, end),
        cmocka_unit_test_setup_teardown(a_sotw_client_is_logged, begin, end),
        cmocka_unit_test_setup_teardown(what_follows_at_once_waits_a_second, begin, end),
        cmocka_unit_test_setup_teardown(a_flood_is_a_line_a_second, begin, end),
        cmocka_unit_test_setup_teardown(who_comes_and_goes_is_a_line_a_second, begin, end),
        cmocka_unit_test_setup_teardown(a_peer_of_many_ids_is_bounded, begin, end),
        cmocka_unit_test_setup_teardown(a_loud_peer_hides_no_other, begin, end),
        cmocka_unit_test_setup_teardown(streams_of_one_connection_are_one_client, begin, end),
        cmocka_unit_test_setup_teardown(each_client_has_its_own_second, begin, end),
        cmocka_unit_test_setup_teardown(a_large_response_is_told_by_its_size, begin, end),
        cmocka_unit_test_setup_teardown(hostile_texts_stay_in_their_line, begin, end),
        cmocka_unit_test_setup_teardown(nobody_reads_nothing_is_kept, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
