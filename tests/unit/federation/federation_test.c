/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/federation/federation_test.h"
#include "tests/unit/federation/notes.h"
#include "tests/unit/federation/peer_info.h"

#include <stdio.h>

#include "base/alloc.h"
#include "model/client_type.h"
#include "model/links.h"

static const char *
full_name(const char *name, char room[300])
{
    snprintf(room, 300, "%s%s", strchr(name, '/') ? "" : "com.acme/", name);
    return room;
}

static int64_t
wall_us(void *userdata)
{
    const fed_bed *bed = userdata;
    return bed->wall_us + (int64_t)bed->wheel.now_ms * 1000;
}

static uint64_t
chance(void *userdata)
{
    return ((const fed_bed *)userdata)->chance;
}

static void
note_records(fed_bed *bed, const udpai_durable_batch *batch)
{
    size_t at = 0;
    const udpai_durable_op *op;
    while ((op = udpai_audit_next(batch, &at))) {
        size_t len = strlen(bed->audit);
        udpai_str line = udpai_bytes_view(op->name);
        assert_true(len + line.len + 2 < sizeof(bed->audit));
        (void)snprintf(bed->audit + len, sizeof(bed->audit) - len, "%.*s ", (int)line.len,
                       line.data);
    }
}

static void
on_commit(void *userdata, udpai_durable_batch *batch, uint64_t ticket)
{
    fed_bed *bed = userdata;
    for (size_t i = 0; i < batch->ops.n; i++)
        fed_disk_do(&bed->kept, &batch->ops.items[i]);
    note_records(bed, batch);
    udpai_durable_batch_free(batch);
    bed->committed = ticket; /* told later, as an engine does */
}

/* ---- the bed ---- */

static void
flush(fed_bed *bed)
{
    udpai_node_flush(bed->node);
    while (bed->answer) {
        udpai_node_report(bed->node, UDPAI_TAKE(bed->answer));
        udpai_node_flush(bed->node);
    }
}

int
fed_setup(void **state)
{
    static const char *const names[] = {"a", "b", "c"};
    fed_bed *bed = calloc(1, sizeof(*bed));
    if (!bed)
        return -1;
    bed->wall_us = (int64_t)1700000000 * 1000000;
    for (int i = 0; i < FED_SOURCES; i++)
        bed->sources[i] =
            (udpai_source_config){.name = udpai_str_from(names[i]), .kind = UDPAI_SOURCE_UDPA};
    bed->config = (udpai_node_config){
        .id = UDPAI_STR("node"),
        .authority = UDPAI_STR("files"),
        .timing = {2000, 15000, 5000, 250, 15000, 0, 10000, 30000, 1000, 5000, 30000},
        .store =
            {
                .remember_ms = 600000,
                .remember_max = 1000,
                .max_resources_per_namespace = 1000000,
                .max_bytes_per_namespace = 1 << 30,
                .max_resources_per_publisher = 1000000,
                .max_bytes_per_publisher = 1 << 30,
                .max_resources = 1000000,
                .max_bytes = 1 << 30,
            },
        .sources = bed->sources,
        .n_sources = FED_SOURCES,
        .providers = &bed->provider,
        .is_durable = true,
        .peers_are_anonymous = true,
        .max_changes_ahead = SIZE_MAX,
    };
    bed->provider = (udpai_provider_config){.types = bed->types, .descriptors = bed->descriptors};
    udpai_wheel_init(&bed->wheel, 0);
    *state = bed;
    return 0;
}

int
fed_teardown(void **state)
{
    fed_bed *bed = *state;
    udpai_node_free(bed->node);
    udpai_report_free(bed->answer);
    fed_disk_done(&bed->kept);
    free(bed);
    return 0;
}

void
fed_type(fed_bed *bed, const char *type)
{
    bed->types[bed->provider.n_types++] = udpai_str_from(fed_url(type));
}

void
fed_descriptors(fed_bed *bed, const fed_descriptor *descriptors, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bed->descriptors[i] = (udpai_descriptor_config){
            bed->sources[descriptors[i].source - 'a'].name,
            udpai_str_from(descriptors[i].prefix),
            descriptors[i].continuation,
            descriptors[i].on_demand,
        };
    bed->provider.n_descriptors = n;
    bed->config.n_providers = 1;
}

