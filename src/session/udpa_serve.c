/* SPDX-License-Identifier: Apache-2.0 */
/* The peer as a subscriber: what it asks for, what it is sent, what it answers to that. */
#include "session/udpa_internal.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "events/topics.h"
#include "model/client_type.h"
#include "model/name.h"
#include "model/types.h"
#include "session/client_state.h"

#define TYPES_MAX 1024
/* The text of a status is searched for a name up to here. */
#define TEXT_WITH_NAME_MAX 4096

void
udpai_udpa_choose_renderer(udpai_udpa *udpa)
{
    /* Management nodes validate what they receive by rules of their own; endpoints answer with a
     * receipt. */
    const udpai_node_info *peer = udpa->peer;
    udpa->asks_receipts = !peer || !udpai_node_info_has_feature(peer, UDPAI_FEATURE_NODE);
    bool redacted = peer && udpai_node_info_has_feature(peer, UDPAI_FEATURE_REDACTED);
    udpa->subscriber.renderer =
        udpai_udpa_renderer(udpa->is_extended, udpa->asks_receipts, redacted);
}

udpai_sent *
udpai_udpa_sent(udpai_subscription *subscription)
{
    udpai_sent *sent = udpai_subscription_userdata(subscription);
    if (!sent) {
        sent = udpai_alloc(sizeof(*sent));
        udpai_subscription_set_userdata(subscription, sent);
    }
    return sent;
}

static void
free_sent(udpai_sent *sent)
{
    if (!sent)
        return;
    udpai_refusals_done(&sent->refusals);
    udpa_error_unref(sent->last_error);
    udpai_free(sent);
}

void
udpai_in_flight_free(udpai_udpa *udpa, udpai_in_flight *flight)
{
    udpai_list_remove(&flight->node);
    udpai_owed_end(&flight->owed);
    udpa->n_in_flight--;
    udpai_listing_unref(flight->listing);
    udpai_publication_free(flight->publication);
    udpai_free_in(udpai_hub_memory(udpa->session.hub), flight, sizeof(*flight));
}

void
udpai_udpa_free_served(udpai_udpa *udpa)
{
    while (!udpai_list_empty(&udpa->in_flight))
        udpai_in_flight_free(udpa, UDPAI_LIST_ENTRY(udpa->in_flight.next, udpai_in_flight, node));
    for (size_t i = 0; i < udpa->subscriber.subscriptions.n; i++)
        free_sent(udpai_subscription_userdata(udpa->subscriber.subscriptions.items[i]));
}

/* ---- subscribing ---- */

/* Answers the peer what of its Subscribe cannot be served; without names all of it, and no other
 * answer follows. A peer with just the public protocol does not read it. */
static udpa_err
refuse(udpai_udpa *udpa,
       const udpai_subscription_message *message,
       const udpai_str *names,
       size_t n_names,
       const udpa_error *why)
{
    if (!udpa->is_extended)
        return UDPA_OK;
    const udpai_subscription_message whole = {
        .type_url = message->type_url,
        .name_space = message->name_space,
        .names = names,
        .n_names = n_names,
        .status_code = udpa_err_to_grpc(udpa_error_code(why)),
        .status_text = udpai_str_from(udpa_error_message(why)),
    };
    udpai_str echoed[UDPAI_ECHOED_NAMES];
    const udpai_subscription_message error = udpai_subscription_error_cut(&whole, echoed);
    return udpai_udpa_answer(udpa, udpai_subscription_error_compose(&error));
}

static udpa_err
check_scope(const udpai_udpa *udpa,
            const udpai_subscription_message *message,
            udpa_error **ret_error)
{
    if (message->type_url.len == 0 || message->type_url.len > UDPAI_TYPE_URL_MAX)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "a Subscribe needs a type URL of at most %d bytes", UDPAI_TYPE_URL_MAX);
    udpai_str type = udpai_type_url_name(message->type_url);
    if (type.len == 0 || type.len == message->type_url.len)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "no resource has type URL '%.*s': it must be <prefix>/<message type>, "
                          "such as type.googleapis.com/envoy.config.cluster.v3.Cluster",
                          (int)message->type_url.len, message->type_url.data);
    if (udpa->subscriber.subscriptions.n >= TYPES_MAX &&
        !udpai_subscriber_find(&udpa->subscriber, message->type_url))
        return udpai_fail(ret_error, UDPA_ERR_LIMIT, "a stream has at most %d types", TYPES_MAX);
    return udpai_prefix_check(message->name_space, ret_error);
}

