/* SPDX-License-Identifier: Apache-2.0 */
/* A ConfigSource: when it is connected and active, and what follows when its stream begins or ends.
 */
#include "federation/recovery.h"

#include <stdio.h>

#include "base/alloc.h"
#include "federation/absence.h"
#include "federation/connection.h"
#include "federation/difference.h"
#include "federation/twins.h"

#define MAX_WITHDRAWAL 50 /* percent */
#define LOGGED_MAX 20     /* lines of a source of a kind in 10 s */
#define HELLO_MS 1000     /* how long a peer's Node is waited for before it is taken to have none */

/* ---- dialling ---- */

/* A source that no provider reaches is left alone; a peer that dials us stays as long as it likes.
 */
void
udpai_source_reach(udpai_source *source, bool asked)
{
    bool reached = asked || source->stays_connected;
    if (source->must_hang_up)
        udpai_source_hang_up_in_the_end(source);
    udpai_sources *sources = source->owner;
    if (source->is_reached == reached ||
        !sources->context->is_started) /* it is looked at again then */
        return;
    source->is_reached = reached;
    if (reached && !source->is_decided)
        udpai_timer_set(sources->context->wheel, &source->grace,
                        udpai_context_now(sources->context) +
                            sources->context->timing.connect_grace_ms);
    if (!udpai_source_is_dialled(source))
        return;
    if (reached && source->state == UDPAI_SOURCE_IDLE) {
        udpai_source_dial_first(source);
    } else if (!reached && source->state == UDPAI_SOURCE_WAITING) {
        udpai_timer_cancel(&source->retry);
        udpai_source_set_state(source, UDPAI_SOURCE_IDLE);
    } else if (!reached && source->state != UDPAI_SOURCE_IDLE) {
        (void)udpai_source_hang_up(source);
    }
}

static bool
is_requested(const udpai_source *source)
{
    UDPAI_LIST_FOREACH (node, &source->scopes)
        if (UDPAI_LIST_ENTRY(node, udpai_scope, in_source)->is_requested)
            return true;
    return !source->serves_us;
}

void
udpai_source_evaluate(udpai_source *source, bool may_be_asked)
{
    udpai_source_reach(source, may_be_asked && is_requested(source));
    UDPAI_LIST_FOREACH (scope, &source->scopes)
        udpai_scope_sync(UDPAI_LIST_ENTRY(scope, udpai_scope, in_source));
}

void
udpai_source_ask_for_refused(udpai_source *source)
{
    if (source->has_refused)
        udpai_source_begin_anew(source, 0);
}

/* ---- deciding whether it is active ---- */

/* It was active, and none of its servers has taken its place in time. */
static void
note_loss(udpai_source *source)
{
    if (source->servers.is_moving)
        source->owner->lost_ms = udpai_context_now(source->owner->context);
    source->servers.is_moving = false;
}

static void
on_grace_end(udpai_timer *timer)
{
    udpai_source *source = UDPAI_CONTAINER_OF(timer, udpai_source, grace);
    note_loss(source);
    source->is_decided = true;
    if (source->n_failures)
        udpai_recovery_closed(source);
    udpai_source_touch(source);
}

static void
on_fail_back(udpai_timer *timer)
{
    udpai_source_touch(UDPAI_CONTAINER_OF(timer, udpai_source, fail_back));
}

/* ---- the stream ---- */

static void
sync_scopes(udpai_source *source)
{
    UDPAI_LIST_FOREACH (node, &source->scopes)
        udpai_scope_sync(UDPAI_LIST_ENTRY(node, udpai_scope, in_source));
}

/* It was asked as one that has no Node, and has one after all: asked again, in its own words. */
static void
ask_anew(udpai_source *source)
{
    UDPAI_LIST_FOREACH (node, &source->scopes)
        udpai_scope_reset(UDPAI_LIST_ENTRY(node, udpai_scope, in_source));
    sync_scopes(source);
}