udpa_err
fed_make(fed_bed *bed, udpa_error **ret_error)
{
    const udpai_node_env env = {
        .order = fed_note_order,
        .commit = on_commit,
        .wall_us = wall_us,
        .random = chance,
        .subject_of = bed->subject_of,
        .audience_moved = fed_audience_moved,
        .userdata = bed,
    };
    return udpai_node_new(&bed->node, &bed->wheel, &bed->config, &env, ret_error);
}

void
fed_start(fed_bed *bed)
{
    assert_ok(fed_make(bed, NULL));
    if (bed->root)
        assert_ok(udpai_node_expect_files(bed->node, udpai_str_from(bed->root)));
    for (size_t i = 0; i < bed->kept.n; i++)
        assert_ok(udpai_node_restore(bed->node, &bed->kept.items[i]));
    for (int i = 0; i < FED_LINKS; i++)
        bed->links[i] = (uint64_t)i + 1; /* they are numbered as they are configured */
    memset(bed->sessions, 0, sizeof(bed->sessions));
    udpai_node_start(bed->node);
    flush((fed_bed *)(uintptr_t)bed);
}

void
fed_restart(fed_bed *bed)
{
    bed->node = udpai_node_free(bed->node);
    bed->answer = udpai_report_free(bed->answer);
    bed->orders[0] = '\0';
    fed_start(bed);
}

void
fed_advance(fed_bed *bed, uint64_t ms)
{
    uint64_t end = bed->wheel.now_ms + ms;
    while (bed->wheel.now_ms < end) { /* as a loop does, that runs what is due and then flushes */
        uint64_t next = udpai_wheel_next(&bed->wheel);
        udpai_wheel_advance(&bed->wheel, next < end ? next : end);
        flush((fed_bed *)(uintptr_t)bed);
    }
}

udpa_err
fed_reconfigure(fed_bed *bed)
{
    udpai_node_next *next = NULL;
    udpa_err err = udpai_node_prepare(bed->node, &bed->config, &next, NULL);
    if (err != UDPA_OK)
        return err;
    udpai_node_take(next);
    flush(bed);
    return UDPA_OK;
}

/* ---- reports ---- */

static void
report(fed_bed *bed, udpai_report *report)
{
    if (bed->is_short)
        udpai_alloc_fail_after(bed->n_allocations);
    udpai_node_report(bed->node, report);
    if (bed->is_short_longer)
        flush((fed_bed *)(uintptr_t)bed);
    udpai_alloc_fail_after(-1);
    bed->is_short = bed->is_short_longer = false;
    flush((fed_bed *)(uintptr_t)bed);
    if (bed->is_engine_slow)
        return;
    udpai_node_committed(bed->node, bed->committed, UDPA_OK);
    flush((fed_bed *)(uintptr_t)bed);
}

static udpai_report *
new_report(udpai_report_kind kind, uint64_t session, uint64_t link)
{
    udpai_report *report = udpai_report_new(kind);
    assert_non_null(report);
    report->session = session;
    report->link = link;
    return report;
}

static uint64_t
open_stream(fed_bed *bed, uint64_t link, const fed_peer *peer)
{
    static const udpai_str features[] = {UDPAI_STR(UDPAI_FEATURE_EXTENSIONS),
                                         UDPAI_STR(UDPAI_FEATURE_NODE),
                                         UDPAI_STR(UDPAI_FEATURE_CLIENT)};
    uint64_t session = ++bed->last_session;
    udpai_report *opened = new_report(UDPAI_REPORT_OPENED, session, link);
    const udpai_str uri = udpai_str_from(peer->uri ? peer->uri : "");
    if (peer->name)
        assert_ok(
            udpai_identity_new(&opened->identity, &(udpai_identity_parts){
                                                      .common_name = udpai_str_from(peer->name),
                                                      .uris = &uri,
                                                      .n_uris = peer->uri ? 1 : 0,
                                                      .authenticated = true,
                                                  }));
    report(bed, opened);
    if (peer->is_xds)
        return session;
    report(bed, new_report(UDPAI_REPORT_ALIVE, session, link));
    if (peer->is_late)
        fed_advance(bed, 1000);
    udpai_report *introduced = new_report(UDPAI_REPORT_NODE, session, link);
    const udpai_node_parts parts = {
        .id = udpai_str_from(peer->id),
        .features = features,
        .n_features = peer->is_plain      ? 0
                      : peer->has_reports ? 3
                                          : 2,
    };
    introduced->info = fed_make_info(&parts, peer);
    introduced->is_extended = !peer->is_plain;
    report(bed, introduced);
    return session;
}

