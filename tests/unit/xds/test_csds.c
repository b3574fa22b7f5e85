/* SPDX-License-Identifier: Apache-2.0 */
/* CSDS: what the node tells of what its clients have, in each state that a resource can be in. */
#include "csds_test.h"

#include <stdio.h>

#include "base/strbuf.h"
#include "model/acl.h"
#include "model/types.h"
#include "tests/harness/oom.h"

typedef struct fixture {
    xds_world world;
    xds_client client;
    csds_asker asker;
} fixture;

static int
setup(void **state)
{
    fixture *self = calloc(1, sizeof(*self));
    assert_non_null(self);
    xds_world_init(&self->world);
    xds_settle(&self->world);
    csds_open(&self->asker, &self->world, false);
    *state = self;
    return 0;
}

static int
teardown(void **state)
{
    fixture *self = *state;
    csds_close(&self->asker);
    xds_client_close(&self->client);
    xds_world_done(&self->world);
    free(self);
    return 0;
}

static void
open_client(fixture *self, bool is_delta)
{
    xds_client_close(&self->client);
    xds_client_open(&self->client, &self->world, is_delta);
}

/* Acknowledges what there is. */
static void
catch_up(xds_client *client)
{
    xds_ack_all(client);
    client->trace[0] = '\0';
}

static void
expect(fixture *self, const char *expected)
{
    assert_string_equal(csds_ask(&self->asker, false), expected);
}

/* ---- states ---- */

static void
a_resource_goes_through_its_states(void **state)
{
    fixture *self = *state;
    expect(self, "");
    assert_int_equal(self->asker.n_responses, 1); /* an empty one */
    xds_change(&self->world, "+CDS/a=1# +CDS/b=1#");
    open_client(self, true);
    expect(self, ""); /* nobody knows who that is */
    xds_subscribe(&self->client, "CDS", "");
    expect(self, "client{Cluster a STALE/REQUESTED =1; Cluster b STALE/REQUESTED =1}");
    xds_change(&self->world, "+CDS/a=2#"); /* while that is being written */
    expect(self, "client{Cluster a NOT_SENT/REQUESTED =2; Cluster b STALE/REQUESTED =1}");
    xds_expect(&self->client, "CDS[a b] CDS[a]");
    expect(self, "client{Cluster a STALE/REQUESTED =2; Cluster b STALE/REQUESTED =1}");
    xds_ack(&self->client, "CDS");
    expect(self, "client{Cluster a SYNCED/ACKED =2; Cluster b SYNCED/ACKED =1}");
    xds_change(&self->world, "-CDS/b");
    catch_up(&self->client);
    expect(self, "client{Cluster a SYNCED/ACKED =2}");
    xds_client_close(&self->client);
    expect(self, "");
}

static void
names_are_told_whether_they_are_there_or_not(void **state)
{
    fixture *self = *state;
    for (int is_delta = 0; is_delta < 2; is_delta++) {
        xds_change(&self->world, "+EDS/a=1");
        xds_settle_except(&self->world, "com.acme");
        open_client(self, is_delta);
        if (is_delta)
            xds_subscribe(&self->client, "EDS", "a b com.acme/c");
        else
            xds_ask_for(&self->client, "EDS", "a b com.acme/c");
        catch_up(&self->client);
        expect(self, "client{ClusterLoadAssignment a SYNCED/ACKED =1; "
                     "ClusterLoadAssignment b NOT_SENT/DOES_NOT_EXIST; "
                     "ClusterLoadAssignment com.acme/c NOT_SENT/REQUESTED}");
        xds_settle(&self->world);
        catch_up(&self->client);
        xds_change(&self->world, "-EDS/a");
        catch_up(&self->client);
        expect(self, "client{ClusterLoadAssignment a NOT_SENT/DOES_NOT_EXIST; "
                     "ClusterLoadAssignment b NOT_SENT/DOES_NOT_EXIST; "
                     "ClusterLoadAssignment com.acme/c NOT_SENT/DOES_NOT_EXIST}");
    }
}