/* From the order on the session takes only what was asked for; so it comes after what is asked. */
static void
attach(const udpai_source *source)
{
    udpai_order *order = udpai_order_new(UDPAI_ORDER_ATTACH);
    if (!order)
        return;
    order->session = source->session;
    order->link = source->link;
    order->is_source = true;
    udpai_context_order(source->owner->context, order);
}

static void
may_ask_now(udpai_source *source)
{
    udpai_timer_cancel(&source->hello);
    if (source->may_ask)
        return;
    source->may_ask = true;
    sync_scopes(source);
    if (source->serves_us)
        attach(source);
}

static void
on_hello_end(udpai_timer *timer)
{
    udpai_source *source = UDPAI_CONTAINER_OF(timer, udpai_source, hello);
    source->asked_blindly = true;
    may_ask_now(source);
}

static void
log_connected(udpai_source *source)
{
    char more[UDPAI_LOG_MORE_MAX];
    unsigned n_suppressed;
    udpai_str name = udpai_bytes_view(source->name);
    const char *address = udpai_servers_address(source);
    udpai_context_note(
        source->owner->context, UDPAI_NOTE_SOURCE_CONNECTED, UDPA_LOG_INFO,
        UDPAI_ABOUT({UDPAI_LOG_SOURCE, name}, {UDPAI_LOG_ADDRESS, udpai_str_from(address)}),
        "source %.*s: connected", UDPAI_SHOWN(name));
    if (udpai_log_allow_burst(&source->connected_log, LOGGED_MAX,
                              udpai_context_now(source->owner->context), &n_suppressed))
        udpai_log_about(
            UDPA_LOG_INFO, "federation",
            UDPAI_ABOUT({UDPAI_LOG_SOURCE, name}, {UDPAI_LOG_ADDRESS, udpai_str_from(address)}),
            "source %.*s: connected%s%s%s", (int)name.len, name.data,
            source->servers.n > 1 ? " to " : "", source->servers.n > 1 ? address : "",
            udpai_log_more(more, n_suppressed));
}

/* Not each attempt to connect that fails: it was connected until now. */
static void
note_lost(const udpai_source *source, const udpa_error *why)
{
    udpai_str name = udpai_bytes_view(source->name);
    if (source->session == 0)
        return;
    udpai_context_note(source->owner->context, UDPAI_NOTE_SOURCE_LOST, UDPA_LOG_WARNING,
                       UDPAI_ABOUT({UDPAI_LOG_SOURCE, name}, {UDPAI_LOG_CODE, udpai_log_code(why)}),
                       "source %.*s: lost: %s", UDPAI_SHOWN(name),
                       why ? udpa_error_message(why) : "the stream has ended");
}

/* @p otherwise: the reason without an error. */
static void
log_lost(udpai_source *source, udpa_log_level level, const udpa_error *why, const char *otherwise)
{
    char more[UDPAI_LOG_MORE_MAX];
    unsigned n_suppressed;
    udpai_str name = udpai_bytes_view(source->name);
    if (udpai_log_allow_burst(&source->lost_log, LOGGED_MAX,
                              udpai_context_now(source->owner->context), &n_suppressed))
        udpai_log_about(
            level, "federation",
            UDPAI_ABOUT({UDPAI_LOG_SOURCE, name}, {UDPAI_LOG_CODE, udpai_log_code(why)}),
            "source %.*s: %s%s", (int)name.len, name.data,
            why ? udpa_error_message(why) : otherwise, udpai_log_more(more, n_suppressed));
}

void
udpai_source_opened(udpai_source *source, udpai_peer *peer)
{
    udpai_sources *sources = source->owner;
    source->session = peer->session;
    source->counters.n_connects++;
    udpai_source_meter(source, UDPAI_METRIC_SOURCE_CONNECTS);
    peer->source = source;
    udpai_source_set_state(source, UDPAI_SOURCE_CONNECTED);
    log_connected(source);
    udpai_recovery_opened(source);
    if (peer->info)
        udpai_absence_introduced(source);
    if (peer->info || udpai_source_is_xds(source))
        may_ask_now(source);
    else
        udpai_timer_set(sources->context->wheel, &source->hello,
                        udpai_context_now(sources->context) + HELLO_MS);
}