static udpa_err
check_name(udpai_udpa *udpa,
           const udpai_subscription_message *message,
           udpai_str name,
           udpa_error **ret_error)
{
    udpa_err err = udpai_name_check(name, ret_error);
    if (err == UDPA_OK && !udpai_prefix_covers(message->name_space, name))
        err = udpai_fail(ret_error, UDPA_ERR_INVAL,
                         "name '%.*s' lies outside the Subscribe's namespace '%.*s'", (int)name.len,
                         name.data, (int)message->name_space.len, message->name_space.data);
    const udpai_asked_for asked = {message->type_url, name, false};
    return err == UDPA_OK
               ? udpai_session_check_subscription(&udpa->session, udpa->peer, &asked, ret_error)
               : err;
}

/* An error of the subscription, which the peer is sent; or one of ours, which ends the session. */
static bool
is_ours(udpa_err err)
{
    return err == UDPA_ERR_NOMEM;
}

static bool
is_node(const udpai_udpa *udpa)
{
    return udpa->is_extended && udpa->peer &&
           udpai_node_info_has_feature(udpa->peer, UDPAI_FEATURE_NODE);
}

/* ---- subscriptions that nodes pass on ---- */

/* What a node subscribes to of client reports, a client below it subscribes to. The loop side is
 * sent each such subscription, with its distance; if they were counted with those of clients that
 * are here, nodes in a ring would subscribe to something because the next one does. */
static bool
is_passed_on(const udpai_udpa *udpa, udpai_str type_url)
{
    const udpai_node_info *own = udpai_hub_settings(udpa->session.hub)->info;
    return is_node(udpa) && own && udpai_type_is_client(type_url) &&
           udpai_node_info_has_feature(own, UDPAI_FEATURE_NODE);
}

/* One to events is none of the fan-out. */
static bool
is_uncounted(const udpai_subscription *subscription)
{
    return subscription && udpai_subscription_is_uncounted(subscription);
}

static udpa_err
report_passed_on(udpai_udpa *udpa,
                 const udpai_subscription_message *message,
                 udpai_str name,
                 bool subscribed)
{
    const bool is_wildcard = udpai_name_is_wildcard(name);
    const udpai_str none = {"", 0};
    const udpai_subscription_message one = {
        .type_url = message->type_url,
        .name_space = is_wildcard ? message->name_space : none,
        .names = is_wildcard ? &none : &name,
        .n_names = 1,
        .distance = message->distance,
    };
    udpai_report *report = udpai_session_report_new(&udpa->session, UDPAI_REPORT_PASSED_ON);
    if (report)
        report->subscription = udpai_subscription_message_copy(&one);
    if (!report || !report->subscription) {
        udpai_report_free(report);
        return UDPA_ERR_NOMEM;
    }
    report->subscribed = subscribed;
    udpai_hub_report(udpa->session.hub, report);
    return UDPA_OK;
}

/* It is subscribed to, and nothing is to be sent again for it. */
static bool
is_just_moved(const udpai_subscription *subscription,
              const udpai_subscription_message *message,
              udpai_str name)
{
    if (!message->distance || !is_uncounted(subscription))
        return false;
    return udpai_name_is_wildcard(name)
               ? udpai_subscription_has_prefix(subscription, message->name_space)
               : udpai_subscription_has_name(subscription, name);
}

/* ---- what is asked ---- */

/* Names that are refused together, because the stream asks for too many: each by itself would be
 * more answers than may wait, for a peer that reads them. */
typedef struct surplus {
    udpai_str names[UDPAI_ECHOED_NAMES];
    size_t n;
    udpa_error *why; /* of the first */
} surplus;

static udpa_err
refuse_surplus(udpai_udpa *udpa, const udpai_subscription_message *message, surplus *names)
{
    udpa_err err = names->n ? refuse(udpa, message, names->names, names->n, names->why) : UDPA_OK;
    udpa_error_unref(names->why);
    *names = (surplus){0};
    return err;
}