static void
a_name_is_what_the_client_calls_it(void **state)
{
    fixture *self = *state;
    static const char x[] = "xdstp://local/envoy.config.endpoint.v3.ClusterLoadAssignment/a";
    static const udpai_xdstp_authority all[] = {{{"local", 5}, {"local", 5}}};
    self->world.audience.authorities = (udpai_xdstp_authorities){all, 1};
    xds_change(&self->world, "+EDS/a=1 +VHDS/local/r/v=1^local/r/host");
    open_client(self, true);
    xds_subscribe(&self->client, "EDS", x);
    xds_subscribe(&self->client, "VHDS", "r/host");
    catch_up(&self->client);
    char expected[512];
    snprintf(expected, sizeof(expected),
             "client{ClusterLoadAssignment %s SYNCED/ACKED =1; VirtualHost r/host SYNCED/ACKED =1}",
             x);
    expect(self, expected);
}

/* ---- refused ---- */

static void
the_last_good_version_is_kept(void **state)
{
    fixture *self = *state;
    for (int is_delta = 0; is_delta < 2; is_delta++) {
        xds_change(&self->world, "+CDS/a=1# +CDS/b=1#");
        open_client(self, is_delta);
        XDS_SEND(&self->client, "CDS", .names = "");
        catch_up(&self->client);
        xds_change(&self->world, "+CDS/a=2#");
        fake_stream_run(&self->client.stream, &self->world.hub);
        xds_write_one(&self->client);
        xds_nack(&self->client, "CDS", "cluster a: no");
        expect(self, "client{Cluster a ERROR/NACKED =1 !=2'cluster a: no'; "
                     "Cluster b SYNCED/ACKED =1}");
        xds_change(&self->world, "+CDS/a=3#"); /* and that is no better */
        fake_stream_run(&self->client.stream, &self->world.hub);
        xds_write_one(&self->client);
        xds_nack(&self->client, "CDS", "cluster a: nor this");
        assert_non_null(strstr(csds_ask(&self->asker, false),
                               "Cluster a ERROR/NACKED =1 !=3'cluster a: nor this'"));
        xds_change(&self->world, "+CDS/a=4#");
        catch_up(&self->client);
        expect(self, "client{Cluster a SYNCED/ACKED =4; Cluster b SYNCED/ACKED =1}");
        self->client.trace[0] = '\0';
    }
}

static void
by_name_the_last_good_version_is_kept_too(void **state)
{
    fixture *self = *state;
    for (int is_delta = 0; is_delta < 2; is_delta++) {
        xds_change(&self->world, "+EDS/a=1 +EDS/b=1");
        open_client(self, is_delta);
        XDS_SEND(&self->client, "EDS", .names = "a b");
        snprintf(self->client.types[0].names, sizeof(self->client.types[0].names), "a b");
        catch_up(&self->client);
        xds_change(&self->world, "+EDS/a=2");
        fake_stream_run(&self->client.stream, &self->world.hub);
        xds_write_one(&self->client);
        xds_nack(&self->client, "EDS", "no good");
        assert_non_null(strstr(csds_ask(&self->asker, false),
                               "ClusterLoadAssignment a ERROR/NACKED =1 !=2'no good'"));
        self->client.trace[0] = '\0';
    }
}

static void
who_never_had_a_good_one_has_none(void **state)
{
    fixture *self = *state;
    xds_change(&self->world, "+CDS/a=1#");
    xds_change(&self->world, "+CDS/a=2#"); /* =1 was there before he came */
    open_client(self, true);
    xds_subscribe(&self->client, "CDS", "");
    xds_expect(&self->client, "CDS[a]");
    xds_nack(&self->client, "CDS", "no");
    expect(self, "client{Cluster a ERROR/NACKED !=2'no'}");
    xds_change(&self->world, "+CDS/a=3#");
    xds_expect(&self->client, "CDS[a]");
    xds_nack(&self->client, "CDS", "again");
    expect(self, "client{Cluster a ERROR/NACKED !=3'again'}"); /* =2 is none */
}

static void
what_was_skipped_is_not_what_one_had(void **state)
{
    fixture *self = *state;
    xds_change(&self->world, "+CDS/a=1#");
    open_client(self, true);
    xds_subscribe(&self->client, "CDS", "");
    catch_up(&self->client);
    xds_change(&self->world, "+CDS/a=2#");
    xds_change(&self->world, "+CDS/a=3#");
    xds_expect(&self->client, "CDS[a]");
    xds_nack(&self->client, "CDS", "no");
    expect(self, "client{Cluster a ERROR/NACKED !=3'no'}");
    xds_change(&self->world, "+EDS/a=1");
    open_client(self, true);
    xds_subscribe(&self->client, "EDS", "a");
    catch_up(&self->client);
    xds_change(&self->world, "+EDS/a=2");
    xds_change(&self->world, "+EDS/a=3"); /* =2 was never sent */
    xds_expect(&self->client, "EDS[a]");
    xds_nack(&self->client, "EDS", "no");
    expect(self, "client{ClusterLoadAssignment a ERROR/NACKED !=3'no'}"); /* rather than =2 */
}