void
fed_connect_as(fed_bed *bed, char source, const fed_peer *peer)
{
    char id[] = {source, '\0'};
    fed_peer whole = *peer;
    if (!whole.id)
        whole.id = id;
    bed->sessions[source - 'a'] = bed->last_session + 1;
    (void)open_stream(bed, bed->links[source - 'a'], &whole);
}

void
fed_speak(fed_bed *bed, char source)
{
    int i = source - 'a';
    report(bed, new_report(UDPAI_REPORT_ALIVE, bed->sessions[i], bed->links[i]));
}

void
fed_connect(fed_bed *bed, char source)
{
    fed_connect_as(bed, source, &(fed_peer){0});
}

uint64_t
fed_arrive(fed_bed *bed, const fed_peer *peer)
{
    return open_stream(bed, 0, peer);
}

void
fed_close(fed_bed *bed, char source)
{
    int i = source - 'a';
    report(bed, new_report(UDPAI_REPORT_CLOSED, bed->sessions[i], bed->links[i]));
    bed->sessions[i] = 0;
}

void
fed_come_back_as(fed_bed *bed, char source, const fed_peer *peer)
{
    fed_close(bed, source);
    fed_advance(bed, 250);
    fed_connect_as(bed, source, peer);
}

void
fed_lose(fed_bed *bed, char source, const char *words)
{
    int i = source - 'a';
    udpai_report *closed = new_report(UDPAI_REPORT_CLOSED, bed->sessions[i], bed->links[i]);
    closed->error = udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL, "%s", words);
    report(bed, closed);
    bed->sessions[i] = 0;
}

void
fed_leave(fed_bed *bed, uint64_t session, bool is_disowned)
{
    udpai_report *closed = new_report(UDPAI_REPORT_CLOSED, session, 0);
    closed->is_disowned = is_disowned;
    report(bed, closed);
}

void
fed_rule(fed_bed *bed, udpai_acl *acl)
{
    udpai_node_set_acl(bed->node, acl);
    udpai_acl_unref(acl);
    flush((fed_bed *)(uintptr_t)bed);
}

/* ---- publications ---- */

const char *
fed_judge(fed_bed *bed, uint64_t session, udpai_publication *publication)
{
    bed->judged[0] = '\0';
    udpai_report *published = new_report(UDPAI_REPORT_PUBLICATION, session, 0);
    published->publication = publication;
    report(bed, published);
    return bed->judged;
}

static void
add_word(udpai_publication *publication, const char *type, char *word)
{
    char name[300];
    bool is_refresh = word[0] == '~', is_ignored = word[0] == '?';
    char *value = strchr(word, '=');
    if (word[0] == '!' || word[0] == '*') {
        publication->complete = word[0] == '!';
        publication->state_of_the_world = word[0] == '*';
        if (strcmp(word, "**") == 0)
            return;
        assert_ok(udpai_publication_set(&publication->type_url, udpai_str_from(fed_url(type))));
        assert_ok(udpai_publication_set(&publication->name_space, udpai_str_from(word + 1)));
    } else if (word[0] == '-') {
        if (!publication->type_url.len)
            assert_ok(udpai_publication_set(&publication->type_url, udpai_str_from(fed_url(type))));
        assert_ok(udpai_publication_remove(publication, udpai_str_from(full_name(word + 1, name))));
    } else {
        assert_non_null(value);
        *value++ = '\0';
        const char *full = full_name(word + (is_refresh || is_ignored), name);
        UDPA_AUTO(udpa_resource_unref)
        udpa_resource *resource = RESOURCE(full, .type = fed_url(type), .version = value,
                                           .value = is_refresh ? "" : value, .ttl_ms = is_refresh);
        assert_ok(udpai_publication_add(publication, resource, is_refresh));
        publication->entries.items[publication->entries.n - 1].is_ignored = is_ignored;
    }
}