/* Without a subscription of the fan-out it is one to events; the same below. */
static udpa_err
subscribe_name(udpai_udpa *udpa,
               udpai_subscription *subscription,
               const udpai_subscription_message *message,
               udpai_str name,
               surplus *names)
{
    udpa_error *error = NULL;
    udpa_err err = check_name(udpa, message, name, &error);
    if (err != UDPA_OK && !is_ours(err)) {
        err = refuse(udpa, message, &name, 1, error);
    } else if (err == UDPA_OK &&
               (err = subscription ? udpai_subscribe_name(subscription, name, &error)
                                   : udpai_udpa_subscribe_events(udpa, false, name, &error)) ==
                   UDPA_ERR_LIMIT) {
        if (names->n == 0)
            names->why = udpa_error_ref(error);
        names->names[names->n++] = name;
        err = names->n == UDPAI_ECHOED_NAMES ? refuse_surplus(udpa, message, names) : UDPA_OK;
    } else if (err == UDPA_OK && is_uncounted(subscription)) {
        err = report_passed_on(udpa, message, name, true);
    }
    udpa_error_unref(error);
    return err;
}

static udpa_err
subscribe_wildcard(udpai_udpa *udpa,
                   udpai_subscription *subscription,
                   const udpai_subscription_message *message,
                   udpai_str name)
{
    udpa_error *error = NULL;
    const udpai_asked_for asked = {message->type_url, message->name_space, true};
    udpa_err err = udpai_session_check_subscription(&udpa->session, udpa->peer, &asked, &error);
    if (err == UDPA_OK)
        err = subscription ? udpai_subscribe_wildcard(subscription, message->name_space, &error)
                           : udpai_udpa_subscribe_events(udpa, true, message->name_space, &error);
    if (err == UDPA_OK && is_uncounted(subscription))
        err = report_passed_on(udpa, message, name, true);
    if (err != UDPA_OK && !is_ours(err))
        err = refuse(udpa, message, &name, 1, error);
    udpa_error_unref(error);
    return err;
}

static udpa_err
subscribe_one(udpai_udpa *udpa,
              udpai_subscription *subscription,
              const udpai_subscription_message *message,
              udpai_str name,
              surplus *names)
{
    if (is_just_moved(subscription, message, name))
        return report_passed_on(udpa, message, name, true);
    if (udpai_name_is_wildcard(name))
        return subscribe_wildcard(udpa, subscription, message, name);
    return subscribe_name(udpa, subscription, message, name, names);
}

static udpa_err
subscribe_all(udpai_udpa *udpa,
              udpai_subscription *subscription,
              const udpai_subscription_message *message)
{
    surplus names = {0};
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < message->n_names && err == UDPA_OK; i++)
        err = subscribe_one(udpa, subscription, message, message->names[i], &names);
    udpa_err last = refuse_surplus(udpa, message, &names);
    return err == UDPA_OK ? last : err;
}

static udpa_err
check_held(const char *what, udpai_str text, size_t max, udpa_error **ret_error)
{
    if (text.len <= max)
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_INVAL,
                      "a Subscribe reports that the peer holds something of a %s of %zu bytes, and "
                      "none may have more than %zu: '%.60s…'",
                      what, text.len, max, text.data);
}

static udpa_err
check_all_held(const udpai_subscription_message *message, udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < message->n_versions && err == UDPA_OK; i++) {
        const udpai_held_version *held = &message->versions[i];
        err = check_held("name", held->name, UDPAI_NAME_MAX, ret_error);
        if (err == UDPA_OK)
            err = check_held("version", held->version, UDPAI_VERSION_MAX, ret_error);
    }
    for (size_t i = 0; i < message->n_digests && err == UDPA_OK; i++)
        err = check_held("name", message->digests[i].name, UDPAI_NAME_MAX, ret_error);
    return err;
}

static udpa_err
note_held(udpai_subscription *subscription, const udpai_subscription_message *message)
{
    bool any = message->n_versions || message->n_digests || message->n_paths;
    udpa_err err = UDPA_OK;
    if (any || message->n_names)
        udpai_subscription_hold_ahead(subscription, message->n_names == 0);
    for (size_t i = 0; i < message->n_versions && err == UDPA_OK; i++)
        err = udpai_subscription_hold_version(subscription, message->versions[i].name,
                                              message->versions[i].version);
    for (size_t i = 0; i < message->n_digests && err == UDPA_OK; i++)
        err = udpai_subscription_hold_digest(subscription, message->digests[i].name,
                                             message->digests[i].digest);
    for (size_t i = 0; i < message->n_paths && err == UDPA_OK; i++)
        err = udpai_subscription_hold_path(subscription, message->paths[i].name,
                                           message->paths[i].digest);
    return err;
}

