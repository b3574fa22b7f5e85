/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/federation/notes.h"

#include <stdarg.h>
#include <stdio.h>

#include "model/client_type.h"
#include "model/links.h"

const char *
fed_url(const char *type)
{
    static const char *const known[][2] = {
        {"CDS", TEST_CDS}, {"EDS", TEST_EDS}, {"LDS", TEST_LDS}, {"RDS", TEST_RDS}};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(known); i++)
        if (strcmp(known[i][0], type) == 0)
            return known[i][1];
    return type;
}

static const char *
type_of(udpai_str url)
{
    static char room[600];
    static const char *const known[] = {"CDS", "EDS", "LDS", "RDS"};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(known); i++)
        if (udpai_str_eq(url, udpai_str_from(fed_url(known[i]))))
            return known[i];
    snprintf(room, sizeof(room), "%.*s", (int)url.len, url.data);
    return room;
}

/* ---- what the node orders ---- */

static char
source_of(const fed_bed *bed, const udpai_order *order)
{
    for (int i = 0; i < FED_LINKS; i++)
        if ((order->link && bed->links[i] == order->link) ||
            (order->session && bed->sessions[i] == order->session))
            return (char)('a' + i);
    return '?';
}

/* Appends to one of the bed's texts, behind a comma. */
void
fed_note(char text[FED_TEXT], const char *between, const char *format, ...)
{
    size_t len = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    int n = snprintf(text + len, FED_TEXT - len, "%s", len ? between : "");
    n += vsnprintf(text + len + n, FED_TEXT - len - (size_t)n, format, arguments);
    va_end(arguments);
    assert_true(n >= 0 && len + (size_t)n < FED_TEXT);
}

static void
note_subscription(fed_bed *bed, const char *what, const udpai_order *order)
{
    const udpai_subscription_message *message = order->subscription;
    size_t n_held = message->n_digests + message->n_versions;
    fed_note(bed->orders, ", ", "%s %c %s %.*s:", what, source_of(bed, order),
             type_of(message->type_url), (int)message->name_space.len, message->name_space.data);
    if (message->n_names > 9)
        fed_note(bed->orders, "", "%zu names", message->n_names);
    for (size_t i = 0; i < message->n_names && message->n_names <= 9; i++) {
        udpai_str name = message->names[i];
        udpai_str short_name = UDPAI_STR("com.acme/");
        if (udpai_str_starts(name, short_name))
            name = (udpai_str){name.data + short_name.len, name.len - short_name.len};
        fed_note(bed->orders, i ? " " : "", "%.*s", name.len ? (int)name.len : 1,
                 name.len ? name.data : "*");
    }
    if (n_held)
        fed_note(bed->orders, "", "+%zu", n_held);
}

static void
note_judged(fed_bed *bed, const udpai_publication *publication)
{
    for (size_t i = 0; i < publication->entries.n; i++)
        if (publication->entries.items[i].error)
            fed_note(bed->judged, ", ", "%s",
                     udpa_error_message(publication->entries.items[i].error));
    for (size_t i = 0; i < publication->removals.n; i++)
        if (publication->removals.items[i].error)
            fed_note(bed->judged, ", ", "-%s",
                     udpa_error_message(publication->removals.items[i].error));
    for (size_t i = 0; i < publication->effects.n; i++) {
        static const char *const kinds[] = {"nothing", "adds", "changes", "removes",
                                            "removes on behalf"};
        const udpai_effect *effect = &publication->effects.items[i];
        fed_note(bed->judged, ", ", "%s%s%.*s", kinds[effect->kind],
                 effect->effective.len ? "<" : "", UDPAI_SHOWN(effect->effective));
    }
}

static void
note_links(fed_bed *bed, const udpa_bytes *links)
{
    fed_note(bed->reports, "", "%s", links ? ">" : ">*");
    for (int i = 0; links && i < FED_LINKS; i++)
        if (udpai_links_have(links, bed->links[i]))
            fed_note(bed->reports, "", "%c", 'a' + i);
}

static void
note_report(fed_bed *bed, const udpai_change *change)
{
    static const char *const marks[] = {"", "~", "-"};
    udpai_str name = udpai_resource_name(change->resource), acme = UDPAI_STR("com.acme/");
    size_t skip = udpai_str_starts(name, acme) ? acme.len : 0;
    name = (udpai_str){name.data + skip, name.len - skip};
    fed_note(bed->reports, " ", "%s%.*s", marks[change->kind], (int)name.len, name.data);
    if (change->kind != UDPAI_CHANGE_REMOVE)
        note_links(bed, change->visible_to);
}

static void
note_reports(fed_bed *bed, const udpai_change_set *changes)
{
    for (size_t i = 0; i < udpai_change_set_size(changes); i++) {
        const udpai_change *change = udpai_change_set_at(changes, i);
        if (udpai_type_is_client(udpai_resource_type_url(change->resource)) ||
            bed->config.is_endpoint)
            note_report(bed, change);
        else
            assert_null(change->visible_to);
    }
}

static void
note_lines(fed_bed *bed, const udpa_bytes *text)
{
    udpai_str line, rest = text ? udpai_bytes_view(text) : (udpai_str){0};
    while (udpai_str_cut(&rest, '\n', &line))
        fed_note(bed->orders, "", ", %.*s", UDPAI_SHOWN(line));
}

void
fed_note_order(void *userdata, udpai_order *order)
{
    fed_bed *bed = userdata;
    switch (order->kind) {
    case UDPAI_ORDER_DIAL:
    case UDPAI_ORDER_HANG_UP:
        fed_note(bed->orders, ", ", "%s %c", order->kind == UDPAI_ORDER_DIAL ? "dial" : "hangup",
                 source_of(bed, order));
        if (order->kind == UDPAI_ORDER_DIAL && order->server)
            fed_note(bed->orders, "", "%u%s", order->server, order->is_hurried ? "" : " long");
        break;
    case UDPAI_ORDER_SUBSCRIBE:
    case UDPAI_ORDER_UNSUBSCRIBE:
        note_subscription(bed, order->kind == UDPAI_ORDER_SUBSCRIBE ? "sub" : "unsub", order);
        break;
    case UDPAI_ORDER_PUBLICATION_DONE:
        bed->n_judged++;
        note_judged(bed, order->publication);
        break;
    case UDPAI_ORDER_CHANGES:
        note_reports(bed, order->changes);
        break;
    case UDPAI_ORDER_SETTLED:
        bed->answer = UDPAI_TAKE(order->answer);
        break;
    case UDPAI_ORDER_TWINS:
        fed_note(bed->orders, ", ", "twins");
        note_lines(bed, order->announced);
        break;
    default: /* what the stream side is told is looked at in the store; but not what has gone */
        if (order->publication && order->publication->removals.n && !order->ticket)
            fed_note(bed->orders, ", ", "tell %c", source_of(bed, order));
        break;
    }
    udpai_order_free(order);
}
