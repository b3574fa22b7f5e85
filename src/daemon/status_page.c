/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/status_page.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/pattern.h"
#include "codec/convert.h"
#include "codec/json_text.h"
#include "codec/resource_entry.h"
#include "model/types.h"
#include "reports/client_names.h"
#include "reports/client_tree.h"
#include "wire/entry.h"

#define LIMIT 100
#define LIMIT_MAX 1000
#define USAGE                                                                                      \
    "usage: /status?type=TYPE[&name=PATTERN][&limit=NUMBER][&after=NAME], percent-encoded; TYPE "  \
    "is node, source, replica, session or client, a pattern may have stars, and limit is at most " \
    "1000"
#define TAKES                                                                                      \
    (UDPAI_PAGE_HAS(UDPAI_PAGE_TYPE) | UDPAI_PAGE_HAS(UDPAI_PAGE_NAME) |                           \
     UDPAI_PAGE_HAS(UDPAI_PAGE_AFTER))

/* ---- answering ---- */

static void
put_resource(udpai_page_question *self, const udpa_resource *resource, udpai_strbuf *text)
{
    char *json = NULL;
    udpa_bytes *bytes = udpai_entry_encode(resource, udpa_resource_ttl_ms(resource));
    if (!bytes || udpai_convert_from_binary(
                      self->questions->schema, UDPAI_STR(UDPAI_TYPE_UDPA_RESOURCE),
                      udpai_bytes_view(bytes), UDPAI_FORMAT_JSON, &json, NULL) != UDPA_OK)
        self->has_failed = true;
    else
        udpai_strbuf_puts(text, json);
    udpai_free(json);
    udpa_bytes_unref(bytes);
}

static bool
is_asked_for(const udpai_page_question *self, udpai_str name)
{
    return (self->texts[UDPAI_PAGE_NAME].len == 0 ||
            udpai_pattern_fits(self->texts[UDPAI_PAGE_NAME], name)) &&
           (self->texts[UDPAI_PAGE_AFTER].len == 0 ||
            udpai_str_cmp(name, self->texts[UDPAI_PAGE_AFTER]) > 0);
}

static void
put_status(udpai_page_question *self, udpai_strbuf *text)
{
    udpai_gathering *part = &self->parts[0];
    uint64_t n = 0;
    udpai_str last = {0};
    bool has_more = false;
    udpai_gathering_sort(part);
    udpai_strbuf_puts(text, "{\"resources\":[");
    for (size_t i = 0; i < part->all.n; i++) {
        const udpa_resource *one = part->all.items[i].resource;
        if (!is_asked_for(self, udpai_resource_name(one)))
            continue;
        if (n == self->limit) {
            has_more = true;
            break;
        }
        udpai_strbuf_puts(text, n++ ? ",\n" : "\n");
        put_resource(self, one, text);
        last = udpai_resource_name(one);
    }
    udpai_strbuf_printf(text, "],\n\"complete\":%s", self->is_complete ? "true" : "false");
    if (has_more) {
        udpai_strbuf_puts(text, ",\n\"next\":");
        udpai_json_put_string(text, last);
    }
    udpai_strbuf_puts(text, "}\n");
}

/* ---- of clients ---- */

/* The last node on the way of anything is this one. */
static udpai_str
own_id(const udpa_resource *resource)
{
    size_t n = udpa_resource_n_hops(resource);
    return n ? udpai_resource_hop(resource, n - 1).node_id : (udpai_str){0};
}

static udpa_err
look_at_clients(udpai_gathering *part, udpai_client_tree *tree, bool *ret_is_settled)
{
    udpa_err err = UDPA_OK;
    udpai_gathering_sort(part);
    udpai_client_tree_init(tree);
    for (size_t i = 0; i < part->all.n && err == UDPA_OK; i++)
        err = udpai_client_tree_add(tree, part->all.items[i].resource);
    if (err == UDPA_OK && part->all.n)
        err = udpai_client_tree_evaluate(tree, own_id(part->all.items[0].resource), false,
                                         ret_is_settled);
    return err;
}