/* All of it, or the stream ends: what is not noted and has vanished would stay at the peer for
 * ever, and none of us would know. */
static udpa_err
take_held(const udpai_udpa *udpa,
          udpai_subscription *subscription,
          const udpai_subscription_message *message,
          udpa_error **ret_error)
{
    udpa_err err = check_all_held(message, ret_error);
    if (err != UDPA_OK)
        return err;
    err = note_held(subscription, message);
    const udpai_fanout_options *limits = &udpai_hub_settings(udpa->session.hub)->fanout;
    if (err == UDPA_ERR_LIMIT)
        return udpai_fail(ret_error, err,
                          "the peer reports that it holds more than is noted for one stream: %zu "
                          "resources, with %zu bytes of names and versions "
                          "(limits.max_resources_per_namespace raises both): forget some, and "
                          "subscribe again",
                          limits->max_held, limits->max_held_bytes);
    return udpai_fail_code(ret_error, err);
}

/* With the wildcard among the names, the answer is complete when all of the namespace is. */
static udpa_err
await_complete(udpai_udpa *udpa,
               udpai_subscription *subscription,
               const udpai_subscription_message *message)
{
    if (!udpa->is_extended)
        return UDPA_OK;
    for (size_t i = 0; i < message->n_names; i++)
        if (udpai_name_is_wildcard(message->names[i]))
            return udpai_subscription_await_complete(subscription, message->name_space, NULL, 0);
    static const udpai_str none;
    return udpai_subscription_await_complete(subscription, message->name_space,
                                             message->n_names ? message->names : &none,
                                             message->n_names);
}

static bool
is_of_events(const udpai_subscription_message *message)
{
    return udpai_str_eq(message->type_url, UDPAI_STR(UDPAI_TYPE_EVENT));
}

udpa_err
udpai_udpa_on_subscribe(udpai_udpa *udpa,
                        const udpai_subscription_message *message,
                        udpa_error **ret_error)
{
    udpa_error *error = NULL;
    if (check_scope(udpa, message, &error) != UDPA_OK) {
        udpa_err err = refuse(udpa, message, NULL, 0, error);
        udpa_error_unref(error);
        return udpai_fail_code(ret_error, err);
    }
    if (is_of_events(message)) {
        udpa_err err = subscribe_all(udpa, NULL, message);
        if (err == UDPA_OK)
            err = udpai_udpa_begin_events(udpa, message);
        return udpai_fail_code(ret_error, err);
    }
    udpai_subscription *subscription =
        udpai_subscriber_get(&udpa->subscriber, message->type_url, UDPAI_MODE_DELTA);
    if (subscription) {
        udpai_subscription_set_uncounted(subscription, is_passed_on(udpa, message->type_url));
        udpai_subscription_set_of_node(subscription, is_node(udpa));
    }
    udpa_err err =
        subscription ? take_held(udpa, subscription, message, ret_error) : UDPA_ERR_NOMEM;
    if (err == UDPA_OK && message->recovers && is_node(udpa))
        err = udpai_subscription_offer_back(subscription);
    if (err == UDPA_OK)
        err = subscribe_all(udpa, subscription, message);
    if (err == UDPA_OK)
        err = await_complete(udpa, subscription, message);
    return udpai_fail_code(ret_error, err);
}

udpa_err
udpai_udpa_on_unsubscribe(udpai_udpa *udpa, const udpai_subscription_message *message)
{
    udpai_subscription *subscription = udpai_subscriber_find(&udpa->subscriber, message->type_url);
    udpa_err err = UDPA_OK;
    if (is_of_events(message))
        udpai_udpa_unsubscribe_events(udpa, message);
    for (size_t i = 0; subscription && i < message->n_names && err == UDPA_OK; i++) {
        if (!udpai_name_is_wildcard(message->names[i]))
            udpai_unsubscribe_name(subscription, message->names[i], false);
        else if (message->name_space.len)
            err = udpai_unsubscribe_wildcard(subscription, message->name_space);
        else
            err = udpai_unsubscribe_all_wildcards(subscription);
        if (err == UDPA_OK && udpai_subscription_is_uncounted(subscription))
            err = report_passed_on(udpa, message, message->names[i], false);
    }
    return err;
}