/* ---- bodies ---- */

static void
bodies_come_unless_they_are_excluded(void **state)
{
    fixture *self = *state;
    xds_change(&self->world, "+CDS/a=1# +SDS/s=1");
    open_client(self, true);
    xds_subscribe(&self->client, "CDS", "");
    xds_subscribe(&self->client, "SDS", "s");
    catch_up(&self->client);
    const char *answer = csds_ask(&self->asker, true);
    assert_non_null(strstr(answer, "Cluster a SYNCED/ACKED =1 +"));
    assert_non_null(strstr(answer, "Secret s SYNCED/ACKED =1}")); /* never */
    xds_change(&self->world, "+CDS/a=2#");
    xds_expect(&self->client, "CDS[a]");
    xds_nack(&self->client, "CDS", "no");
    answer = csds_ask(&self->asker, true);
    assert_non_null(strstr(answer, "Cluster a ERROR/NACKED =1 !=2'no'+")); /* what failed */
}

static void
types_that_are_secret_here_have_no_bodies(void **state)
{
    fixture *self = *state;
    static const udpai_str types[] = {{UDPAI_TYPE_CLUSTER, sizeof(UDPAI_TYPE_CLUSTER) - 1}};
    self->asker.csds.secret_types = types;
    self->asker.csds.n_secret_types = 1;
    xds_change(&self->world, "+CDS/a=1# +EDS/a=1");
    open_client(self, true);
    xds_subscribe(&self->client, "CDS", "");
    xds_subscribe(&self->client, "EDS", "a");
    catch_up(&self->client);
    const char *answer = csds_ask(&self->asker, true);
    assert_non_null(strstr(answer, "Cluster a SYNCED/ACKED =1;"));
    assert_non_null(strstr(answer, "ClusterLoadAssignment a SYNCED/ACKED =1 +"));
}

/* ---- who is a client ---- */

static void
streams_of_one_client_are_one_client(void **state)
{
    fixture *self = *state;
    xds_client other = {0};
    xds_change(&self->world, "+CDS/a=1# +EDS/a=1");
    xds_client_call(&self->client, &self->world, "CDS", UDPAI_XDS_STREAM_DELTA);
    xds_client_call(&other, &self->world, "EDS", UDPAI_XDS_STREAM_SOTW);
    xds_subscribe(&self->client, "CDS", "");
    xds_ask_for(&other, "EDS", "a");
    catch_up(&self->client);
    catch_up(&other);
    expect(self, "client{Cluster a SYNCED/ACKED =1; ClusterLoadAssignment a SYNCED/ACKED =1}");
    xds_client_close(&other);
    xds_client_call(&other, &self->world, "EDS", UDPAI_XDS_STREAM_DELTA);
    XDS_SEND(&other, "EDS", .names = "a", .node_id = "another");
    catch_up(&other);
    expect(self,
           "another{ClusterLoadAssignment a SYNCED/ACKED =1} client{Cluster a SYNCED/ACKED =1}");
    xds_client_close(&other);
}

static void
only_those_who_are_asked_about_are_told_of(void **state)
{
    fixture *self = *state;
    xds_client other = {0};
    xds_change(&self->world, "+CDS/a=1#");
    open_client(self, true);
    xds_subscribe(&self->client, "CDS", "");
    xds_client_open(&other, &self->world, true);
    XDS_SEND(&other, "CDS", .names = "", .node_id = "shop-1");
    catch_up(&self->client);
    catch_up(&other);
    Envoy__Type__Matcher__V3__StringMatcher id = ENVOY__TYPE__MATCHER__V3__STRING_MATCHER__INIT;
    Envoy__Type__Matcher__V3__NodeMatcher matcher = ENVOY__TYPE__MATCHER__V3__NODE_MATCHER__INIT;
    Envoy__Type__Matcher__V3__NodeMatcher *matchers[] = {&matcher};
    csds_request request = CSDS_REQUEST_INIT;
    id.match_pattern_case = ENVOY__TYPE__MATCHER__V3__STRING_MATCHER__MATCH_PATTERN_PREFIX;
    id.prefix = (char[]){"shop-"};
    matcher.node_id = &id;
    request.node_matchers = matchers;
    request.n_node_matchers = 1;
    request.exclude_resource_contents = true;
    csds_send(&self->asker, &request);
    assert_string_equal(csds_take(&self->asker), "shop-1{Cluster a SYNCED/ACKED =1}");
    id.prefix = (char[]){"bank-"};
    csds_send(&self->asker, &request);
    assert_string_equal(csds_take(&self->asker), "");
    xds_client_close(&other);
}