static udpai_publication *
publication_of(const char *type, const char *words)
{
    char *copy = strdup(words), *rest = copy, *word;
    udpai_publication *publication = udpai_publication_new();
    assert_true(copy && publication);
    while ((word = strtok_r(rest, " ", &rest)))
        add_word(publication, type, word);
    free(copy);
    return publication;
}

const char *
fed_publish_at(fed_bed *bed, uint64_t session, const char *type, const char *words)
{
    return fed_judge(bed, session, publication_of(type, words));
}

const char *
fed_try_at(fed_bed *bed, uint64_t session, const char *type, const char *words)
{
    udpai_publication *publication = publication_of(type, words);
    publication->is_trial = true;
    return fed_judge(bed, session, publication);
}

const char *
fed_publish(fed_bed *bed, char source, const char *type, const char *words)
{
    return fed_publish_at(bed, bed->sessions[source - 'a'], type, words);
}

const char *
fed_put(fed_bed *bed, uint64_t session, udpa_resource *resource, bool is_refresh)
{
    udpai_publication *publication = udpai_publication_new();
    assert_true(publication && resource);
    assert_ok(udpai_publication_add(publication, resource, is_refresh));
    udpa_resource_unref(resource);
    return fed_judge(bed, session, publication);
}

/* ---- subscriptions ---- */

/* Fills in which names. */
static void
refuse(fed_bed *bed, char source, udpai_subscription_message *message, const char *name)
{
    char room[300];
    udpai_str names[1] = {udpai_str_from(name && *name ? full_name(name, room) : "")};
    message->names = names;
    message->n_names = name != NULL;
    udpai_report *error =
        new_report(UDPAI_REPORT_SUBSCRIPTION_ERROR, bed->sessions[source - 'a'], 0);
    error->subscription = udpai_subscription_message_copy(message);
    report(bed, error);
}

void
fed_refuse(fed_bed *bed, char source, const char *type, const char *name_space, const char *name)
{
    udpai_subscription_message message = {
        .type_url = udpai_str_from(fed_url(type)),
        .name_space = udpai_str_from(name_space),
        .status_code = 8,
        .status_text = UDPAI_STR("too many"),
    };
    refuse(bed, source, &message, name);
}

void
fed_deny(fed_bed *bed, char source, const char *type, const char *name_space, const char *name)
{
    udpai_subscription_message message = {
        .type_url = udpai_str_from(fed_url(type)),
        .name_space = udpai_str_from(name_space),
        .status_code = 7,
        .status_text = UDPAI_STR("not for you"),
    };
    refuse(bed, source, &message, name);
}

static void
tell_interest(fed_bed *bed, const char *type, const char *text, bool wanted)
{
    char room[300];
    bool is_wildcard = text[0] == '*';
    udpai_str name = udpai_str_from(is_wildcard ? "" : full_name(text, room));
    const udpai_subscription_message message = {
        .type_url = udpai_str_from(fed_url(type)),
        .name_space = udpai_str_from(is_wildcard ? text + 1 : ""),
        .names = &name,
        .n_names = 1,
    };
    udpai_report *interest = new_report(UDPAI_REPORT_INTEREST, 0, 0);
    interest->subscription = udpai_subscription_message_copy(&message);
    interest->subscribed = wanted;
    udpai_node_report(bed->node, interest); /* without a flush: they come in crowds */
}

void
fed_want(fed_bed *bed, const char *type, const char *text)
{
    tell_interest(bed, type, text, true);
}

void
fed_want_no_more(fed_bed *bed, const char *type, const char *text)
{
    tell_interest(bed, type, text, false);
}

/* ---- groups of clients ---- */

static void *
same_target(void *target)
{
    return target;
}

static void
release_nothing(void *target)
{
    (void)target;
}