/* ---- receipts ---- */

static udpai_in_flight *
find_in_flight(udpai_udpa *udpa, uint64_t nonce)
{
    UDPAI_LIST_FOREACH (node, &udpa->in_flight) {
        udpai_in_flight *flight = UDPAI_LIST_ENTRY(node, udpai_in_flight, node);
        if (flight->nonce == nonce)
            return flight;
    }
    return NULL;
}

static udpa_error *
error_of(const udpai_status_message *status)
{
    return udpai_status_error(status, TEXT_WITH_NAME_MAX);
}

/* Behind the entries come the removals that were refused, no others; each is named in the text. Of
 * two names that are in it, one within the other, the longer is meant. */
static udpai_removal *
find_refused_removal(udpai_publication *publication, udpai_str text)
{
    udpai_removal *found = NULL, *unnamed = NULL;
    size_t len = udpai_min_size(text.len, TEXT_WITH_NAME_MAX);
    for (size_t i = 0; i < publication->removals.n; i++) {
        udpai_removal *removal = &publication->removals.items[i];
        if (removal->error)
            continue;
        if (!unnamed)
            unnamed = removal;
        if ((!found || removal->name.len > found->name.len) && len &&
            memmem(text.data, len, removal->name.data, removal->name.len))
            found = removal;
    }
    return found ? found : unnamed;
}

static void
take_removal_status(udpai_publication *publication, const udpai_status_message *status)
{
    udpai_removal *removal = status->code ? find_refused_removal(publication, status->text) : NULL;
    if (removal)
        udpai_publication_refuse(&removal->error, error_of(status));
}

/* What has no effects was not tried: nothing is known of it. */
static void
take_effects(udpai_publication *publication, const udpai_receipt_message *receipt)
{
    size_t n = publication->entries.n + publication->removals.n;
    udpa_err err = receipt->n_effects == n ? UDPA_OK : UDPA_ERR_MALFORMED;
    for (size_t i = 0; i < n && err == UDPA_OK; i++)
        err = udpai_publication_add_effect(publication, receipt->effects[i].kind,
                                           receipt->effects[i].effective);
    if (err == UDPA_ERR_NOMEM)
        udpai_publication_refuse_all(publication, err, "out of memory");
    else if (err != UDPA_OK)
        udpai_publication_refuse_all(publication, err,
                                     "the node does not report what this would do");
}

/* What we published comes back with the peer's receipt in it. A publisher waits for it: without
 * memory the end of the session must report it. */
static void
report_receipt(udpai_udpa *udpa, udpai_in_flight *flight, const udpai_receipt_message *receipt)
{
    udpai_publication *publication = flight->publication;
    size_t n = publication->entries.n;
    for (size_t i = 0; i < n && i < receipt->n_statuses; i++)
        udpai_publication_refuse(&publication->entries.items[i].error,
                                 error_of(&receipt->statuses[i]));
    for (size_t i = n; i < receipt->n_statuses && i - n < publication->removals.n; i++)
        take_removal_status(publication, &receipt->statuses[i]);
    if (publication->is_trial)
        take_effects(publication, receipt);
    udpai_report *report = udpai_report_new(UDPAI_REPORT_RECEIPT);
    if (!report) {
        udpai_session_finish(&udpa->session, udpa_error_new(UDPA_ERR_NOMEM, NULL, "out of memory"));
        return;
    }
    report->session = udpa->session.id;
    report->ticket = flight->ticket;
    report->publication = UDPAI_TAKE(flight->publication);
    udpai_hub_report(udpa->session.hub, report);
}