void
udpai_source_refuse(udpai_source *source, udpa_error *why)
{
    source->is_sent_away = true;
    udpai_fault_of_connection(source, why);
    udpa_error_unref(why);
    log_lost(source, UDPA_LOG_ERROR, source->last_error, "out of memory");
    udpai_source_set_state(source, UDPAI_SOURCE_CONNECTED);
    (void)udpai_source_hang_up(source);
}

/* All that it has would look as if it had been here before. */
static void
refuse_namesake(udpai_source *source)
{
    udpai_str id = udpai_bytes_view(source->owner->context->id);
    udpai_source_refuse(
        source, udpa_error_new(UDPA_ERR_PRECONDITION, NULL,
                               "it has this node's own id '%.*s': give one of them another node.id",
                               (int)id.len, id.data));
}

/* Its Node was received: now it is known what it understands, and its id. */
void
udpai_source_introduced(udpai_source *source, udpai_peer *peer)
{
    udpai_str id = udpai_node_info_parts(peer->info)->id;
    source->is_sent_away = false;
    source->is_plain = !peer->is_extended || !peer->is_node;
    if (!peer->is_of_set && udpai_str_eq(id, udpai_bytes_view(source->owner->context->id))) {
        refuse_namesake(source);
        return;
    }
    udpai_servers_introduced(source, peer);
    udpai_source_alive(source);
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *instance = NULL;
    udpai_str name = udpai_node_info_instance(peer->info);
    if (udpa_bytes_new(&instance, name.data, name.len) == UDPA_OK && source->origin)
        udpai_origin_set_node(source->owner->context->store, source->origin, instance);
    if (source->may_ask && source->asked_blindly) {
        source->asked_blindly = false;
        ask_anew(source);
    }
    udpai_absence_introduced(source);
    may_ask_now(source);
    udpai_source_touch(source);
}

void
udpai_source_alive(udpai_source *source)
{
    udpai_sources *sources = source->owner;
    if (source->state == UDPAI_SOURCE_ACTIVE || source->is_sent_away)
        return;
    source->n_failures = 0;
    source->is_decided = true;
    source->servers.is_moving = false;
    source->active_since_ms = udpai_context_now(sources->context);
    udpai_timer_cancel(&source->grace);
    udpai_timer_set(sources->context->wheel, &source->fail_back,
                    udpai_context_now(sources->context) +
                        sources->context->timing.fail_back_delay_ms);
    udpai_source_set_state(source, UDPAI_SOURCE_ACTIVE);
}

/* It is active, and has sent all. With errors in a file it is not: what it had stays until a source
 * behind it takes over. */
void
udpai_source_was_read(udpai_source *source, const udpai_directory *directory)
{
    udpai_directory_note_unread(source->owner->context, &source->unread, directory->unread);
    if (directory->is_partial || directory->has_errors) {
        source->is_decided = true;
        udpai_source_set_state(source, UDPAI_SOURCE_IDLE);
        udpai_source_touch(source);
        return;
    }
    UDPAI_LIST_FOREACH (at, &source->scopes)
        UDPAI_LIST_ENTRY(at, udpai_scope, in_source)->is_known = true;
    udpai_source_alive(source);
    udpai_context_touch(source->owner->context);
}

static void
note_error(udpai_source *source, udpa_error *error)
{
    udpai_fault_of_connection(source, error);
    log_lost(source, UDPA_LOG_WARNING, error, "the stream has ended");
}

/* The rest of its servers is tried at once, and nothing takes over from it meanwhile. */
static void
go_on(udpai_source *source)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *why = udpai_servers_why(source);
    udpai_fault_of_server(source, why);
    udpai_log_about(UDPA_LOG_WARNING, "federation",
                    UDPAI_ABOUT({UDPAI_LOG_SOURCE, udpai_bytes_view(source->name)},
                                {UDPAI_LOG_ADDRESS, udpai_str_from(udpai_servers_address(source))},
                                {UDPAI_LOG_CODE, udpai_log_code(why)}),
                    "source %.*s: %s; trying its next server, %s",
                    (int)udpa_bytes_size(source->name), (const char *)udpa_bytes_data(source->name),
                    why ? udpa_error_message(why) : "the stream has ended",
                    udpai_servers_address(source));
    if (!udpai_source_is_active(source))
        return;
    udpai_source_keep_place(source);
    source->servers.is_moving = true;
}

