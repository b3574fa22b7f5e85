/* SPDX-License-Identifier: Apache-2.0 */
#include "events/event_query.h"

#include "base/percent.h"

#define KIND_MAX 64 /* bytes, encoded */

/* ---- the query ---- */

static udpai_str
cut(udpai_str *rest, char separator)
{
    const char *end = rest->len ? memchr(rest->data, separator, rest->len) : NULL;
    size_t n = end ? (size_t)(end - rest->data) : rest->len;
    udpai_str part = {rest->data, n};
    size_t used = end ? n + 1 : n;
    *rest = (udpai_str){rest->data + used, rest->len - used};
    return part;
}

static udpa_err
add(udpai_event_query *query, const udpai_topics *topics, udpai_str word, udpa_error **ret_error)
{
    udpai_event_kind kind;
    if (!udpai_event_kind_find(word, &kind))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "'%.*s' is no kind of events: there are " UDPAI_EVENT_WORDS,
                          UDPAI_SHOWN(word));
    if (!topics->topics[kind])
        return udpai_fail(
            ret_error, UDPA_ERR_NOT_FOUND,
            "there is no sink of kind '%.*s' here: the section 'sinks' of this node's "
            "configuration has none",
            UDPAI_SHOWN(word));
    query->n += !query->has[kind];
    query->has[kind] = true;
    return UDPA_OK;
}

static udpa_err
read_part(udpai_event_query *query,
          const udpai_topics *topics,
          udpai_str part,
          udpa_error **ret_error)
{
    static const udpai_str key = UDPAI_STR("kind=");
    char room[KIND_MAX], *at = room;
    udpai_str word = {0};
    bool is_kind = udpai_str_starts(part, key) && part.len - key.len <= sizeof(room);
    if (!is_kind ||
        !udpai_percent_decode((udpai_str){part.data + key.len, part.len - key.len}, &at, &word))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "'%.*s' is not 'kind=KIND': there are " UDPAI_EVENT_WORDS,
                          UDPAI_SHOWN(part));
    return add(query, topics, word, ret_error);
}

udpa_err
udpai_event_query_read(udpai_event_query *ret_query,
                       const udpai_topics *topics,
                       udpai_str text,
                       udpa_error **ret_error)
{
    udpai_event_query query = {0};
    udpa_err err = UDPA_OK;
    while (text.len && err == UDPA_OK) {
        udpai_str part = cut(&text, '&');
        if (part.len)
            err = read_part(&query, topics, part, ret_error);
    }
    if (err != UDPA_OK)
        return err;
    for (size_t i = 0; i < UDPAI_EVENT_KINDS && query.n == 0; i++)
        query.has[i] = topics->topics[i] != NULL;
    for (size_t i = query.n = 0; i < UDPAI_EVENT_KINDS; i++)
        query.n += query.has[i];
    *ret_query = query;
    return UDPA_OK;
}

/* ---- where it goes on ---- */

/* The only kind of the query; it has one. */
static size_t
only_kind(const udpai_event_query *query)
{
    size_t i = 0;
    while (!query->has[i])
        i++;
    return i;
}

static void
go_on_one(udpai_event_query *query, udpai_str part)
{
    udpai_str version = part, word = cut(&version, '=');
    udpai_event_kind kind;
    udpai_event_place place;
    bool has_word = part.len != word.len;
    if (!has_word && query->n != 1)
        return;
    if (!has_word)
        kind = (udpai_event_kind)only_kind(query);
    else if (!udpai_event_kind_find(word, &kind))
        return;
    if (udpai_event_version_read(has_word ? version : word, &place))
        query->last[kind] = place;
}

void
udpai_event_query_go_on(udpai_event_query *query, udpai_str last_event_id)
{
    while (last_event_id.len)
        go_on_one(query, cut(&last_event_id, ','));
}

void
udpai_event_query_put_id(const udpai_event_query *query, udpai_strbuf *out)
{
    const char *comma = "";
    for (size_t i = 0; i < UDPAI_EVENT_KINDS; i++) {
        char room[UDPAI_EVENT_VERSION_ROOM];
        if (!query->has[i] || query->last[i].begun_us == 0)
            continue;
        if (query->n > 1)
            udpai_strbuf_printf(out, "%s%s=", comma,
                                udpai_event_facts_of((udpai_event_kind)i)->word);
        udpai_strbuf_str(out, udpai_event_version(query->last[i], room));
        comma = ",";
    }
}