void
udpai_udpa_on_receipt(udpai_udpa *udpa, const udpai_receipt_message *receipt)
{
    uint64_t nonce;
    udpai_in_flight *flight =
        udpai_nonce_parse(receipt->nonce, &nonce) ? find_in_flight(udpa, nonce) : NULL;
    if (!flight) { /* repeated, made up, or of what was not waited for any longer */
        udpa->n_unknown_receipts++;
        return;
    }
    udpai_subscription *subscription = flight->subscription;
    if (flight->publication)
        report_receipt(udpa, flight, receipt);
    else
        udpai_udpa_note_receipt(udpa, flight, receipt);
    udpai_in_flight_free(udpa, flight);
    udpai_sent *sent = subscription ? udpai_subscription_userdata(subscription) : NULL;
    if (sent)
        udpai_client_state_settle(subscription, &sent->refusals,
                                  udpai_hub_wall_us(udpa->session.hub));
}

/* ---- sending ---- */

static void
count_sent(udpai_udpa *udpa, const udpai_delivery *delivery)
{
    udpai_sent *sent = udpai_udpa_sent(delivery->subscription);
    if (!sent)
        return;
    if (!sent->traffic)
        sent->traffic = udpai_hub_traffic(udpa->session.hub,
                                          udpai_subscription_type_url(delivery->subscription));
    if (delivery->kind != UDPAI_DELIVERY_COMPLETE) {
        udpai_meter_add(sent->traffic->deliveries, 1);
        udpai_meter_add(sent->traffic->bytes, delivery->body->size_bytes);
    }
    sent->n_resources += delivery->body->resources.n;
    sent->n_removals += delivery->body->removed.n;
}

/* For what we published unasked somebody waits; it is not forgotten. */
static void
forget_oldest_delivery(udpai_udpa *udpa)
{
    UDPAI_LIST_FOREACH (node, &udpa->in_flight) {
        udpai_in_flight *flight = UDPAI_LIST_ENTRY(node, udpai_in_flight, node);
        if (!flight->publication) {
            udpai_udpa_note_lost(flight);
            udpai_in_flight_free(udpa, flight);
            return;
        }
    }
}

static bool
wants_receipt(const udpai_udpa *udpa, const udpai_delivery *delivery)
{
    return udpa->asks_receipts && delivery->kind != UDPAI_DELIVERY_COMPLETE;
}

/* Without memory, or beyond the bound, its receipt will not be recognised. */
static void
note_in_flight(udpai_udpa *udpa, const udpai_delivery *delivery)
{
    const udpai_in_flight noted = {
        .nonce = udpa->last_nonce,
        .subscription = delivery->subscription,
        .listing = udpai_body_list(delivery->body),
        .place = delivery->place,
        .head = delivery->head,
        .sent_us = udpai_hub_wall_us(udpa->session.hub),
    };
    udpai_memory *memory = udpai_hub_memory(udpa->session.hub);
    udpai_in_flight *flight = noted.listing ? udpai_alloc_in(memory, sizeof(*flight)) : NULL;
    if (!flight) {
        udpai_udpa_note_lost(&noted);
        udpai_listing_unref(noted.listing);
        return;
    }
    *flight = noted;
    udpai_list_init(&flight->node);
    udpai_list_append(&udpa->in_flight, &flight->node);
    udpai_owed_begin(&flight->owed, &udpa->session);
    if (++udpa->n_in_flight > UDPAI_IN_FLIGHT_MAX)
        forget_oldest_delivery(udpa);
}

udpa_err
udpai_udpa_next_delivery(udpai_udpa *udpa,
                         udpai_outgoing *out,
                         bool *ret_any,
                         udpa_error **ret_error)
{
    udpai_delivery delivery;
    udpa_err err = udpai_subscriber_next(&udpa->subscriber, &delivery);
    if (err == UDPA_ERR_ABORTED)
        return udpai_fail(ret_error, err,
                          "too far behind: more was removed than is remembered; subscribe again "
                          "with what you hold");
    if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    if (!delivery.body)
        return UDPA_OK;
    udpa->writing = delivery.body;
    out->parts = delivery.body->parts.items;
    out->n_parts = delivery.body->parts.n;
    udpai_nonce_tail(++udpa->last_nonce, UDPAI_PUBLISH_NONCE_FIELD, out->tail);
    out->tail_len = UDPAI_NONCE_TAIL_LEN;
    count_sent(udpa, &delivery);
    out->is_answered = wants_receipt(udpa, &delivery);
    if (out->is_answered)
        note_in_flight(udpa, &delivery);
    udpa->session.is_calm &= udpai_type_is_leaf(udpai_subscription_type_url(delivery.subscription));
    *ret_any = true;
    return UDPA_OK;
}