/* ---- large answers ---- */

#define CROWD 60

typedef struct crowd {
    xds_client clients[CROWD];
} crowd;

static crowd *
gather(xds_world *world, int n_resources)
{
    crowd *all = calloc(1, sizeof(*all));
    assert_non_null(all);
    char changes[64];
    for (int i = 0; i < n_resources; i++) {
        snprintf(changes, sizeof(changes), "+CDS/cluster-%d=1#", i);
        xds_change(world, changes);
    }
    for (int i = 0; i < CROWD; i++) {
        char id[32];
        snprintf(id, sizeof(id), "c%02d", i);
        xds_client_open(&all->clients[i], world, true);
        XDS_SEND(&all->clients[i], "CDS", .names = "", .node_id = id);
        catch_up(&all->clients[i]);
    }
    return all;
}

static void
disperse(crowd *all)
{
    for (int i = 0; i < CROWD; i++)
        xds_client_close(&all->clients[i]);
    free(all);
}

static size_t
count(const char *text, const char *word)
{
    size_t n = 0;
    while ((text = strstr(text, word))) {
        text += strlen(word);
        n++;
    }
    return n;
}

static void
a_large_answer_comes_in_pieces(void **state)
{
    fixture *self = *state;
    crowd *all = gather(&self->world, 200);
    csds_request request = CSDS_REQUEST_INIT;
    request.exclude_resource_contents = true;
    csds_send(&self->asker, &request);
    assert_true(self->asker.stream.is_paused); /* one answer at a time */
    (void)csds_take(&self->asker);
    assert_in_range(self->asker.n_responses, 2, 10);
    assert_true(self->asker.largest <= UDPAI_CSDS_RESPONSE_BYTES + 4096);
    assert_int_equal(self->asker.n_entries, CROWD * 200); /* each once */
    assert_in_range(self->asker.n_configs, CROWD, CROWD + self->asker.n_responses);
    assert_false(self->asker.stream.is_finished);
    assert_false(self->asker.stream.is_paused);
    disperse(all);
}

/* More than a slice holds, by names that are there, or not, or held by the wildcard, too. */
static void
one_client_with_much_is_told_of_whole(void **state)
{
    fixture *self = *state;
    char changes[64];
    udpai_strbuf names = {0};
    for (int i = 0; i < 3000; i++) {
        snprintf(changes, sizeof(changes), "+CDS/cluster-%d=1#", i);
        xds_change(&self->world, changes);
        if (i % 2 == 0)
            udpai_strbuf_printf(&names, "%scluster-%d no-such-%d", i ? " " : "* ", i, i);
    }
    open_client(self, true);
    xds_subscribe(&self->client, "CDS", names.data);
    udpai_strbuf_done(&names);
    for (int round = 0; round < 2; round++) {
        csds_request request = CSDS_REQUEST_INIT;
        request.exclude_resource_contents = true;
        csds_send(&self->asker, &request);
        udpai_hub_run(self->world.hub.hub);
        assert_int_equal(self->asker.stream.written.n, 0); /* it is not done at once */
        (void)csds_take(&self->asker);
        assert_int_equal(self->asker.n_entries, 3000 + 1500);
        catch_up(&self->client);
    }
}

static void
nobody_waits_for_the_whole_of_an_answer(void **state)
{
    fixture *self = *state;
    crowd *all = gather(&self->world, 20);
    csds_request request = CSDS_REQUEST_INIT;
    csds_send(&self->asker, &request);
    udpai_hub_run(self->world.hub.hub);
    assert_int_equal(self->asker.stream.written.n, 0); /* a slice of it */
    for (int i = 0; i < CROWD; i += 2)                 /* meanwhile half of them leave */
        xds_client_close(&all->clients[i]);
    const char *answer = csds_take(&self->asker);
    assert_in_range(count(answer, "{"), CROWD / 2, CROWD - 1);
    disperse(all);
}

