/* SPDX-License-Identifier: Apache-2.0 */
#include "session/messages.h"

#include "base/alloc.h"
#include "base/utf8.h"
#include "model/name.h"

#define ERROR_TEXT_MAX 4096

/* ---- copying a subscription ---- */

static size_t
text_size(const udpai_subscription_message *message)
{
    size_t size = message->type_url.len + message->name_space.len + message->status_text.len;
    for (size_t i = 0; i < message->n_names; i++)
        size += message->names[i].len;
    for (size_t i = 0; i < message->n_versions; i++)
        size += message->versions[i].name.len + message->versions[i].version.len;
    for (size_t i = 0; i < message->n_digests; i++)
        size += message->digests[i].name.len;
    for (size_t i = 0; i < message->n_paths; i++)
        size += message->paths[i].name.len;
    return size;
}

/* The tables follow the message, then the text. */
udpai_subscription_message *
udpai_subscription_message_copy(const udpai_subscription_message *message)
{
    size_t tables = message->n_names * sizeof(udpai_str) +
                    message->n_versions * sizeof(udpai_held_version) +
                    (message->n_digests + message->n_paths) * sizeof(udpai_held_digest);
    udpai_subscription_message *copy = udpai_alloc(sizeof(*copy) + tables + text_size(message));
    if (!copy)
        return NULL;
    *copy = *message;
    udpai_str *names = (udpai_str *)(copy + 1);
    udpai_held_version *versions = (udpai_held_version *)(names + message->n_names);
    udpai_held_digest *digests = (udpai_held_digest *)(versions + message->n_versions);
    udpai_held_digest *paths = digests + message->n_digests;
    char *at = (char *)(paths + message->n_paths);
    copy->type_url = udpai_str_put(&at, message->type_url);
    copy->name_space = udpai_str_put(&at, message->name_space);
    copy->status_text = udpai_str_put(&at, message->status_text);
    for (size_t i = 0; i < message->n_names; i++)
        names[i] = udpai_str_put(&at, message->names[i]);
    for (size_t i = 0; i < message->n_versions; i++)
        versions[i] = (udpai_held_version){udpai_str_put(&at, message->versions[i].name),
                                           udpai_str_put(&at, message->versions[i].version)};
    for (size_t i = 0; i < message->n_digests; i++)
        digests[i] = (udpai_held_digest){udpai_str_put(&at, message->digests[i].name),
                                         message->digests[i].digest};
    copy->names = names;
    copy->versions = versions;
    for (size_t i = 0; i < message->n_paths; i++)
        paths[i] = (udpai_held_digest){udpai_str_put(&at, message->paths[i].name),
                                       message->paths[i].digest};
    copy->digests = digests;
    copy->paths = paths;
    return copy;
}

udpai_subscription_message
udpai_subscription_error_cut(const udpai_subscription_message *message,
                             udpai_str names[UDPAI_ECHOED_NAMES])
{
    udpai_subscription_message error = {
        .type_url = udpai_utf8_cut(message->type_url, UDPAI_TYPE_URL_MAX),
        .name_space = udpai_utf8_cut(message->name_space, UDPAI_NAME_MAX),
        .names = names,
        .n_names = udpai_min_size(message->n_names, UDPAI_ECHOED_NAMES),
        .status_code = message->status_code,
        .status_text = udpai_utf8_cut(message->status_text, ERROR_TEXT_MAX),
    };
    for (size_t i = 0; i < error.n_names; i++)
        names[i] = udpai_utf8_cut(message->names[i], UDPAI_NAME_MAX);
    return error;
}

/* ---- orders ---- */

/* Of the report that answers it; UDPAI_REPORT_KINDS: none does, or not always. */
static udpai_report_kind
kind_of_answer(udpai_order_kind kind)
{
    switch (kind) {
    case UDPAI_ORDER_CHANGES:
        return UDPAI_REPORT_APPLIED;
    case UDPAI_ORDER_SETTLED:
        return UDPAI_REPORT_SETTLED;
    case UDPAI_ORDER_STATUS:
        return UDPAI_REPORT_STATUS;
    case UDPAI_ORDER_ACKNOWLEDGEMENTS:
        return UDPAI_REPORT_ACKNOWLEDGEMENTS;
    default:
        return UDPAI_REPORT_KINDS;
    }
}

udpai_order *
udpai_order_new(udpai_order_kind kind)
{
    udpai_order *order = udpai_alloc(sizeof(*order));
    if (!order)
        return NULL;
    order->kind = kind;
    udpai_list_init(&order->node);
    udpai_list_init(&order->spans);
    udpai_report_kind answer = kind_of_answer(kind);
    if (answer == UDPAI_REPORT_KINDS)
        return order;
    order->answer = udpai_report_new(answer);
    return order->answer ? order : udpai_order_free(order);
}

udpai_order *
udpai_order_free(udpai_order *order)
{
    if (!order)
        return NULL;
    udpai_change_set_unref(order->changes);
    udpai_report_free(order->answer);
    udpai_settled_unref(order->settled);
    if (order->target)
        order->release_target(order->target);
    udpa_error_unref(order->error);
    udpai_acl_unref(order->acl);
    udpa_bytes_unref(order->events);
    udpa_bytes_unref(order->announced);
    udpai_free(order->subscription);
    udpai_publication_free(order->publication);
    for (size_t i = 0; i < order->answers.n; i++)
        udpa_bytes_unref(order->answers.items[i]);
    udpai_vector_done(&order->answers);
    udpai_vector_done(&order->marks);
    udpai_spans_free(&order->spans);
    udpai_free(order);
    return NULL;
}

/* ---- reports ---- */

udpai_report *
udpai_report_new(udpai_report_kind kind)
{
    udpai_report *report = udpai_alloc(sizeof(*report));
    if (!report)
        return NULL;
    report->kind = kind;
    udpai_list_init(&report->node);
    if (kind != UDPAI_REPORT_PUBLICATION)
        return report;
    report->answer = udpai_order_new(UDPAI_ORDER_PUBLICATION_DONE);
    return report->answer ? report : udpai_report_free(report);
}

udpai_report *
udpai_report_free(udpai_report *report)
{
    if (!report)
        return NULL;
    udpai_identity_unref(report->identity);
    udpa_bytes_unref(report->address);
    udpai_node_info_unref(report->info);
    udpa_bytes_unref(report->name_space);
    udpa_bytes_unref(report->events);
    udpai_publication_free(report->publication);
    udpai_order_free(report->answer);
    udpai_free(report->subscription);
    udpa_error_unref(report->error);
    for (size_t i = 0; i < report->statuses.n; i++)
        udpa_bytes_unref(report->statuses.items[i]);
    udpai_vector_done(&report->statuses);
    udpai_free(report);
    return NULL;
}