static void
note_end(udpai_source *source, udpa_error *error)
{
    UDPA_AUTO(udpa_error_unref)
    udpa_error *why = source->servers.n > 1 ? udpai_servers_why(source) : udpa_error_ref(error);
    source->servers.is_moving |= udpai_source_is_active(source);
    if (source->servers.is_moving)
        source->is_decided = true;
    note_loss(source);
    if (!source->is_sent_away || source->servers.n > 1) /* which has more detail */
        note_error(source, why);
}

/* A stream's end changes no resource: all that came by it stays. */
void
udpai_source_closed(udpai_source *source, udpa_error *error)
{
    bool is_renewed = source->is_renewed, goes_on = false;
    if (!is_renewed)
        goes_on = udpai_servers_ended(source, source->is_sent_away ? source->last_error : error) &&
                  source->is_reached && udpai_source_is_dialled(source);
    if (!is_renewed)
        note_lost(source, error);
    if (goes_on)
        go_on(source);
    else if (!is_renewed)
        note_end(source, error);
    bool was_open = source->session != 0;
    if (was_open)
        source->contact_us = udpai_context_wall_us(source->owner->context);
    source->session = 0;
    source->may_ask = source->asked_blindly = false;
    source->has_lost_update = source->must_hang_up = source->is_renewed = false;
    source->has_refused = false;
    source->n_failures += !is_renewed;
    if (!is_renewed)
        udpai_source_meter(source, UDPAI_METRIC_SOURCE_FAILURES);
    if (!is_renewed && !was_open)
        udpai_source_meter(source, UDPAI_METRIC_SOURCE_DIAL_FAILURES);
    udpai_timer_cancel(&source->hello);
    udpai_timer_cancel(&source->fail_back);
    udpai_timer_cancel(&source->anew);
    udpai_questions_end(source);
    udpai_fault_stream_over(source);
    udpai_absence_closed(source);
    udpai_differences_forget(source);
    UDPAI_LIST_FOREACH (node, &source->scopes)
        udpai_scope_reset(UDPAI_LIST_ENTRY(node, udpai_scope, in_source));
    if (goes_on || (is_renewed && source->is_reached && udpai_source_is_dialled(source)))
        udpai_source_dial(source);
    else if (udpai_source_is_dialled(source) && source->is_reached)
        udpai_source_back_off(source);
    else
        udpai_source_set_state(source, UDPAI_SOURCE_IDLE);
    udpai_recovery_closed(source);
    udpai_source_touch(source);
}

/* ---- making one ---- */

static udpa_err
add_standby(udpai_source *source, udpai_str type_url)
{
    if (!udpai_vector_reserve(&source->standby, 1))
        return UDPA_ERR_NOMEM;
    udpa_err err =
        udpa_bytes_new(&source->standby.items[source->standby.n], type_url.data, type_url.len);
    source->standby.n += err == UDPA_OK;
    return err;
}

static udpa_err
copy_config(udpai_source *source, const udpai_source_config *config)
{
    udpa_err err = udpa_bytes_new(&source->name, config->name.data, config->name.len);
    if (err == UDPA_OK)
        err = udpa_bytes_new(&source->peer_name, config->peer.data, config->peer.len);
    if (err == UDPA_OK)
        err = udpa_bytes_new(&source->address, config->address.data, config->address.len);
    source->kind = config->kind;
    source->kind_name = config->kind_name;
    source->stays_connected = config->stays_connected || config->n_standby;
    source->max_withdrawal = config->max_withdrawal ? config->max_withdrawal : MAX_WITHDRAWAL;
    source->passes_doubts = config->passes_doubts;
    source->ref_target = config->ref_target;
    source->release_target = config->release_target;
    source->target_for = config->target_for;
    source->target = config->target ? config->ref_target(config->target) : NULL;
    for (size_t i = 0; i < config->n_standby && err == UDPA_OK; i++)
        err = add_standby(source, config->standby[i]);
    return err == UDPA_OK ? udpai_servers_set(source, config->starts_anywhere) : err;
}