static void
a_fetch_that_is_too_large_is_refused(void **state)
{
    fixture *self = *state;
    crowd *all = gather(&self->world, 1500);
    csds_asker fetch = {0};
    csds_open(&fetch, &self->world, true);
    (void)csds_ask(&fetch, false);
    xds_expect_end(&(xds_client){.stream = fetch.stream}, UDPA_ERR_LIMIT, "node_matchers");
    csds_close(&fetch);
    disperse(all);
}

static void
a_fetch_is_answered_once(void **state)
{
    fixture *self = *state;
    csds_asker fetch = {0};
    xds_change(&self->world, "+CDS/a=1#");
    open_client(self, true);
    xds_subscribe(&self->client, "CDS", "");
    catch_up(&self->client);
    csds_open(&fetch, &self->world, true);
    assert_string_equal(csds_ask(&fetch, false), "client{Cluster a SYNCED/ACKED =1}");
    assert_true(fetch.stream.is_finished);
    assert_null(fetch.stream.status);
    csds_close(&fetch);
    csds_open(&fetch, &self->world, true);
    udpai_session_ended(fetch.stream.session);
    assert_int_equal(udpa_error_code(fetch.stream.status), UDPA_ERR_INVAL);
    csds_close(&fetch);
}

static void
each_request_of_a_stream_is_answered(void **state)
{
    fixture *self = *state;
    csds_request request = CSDS_REQUEST_INIT;
    xds_change(&self->world, "+CDS/a=1#");
    open_client(self, true);
    xds_subscribe(&self->client, "CDS", "");
    catch_up(&self->client);
    csds_send(&self->asker, &request);
    csds_send(&self->asker, &request); /* it had been read already */
    (void)csds_take(&self->asker);
    assert_int_equal(self->asker.n_responses, 2);
    csds_send(&self->asker, &request);
    udpai_session_ended(self->asker.stream.session);
    (void)csds_take(&self->asker);
    assert_int_equal(self->asker.n_responses, 1);
    assert_true(self->asker.stream.is_finished);
    assert_null(self->asker.stream.status);
}

static void
too_many_requests_at_once_are_refused(void **state)
{
    fixture *self = *state;
    csds_request request = CSDS_REQUEST_INIT;
    for (int i = 0; i < 6 && !self->asker.stream.is_finished; i++)
        csds_send(&self->asker, &request);
    assert_int_equal(udpa_error_code(self->asker.stream.status), UDPA_ERR_LIMIT);
}

static void
only_so_many_are_answered_at_a_time(void **state)
{
    fixture *self = *state;
    csds_asker many[UDPAI_CSDS_ANSWERS_MAX + 1] = {0};
    csds_request request = CSDS_REQUEST_INIT;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(many); i++) {
        csds_open(&many[i], &self->world, false);
        many[i].method.csds = &self->asker.csds; /* as they share it */
        csds_send(&many[i], &request);
    }
    udpai_hub_run(self->world.hub.hub); /* nobody reads */
    assert_int_equal(udpa_error_code(many[UDPAI_CSDS_ANSWERS_MAX].stream.status), UDPA_ERR_LIMIT);
    csds_send(&self->asker, &request);
    assert_int_equal(udpa_error_code(self->asker.stream.status), UDPA_ERR_LIMIT);
    (void)csds_take(&many[0]); /* he does */
    csds_asker other = {0};
    csds_open(&other, &self->world, false);
    other.method.csds = &self->asker.csds;
    csds_send(&other, &request);
    assert_false(other.stream.is_finished);
    fake_hub_advance(&self->world.hub, UDPAI_CSDS_PATIENCE_MS + 1);
    assert_false(many[0].stream.is_finished);
    assert_int_equal(udpa_error_code(many[1].stream.status), UDPA_ERR_DEADLINE);
    csds_close(&other);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(many); i++)
        csds_close(&many[i]);
    assert_int_equal(self->asker.csds.n_answers, 0);
}

static void
what_is_no_request_is_refused(void **state)
{
    fixture *self = *state;
    fake_stream_receive(&self->asker.stream, "\xff\xff", 2);
    assert_int_equal(udpa_error_code(self->asker.stream.status), UDPA_ERR_MALFORMED);
}

/* ---- rules ---- */