/* Have all nodes reported all? */
static bool
has_all_clients(udpai_page_question *self)
{
    udpai_client_tree tree;
    bool is_settled = false;
    if (!udpai_page_question_has(self, 1))
        return false;
    self->has_failed |= look_at_clients(&self->parts[0], &tree, &is_settled) != UDPA_OK;
    udpai_client_tree_clear(&tree);
    return is_settled;
}

/* Not those from before their node began to report anew. */
static void
put_clients(udpai_page_question *self, udpai_strbuf *text)
{
    udpai_gathering *part = &self->parts[0];
    udpai_client_tree tree;
    bool is_settled = false;
    size_t n = 0;
    self->has_failed |= look_at_clients(part, &tree, &is_settled) != UDPA_OK;
    for (size_t i = 0; i < part->all.n; i++) {
        if (udpai_client_tree_counts(&tree, part->all.items[i].resource))
            part->all.items[n++] = part->all.items[i];
        else
            udpa_resource_unref(part->all.items[i].resource);
    }
    part->all.n = n;
    udpai_client_tree_clear(&tree);
    put_status(self, text);
}

/* ---- asking ---- */

/* NULL: there is no such type of status. */
static const char *
type_of_word(udpai_str word)
{
    static const char *const all[] = {UDPAI_TYPE_NODE_STATUS, UDPAI_TYPE_SOURCE_STATUS,
                                      UDPAI_TYPE_REPLICA_STATUS, UDPAI_TYPE_SESSION_STATUS};
    if (udpai_str_eq(word, UDPAI_STR("client")))
        return UDPAI_TYPE_CLIENT_STATUS;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(all); i++)
        if (udpai_str_eq(word, udpai_str_from(udpai_type_find(udpai_str_from(all[i]))->word)))
            return all[i];
    return NULL;
}

static const udpai_page_kind of_node = {
    .size = sizeof(udpai_page_question),
    .takes = TAKES,
    .limit = LIMIT,
    .limit_max = LIMIT_MAX,
    .usage = USAGE,
    .put = put_status,
};
static const udpai_page_kind of_clients = {
    .size = sizeof(udpai_page_question),
    .takes = TAKES,
    .limit = LIMIT,
    .limit_max = LIMIT_MAX,
    .usage = USAGE,
    .put = put_clients,
    .is_all = has_all_clients,
};

/* What the node reports of itself is asked of nobody else; clients report to the nodes below. */
static udpa_err
gather(udpai_page_question *self, udpa_error **ret_error)
{
    static const udpai_selection clients = {
        .type_url = {UDPAI_TYPE_CLIENT_STATUS, sizeof(UDPAI_TYPE_CLIENT_STATUS) - 1},
        .prefix = {UDPAI_CLIENTS_NAMESPACE, sizeof(UDPAI_CLIENTS_NAMESPACE) - 1},
        .reach = UDPAI_REACH_ALL,
    };
    const char *type_url = type_of_word(self->texts[UDPAI_PAGE_TYPE]);
    if (!type_url)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, USAGE);
    if (strcmp(type_url, UDPAI_TYPE_CLIENT_STATUS) != 0)
        return udpai_page_question_gather_own(self, type_url, ret_error);
    self->kind = &of_clients;
    return udpai_page_question_gather(self, &clients, NULL, ret_error);
}

udpa_err
udpai_status_page_read(udpai_page_questions *questions,
                       udpai_http_reading *reading,
                       udpa_error **ret_error)
{
    udpai_page_question *self;
    udpa_err err = udpai_page_question_begin(&self, questions, &of_node, reading, ret_error);
    return err == UDPA_OK ? udpai_page_question_wait(self, gather(self, ret_error)) : err;
}