void
udpai_source_set_keeping(const udpai_source *source)
{
    bool is_path = source->kind == UDPAI_SOURCE_PATH;
    udpai_origin_set_durable(source->origin, source->owner->context->is_durable && !is_path);
    udpai_origin_set_keeps_alive(source->origin, is_path);
}

static udpa_err
make_origin(udpai_source *source)
{
    char key[UDPAI_AUTHORITY_MAX + UDPAI_NAME_MAX + 8];
    udpai_str name = udpai_bytes_view(source->name);
    int len = snprintf(key, sizeof(key), UDPAI_SOURCE_KEY "%.*s", (int)name.len, name.data);
    if (len < 0 || (size_t)len >= sizeof(key))
        return UDPA_ERR_LIMIT;
    udpai_store *store = source->owner->context->store;
    source->origin = udpai_store_origin(store, (udpai_str){key, (size_t)len});
    if (!source->origin)
        return UDPA_ERR_NOMEM;
    udpai_origin_set_rank(store, source->origin, UDPAI_ORIGIN_SOURCE, 0);
    udpai_source_set_keeping(source);
    return UDPA_OK;
}

udpa_err
udpai_source_make(udpai_sources *sources,
                  const udpai_source_config *config,
                  udpai_source **ret_source)
{
    udpai_source *source = udpai_alloc(sizeof(*source));
    if (!source)
        return UDPA_ERR_NOMEM;
    source->owner = sources;
    source->since_us = udpai_context_wall_us(sources->context);
    udpai_list_init(&source->in_own);
    udpai_list_init(&source->scopes);
    udpai_list_init(&source->questions);
    udpai_differences_init(source);
    udpai_source_connection_init(source);
    udpai_timer_init(&source->grace, on_grace_end);
    udpai_timer_init(&source->hello, on_hello_end);
    udpai_timer_init(&source->fail_back, on_fail_back);
    udpa_err err = copy_config(source, config);
    if (err == UDPA_OK)
        *ret_source = source;
    else
        udpai_source_free(source);
    return err;
}

udpa_err
udpai_source_new(udpai_sources *sources,
                 const udpai_source_config *config,
                 bool serves_us,
                 udpai_source **ret_source,
                 udpa_error **ret_error)
{
    udpai_source *source = NULL;
    udpa_err err = udpai_source_make(sources, config, &source);
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    source->serves_us = serves_us;
    source->link = ++sources->last_link;
    if (serves_us)
        err = udpai_fail_code(ret_error, make_origin(source));
    if (err == UDPA_OK && serves_us)
        err = udpai_recovery_new(source, config, ret_error);
    if (err != UDPA_OK) {
        udpai_source_free(source);
        return err;
    }
    *ret_source = source;
    return UDPA_OK;
}

/* "istiod/com.acme/clients/a" */
static udpa_err
make_clients_name(udpai_strbuf *out, const udpai_source *template, udpai_str name_space)
{
    udpai_strbuf_str(out, udpai_bytes_view(template->name));
    udpai_strbuf_puts(out, "/");
    udpai_strbuf_str(out, name_space);
    return udpai_strbuf_failed(out) ? UDPA_ERR_NOMEM : UDPA_OK;
}