static udpai_acl *
make_acl(const char *admin)
{
    const udpai_str of_all[] = {{"local", 5}, {"com.acme", 8}}, of_node[] = {{"udpa.node", 9}};
    const udpai_str everybody[] = {{"*", 1}}, admins[] = {udpai_str_from(admin)};
    const udpai_acl_rule rules[] = {
        {{"all", 3}, everybody, 1, UDPAI_ACL_SUBSCRIBE, NULL, 0, of_all, 2, NULL, 0},
        {{"admins", 6}, admins, 1, UDPAI_ACL_ADMIN, NULL, 0, of_node, 1, NULL, 0},
    };
    const udpai_acl_options options = {.rules = rules, .n_rules = 2, .trusts_node_ids = true};
    udpai_acl *acl = NULL;
    assert_ok(udpai_acl_new(&acl, &options));
    return acl;
}

static void
give_rules(xds_world *world, const char *admin)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_ACL);
    assert_non_null(order);
    order->acl = make_acl(admin);
    udpai_hub_order(world->hub.hub, order);
}

static void
send_as(csds_asker *asker, const char *id)
{
    Envoy__Config__Core__V3__Node node = ENVOY__CONFIG__CORE__V3__NODE__INIT;
    csds_request request = CSDS_REQUEST_INIT;
    char room[32];
    snprintf(room, sizeof(room), "%s", id);
    node.id = room;
    request.node = &node;
    csds_send(asker, &request);
}

static void
rules_say_who_may_ask(void **state)
{
    fixture *self = *state;
    give_rules(&self->world, "boss");
    xds_change(&self->world, "+CDS/a=1#");
    open_client(self, true);
    xds_subscribe(&self->client, "CDS", "");
    catch_up(&self->client);
    send_as(&self->asker, "boss");
    assert_non_null(strstr(csds_take(&self->asker), "Cluster a SYNCED/ACKED =1 +"));
    send_as(&self->asker, "clerk");
    assert_int_equal(udpa_error_code(self->asker.stream.status), UDPA_ERR_DENIED);
    csds_close(&self->asker);
    csds_open(&self->asker, &self->world, false);
    send_as(&self->asker, "boss");
    give_rules(&self->world, "chief"); /* before he is answered */
    assert_int_equal(udpa_error_code(self->asker.stream.status), UDPA_ERR_DENIED);
}

/* ---- memory ---- */

static udpa_err
ask_once(void *context)
{
    fixture *self = context;
    return csds_fetch_sinking(&self->asker, 'c');
}

static void
without_memory_there_is_no_answer(void **state)
{
    fixture *self = *state;
    xds_change(&self->world, "+CDS/a=1# +CDS/b=1#");
    open_client(self, true);
    xds_subscribe(&self->client, "CDS", "");
    catch_up(&self->client);
    oom_torture(ask_once, self);
}

int
main(void)
{
    static const char *const contents[] = {"CDS/a=1#", "CDS/a=2#", "CDS/a=3#",        "CDS/a=4#",
                                           "CDS/b=1#", "EDS/a=1",  "EDS/a=2",         "EDS/a=3",
                                           "EDS/b=1",  "SDS/s=1",  "VHDS/local/r/v=1"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(contents); i++)
        csds_know(contents[i]);
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_resource_goes_through_its_states),
        CASE(names_are_told_whether_they_are_there_or_not),
        CASE(a_name_is_what_the_client_calls_it),
        CASE(the_last_good_version_is_kept),
        CASE(by_name_the_last_good_version_is_kept_too),
        CASE(who_never_had_a_good_one_has_none),
        CASE(what_was_skipped_is_not_what_one_had),
        CASE(bodies_come_unless_they_are_excluded),
        CASE(types_that_are_secret_here_have_no_bodies),
        CASE(streams_of_one_client_are_one_client),
        CASE(only_those_who_are_asked_about_are_told_of),
        CASE(a_large_answer_comes_in_pieces),
        CASE(one_client_with_much_is_told_of_whole),
        CASE(nobody_waits_for_the_whole_of_an_answer),
        CASE(a_fetch_that_is_too_large_is_refused),
        CASE(a_fetch_is_answered_once),
        CASE(each_request_of_a_stream_is_answered),
        CASE(too_many_requests_at_once_are_refused),
        CASE(only_so_many_are_answered_at_a_time),
        CASE(what_is_no_request_is_refused),
        CASE(rules_say_who_may_ask),
        CASE(without_memory_there_is_no_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