static void *
reach(void *target, udpai_str name_space, const udpai_node_info *client)
{
    fed_bed *bed = target;
    udpai_str id = client ? udpai_node_info_parts(client)->id : UDPAI_STR("nobody");
    fed_note(bed->orders, ", ", "reach %.*s as %.*s", UDPAI_SHOWN(name_space), UDPAI_SHOWN(id));
    return bed;
}

void
fed_ask_per_clients(fed_bed *bed, char source)
{
    udpai_source_config *config = &bed->sources[source - 'a'];
    config->kind = UDPAI_SOURCE_XDS;
    config->target = bed;
    config->ref_target = same_target;
    config->release_target = release_nothing;
    config->target_for = reach;
}

void
fed_come(fed_bed *bed, const char *name_space, const char *node_id)
{
    udpai_report *clients = new_report(UDPAI_REPORT_CLIENTS, 0, 0);
    clients->subscribed = true;
    assert_ok(udpa_bytes_new(&clients->name_space, name_space, strlen(name_space)));
    if (node_id)
        assert_ok(udpai_node_info_new(&clients->info,
                                      &(udpai_node_parts){.id = udpai_str_from(node_id)}));
    report(bed, clients);
}

void
fed_go(fed_bed *bed, const char *name_space)
{
    udpai_report *clients = new_report(UDPAI_REPORT_CLIENTS, 0, 0);
    assert_ok(udpa_bytes_new(&clients->name_space, name_space, strlen(name_space)));
    report(bed, clients);
}

void
fed_short(fed_bed *bed, long n_allocations, bool longer)
{
    assert_true(udpai_vector_reserve(&bed->kept, 64)); /* the engine has memory of its own */
    bed->is_short = true;
    bed->is_short_longer = longer;
    bed->n_allocations = n_allocations;
}

void
fed_committed(fed_bed *bed, uint64_t ticket, udpa_err result)
{
    if (bed->is_short)
        udpai_alloc_fail_after(bed->n_allocations);
    udpai_node_committed(bed->node, ticket, result);
    udpai_node_flush(bed->node);
    udpai_alloc_fail_after(-1);
    bed->is_short = false;
    flush((fed_bed *)(uintptr_t)bed);
}

/* ---- looking ---- */

const char *
fed_reports(fed_bed *bed)
{
    static char text[FED_TEXT];
    flush((fed_bed *)(uintptr_t)bed);
    memcpy(text, bed->reports, sizeof(text));
    bed->reports[0] = '\0';
    return text;
}

const char *
fed_orders(fed_bed *bed)
{
    static char text[FED_TEXT];
    flush((fed_bed *)(uintptr_t)bed);
    memcpy(text, bed->orders, sizeof(text));
    bed->orders[0] = '\0';
    return text;
}

static bool
take_effective(void *userdata, const udpai_contribution *contribution)
{
    char *value = userdata;
    if (contribution->effective) {
        udpai_str text = udpai_resource_value(contribution->resource);
        snprintf(value, 100, "%.*s", (int)text.len, text.data);
    }
    return true;
}

const char *
fed_value(fed_bed *bed, const char *type, const char *name)
{
    static char value[100];
    char room[300];
    value[0] = '\0';
    flush((fed_bed *)(uintptr_t)bed);
    udpai_store_visit_name(udpai_node_store(bed->node), udpai_str_from(fed_url(type)),
                           udpai_str_from(full_name(name, room)), take_effective, value);
    return value;
}

bool
fed_settled(const fed_bed *bed, const char *type, const char *prefix)
{
    flush((fed_bed *)(uintptr_t)bed);
    return udpai_settled_query(udpai_node_settled(bed->node), udpai_str_from(fed_url(type)),
                               udpai_str_from(prefix), UDPAI_STR("")) == UDPAI_SETTLED;
}

bool
fed_name_settled(const fed_bed *bed, const char *type, const char *name)
{
    char room[300];
    udpai_str full = udpai_str_from(full_name(name, room)), url = udpai_str_from(fed_url(type));
    flush((fed_bed *)(uintptr_t)bed);
    const udpai_settled *settled = udpai_node_settled(bed->node);
    return udpai_settled_query_name(settled, url, full, UDPAI_STR("")) == UDPAI_SETTLED;
}