udpa_err
udpai_source_new_of_clients(const udpai_source *template,
                            udpai_str name_space,
                            udpai_mark *clients,
                            udpai_source **ret_source)
{
    udpai_strbuf name = {0};
    udpai_source *source = NULL;
    udpa_err err = make_clients_name(&name, template, name_space);
    const udpai_source_config config = {
        .name = udpai_strbuf_view(&name),
        .kind = template->kind,
        .address = udpai_bytes_view(template->address),
        .ref_target = template->ref_target,
        .release_target = template->release_target,
        .max_withdrawal = template->max_withdrawal,
    };
    if (err == UDPA_OK)
        err = udpai_source_new(template->owner, &config, true, &source, NULL);
    udpai_strbuf_done(&name);
    if (err != UDPA_OK)
        return err;
    source->clients = clients;
    source->template = template;
    if (!udpai_sources_put(template->owner, source, false)) {
        udpai_source_free(source);
        return UDPA_ERR_NOMEM;
    }
    *ret_source = source;
    return UDPA_OK;
}

bool
udpai_source_set_client(udpai_source *source, udpai_str name_space, const udpai_node_info *client)
{
    const udpai_source *template = source->template;
    void *target = template->target_for(template->target, name_space, client);
    if (target)
        udpai_source_set_target(source, target);
    return target != NULL;
}

void
udpai_source_free(udpai_source *source)
{
    udpai_questions_end(source);
    source->recovery = udpai_recovery_free(source->recovery);
    UDPAI_LIST_FOREACH_SAFE (node, &source->scopes)
        udpai_scope_free(UDPAI_LIST_ENTRY(node, udpai_scope, in_source));
    udpai_timer *const timers[] = {&source->grace, &source->hello, &source->fail_back};
    udpai_source_connection_done(source);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(timers); i++)
        udpai_timer_cancel(timers[i]);
    udpai_list_remove(&source->in_own);
    udpai_differences_forget(source);
    if (source->target)
        source->release_target(source->target);
    udpa_bytes_unref(source->name);
    udpa_bytes_unref(source->peer_name);
    udpa_bytes_unref(source->address);
    udpa_bytes_unref(source->by);
    udpa_bytes_unref(source->unread);
    for (size_t i = 0; i < source->standby.n; i++)
        udpa_bytes_unref(source->standby.items[i]);
    udpai_vector_done(&source->standby);
    udpai_faults_done(source);
    udpai_servers_done(source);
    udpai_free(source);
}

void
udpai_source_end(udpai_source *source)
{
    udpai_store *store = source->owner->context->store;
    udpai_origin *origin = source->origin;
    udpai_source_disown_stream(source);
    udpai_sources_remove(source->owner, source);
    udpai_source_free(source);
    if (!origin)
        return;
    udpai_store_withdraw_all(store, origin, (udpai_str){0}, (udpai_str){0}, NULL, NULL);
    udpai_origin_set_rank(store, origin, UDPAI_ORIGIN_PUBLISHER, 0); /* it may go */
}

/* ---- what is known of it ---- */

const udpa_error *
udpai_source_fault(const udpai_source *source)
{
    return source->faults.connection;
}

const char *
udpai_source_server(const udpai_source *source)
{
    return udpai_servers_address(source);
}

/* ---- what it sends ---- */

void
udpai_source_count(udpai_source *source, const udpai_publication *publication)
{
    udpai_source_counters *counters = &source->counters;
    for (size_t i = 0; i < publication->entries.n; i++) {
        const udpai_publication_entry *entry = &publication->entries.items[i];
        if (entry->is_ignored)
            continue;
        if (entry->error)
            counters->n_refused++;
        else if (entry->is_refresh)
            counters->n_refreshes++;
        else
            counters->n_resources++;
    }
    counters->n_removals += publication->removals.n;
}

void
udpai_source_received(udpai_source *source, udpai_publication *publication)
{
    if (publication->commit && !source->has_lost_update)
        udpai_absence_commit(source, publication->commit);
    for (size_t i = 0; i < publication->entries.n; i++)
        udpai_source_published(source,
                               udpai_resource_type_url(publication->entries.items[i].resource));
    if (publication->waits.len && !source->has_lost_update)
        udpai_source_waits(source, publication);
    if (publication->complete && !source->has_lost_update)
        udpai_source_completed(source, publication->type_url, publication->name_space);
    else if (publication->type_url.len)
        udpai_absence_settle(source, publication->type_url);
}
