/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/status_page.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/pattern.h"
#include "codec/convert.h"
#include "codec/json_text.h"
#include "codec/resource_entry.h"
#include "daemon/gathering.h"
#include "daemon/page_body.h"
#include "model/name.h"
#include "model/types.h"
#include "reports/client_names.h"
#include "reports/client_tree.h"
#include "session/acknowledgement.h"
#include "session/origins_question.h"
#include "wire/entry.h"

#define JSON "application/json"
#define LIMIT 100
#define LIMIT_MAX 1000
#define PARTS_MAX 2
#define PAUSE_MS 20 /* between looks at what has come, at first */
#define STATUS_USAGE                                                                               \
    "usage: /status?type=TYPE[&name=PATTERN][&limit=NUMBER][&after=NAME], percent-encoded; TYPE "  \
    "is node, source, replica, session or client, a pattern may have stars, and limit is at most " \
    "1000"
#define TOO_LONG "the name is too long to be asked for"
#define EXPLAIN_USAGE "usage: /explain?type=TYPE_NAME&name=NAME, percent-encoded"

typedef struct question question;

struct question {
    udpai_list node;
    udpai_status_page *page;
    udpai_http_reading *reading;
    udpai_timer timer;
    uint64_t deadline_ms, pause_ms;
    udpai_gathering parts[PARTS_MAX];
    size_t n_parts;
    void (*put)(question *self, udpai_strbuf *text);
    /* Of what is complete only when it says so itself; NULL: the parts are, when they are. */
    bool (*is_all)(question *self);
    bool is_complete, has_failed; /* for want of memory */
    char *room;                   /* what these are views of */
    udpai_str type, name, after;
    uint64_t limit;
};

struct udpai_status_page {
    udpa_endpoint *endpoint;
    udpai_schema *schema;
    udpai_list questions;
    size_t n_questions;
    uint64_t n_tokens;
};

/* ---- what is asked ---- */

static bool
read_form(question *self, udpai_str form)
{
    char *room = self->room;
    udpai_str one;
    bool has_more, is_good = true;
    do {
        has_more = udpai_page_form_next(&form, &one);
        is_good &= one.len == 0 ||
                   udpai_page_form_text(one, UDPAI_STR("type="), &room, &self->type) ||
                   udpai_page_form_text(one, UDPAI_STR("name="), &room, &self->name) ||
                   udpai_page_form_text(one, UDPAI_STR("after="), &room, &self->after) ||
                   udpai_page_form_number(one, UDPAI_STR("limit="), &self->limit);
    } while (has_more);
    return is_good && self->limit >= 1 && self->limit <= LIMIT_MAX;
}

/* ---- the end of a question ---- */

static void
free_question(question *self)
{
    udpai_timer_cancel(&self->timer);
    for (size_t i = 0; i < self->n_parts; i++)
        udpai_gathering_end(&self->parts[i]);
    if (udpai_list_linked(&self->node)) {
        udpai_list_remove(&self->node);
        self->page->n_questions--;
    }
    udpai_free(self->room);
    udpai_free(self);
}

static void
fail_question(question *self, const char *why)
{
    udpai_strbuf text = {0};
    udpai_strbuf_printf(&text, "%s\n", why);
    udpa_bytes *bytes = udpai_bytes_of(&text);
    udpai_http_page_answer(self->reading, 503, "text/plain; charset=utf-8", bytes);
    udpa_bytes_unref(bytes);
    free_question(self);
}

static void
answer_question(question *self)
{
    udpai_strbuf text = {0};
    self->put(self, &text);
    for (size_t i = 0; i < self->n_parts; i++)
        self->has_failed |= self->parts[i].has_failed;
    udpa_bytes *bytes = self->has_failed ? NULL : udpai_bytes_of(&text);
    if (bytes) {
        udpai_http_page_answer(self->reading, 200, JSON, bytes);
        udpa_bytes_unref(bytes);
        free_question(self);
    } else {
        udpai_strbuf_done(&text);
        fail_question(self, udpa_err_text(UDPA_ERR_NOMEM));
    }
}

/* ---- waiting ---- */

static bool
has_all(question *self)
{
    for (size_t i = 0; i < self->n_parts; i++)
        if (!self->parts[i].is_complete)
            return false;
    return !self->is_all || self->is_all(self);
}

static void
on_timer(udpai_timer *timer)
{
    question *self = UDPAI_CONTAINER_OF(timer, question, timer);
    udpai_wheel *wheel = udpai_endpoint_wheel(self->page->endpoint);
    self->is_complete = has_all(self);
    if (self->is_complete || wheel->now_ms >= self->deadline_ms) {
        answer_question(self);
        return;
    }
    self->pause_ms *= 2;
    udpai_timer_set(wheel, timer, wheel->now_ms + self->pause_ms);
}

/* Subscriptions may not end while the node goes through them. */
static void
on_complete(void *userdata)
{
    question *self = userdata;
    udpai_wheel *wheel = udpai_endpoint_wheel(self->page->endpoint);
    udpai_timer_set(wheel, &self->timer, wheel->now_ms);
    udpai_endpoint_touch(self->page->endpoint);
}

/* ---- /status ---- */

static void
put_resource(question *self, const udpa_resource *resource, udpai_strbuf *text)
{
    char *json = NULL;
    udpa_bytes *bytes = udpai_entry_encode(resource, udpa_resource_ttl_ms(resource));
    if (!bytes || udpai_convert_from_binary(self->page->schema, UDPAI_STR(UDPAI_TYPE_UDPA_RESOURCE),
                                            udpai_bytes_view(bytes), UDPAI_FORMAT_JSON, &json,
                                            NULL) != UDPA_OK)
        self->has_failed = true;
    else
        udpai_strbuf_puts(text, json);
    udpai_free(json);
    udpa_bytes_unref(bytes);
}

static bool
is_asked_for(const question *self, udpai_str name)
{
    return (self->name.len == 0 || udpai_pattern_fits(self->name, name)) &&
           (self->after.len == 0 || udpai_str_cmp(name, self->after) > 0);
}

static void
put_status(question *self, udpai_strbuf *text)
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

/* ---- /status of clients ---- */

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
has_all_clients(question *self)
{
    udpai_client_tree tree;
    bool is_settled = false;
    self->has_failed |= look_at_clients(&self->parts[0], &tree, &is_settled) != UDPA_OK;
    udpai_client_tree_clear(&tree);
    return is_settled;
}

/* Not those from before their node began to report anew. */
static void
put_clients(question *self, udpai_strbuf *text)
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

/* ---- /explain ---- */

static void
put_answer(question *self, const char *key, const udpai_gathering *from, udpai_strbuf *text)
{
    udpai_strbuf_printf(text, "\"%s\":", key);
    if (from->all.n == 0) {
        udpai_strbuf_puts(text, "null");
        return;
    }
    const udpa_resource *answer = from->all.items[from->all.n - 1].resource;
    char *json = NULL;
    if (udpai_convert_from_binary(self->page->schema, udpai_resource_type_url(answer),
                                  udpai_resource_value(answer), UDPAI_FORMAT_JSON, &json,
                                  NULL) != UDPA_OK)
        self->has_failed = true;
    else
        udpai_strbuf_puts(text, json);
    udpai_free(json);
}

static void
put_explanation(question *self, udpai_strbuf *text)
{
    udpai_strbuf_puts(text, "{");
    put_answer(self, "origins", &self->parts[0], text);
    udpai_strbuf_puts(text, ",\n");
    put_answer(self, "clients", &self->parts[1], text);
    udpai_strbuf_printf(text, ",\n\"complete\":%s}\n", self->is_complete ? "true" : "false");
}

/* ---- asking ---- */

static udpa_err
begin(question **ret,
      udpai_status_page *page,
      udpai_http_reading *reading,
      const char *usage,
      udpa_error **ret_error)
{
    if (page->n_questions == UDPAI_STATUS_PAGE_MAX)
        return udpai_fail(
            ret_error, UDPA_ERR_UNAVAILABLE,
            "%d requests for /status and /explain wait for answers already: ask again "
            "in a second",
            UDPAI_STATUS_PAGE_MAX);
    question *self = udpai_alloc(sizeof(*self));
    if (!self)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    self->page = page;
    self->reading = reading;
    self->limit = LIMIT;
    self->pause_ms = PAUSE_MS;
    udpai_timer_init(&self->timer, on_timer);
    udpai_list_init(&self->node);
    self->room = udpai_alloc(reading->query.len + 1);
    udpa_err err = self->room ? UDPA_OK : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err == UDPA_OK && (!read_form(self, reading->query) || self->type.len == 0))
        err = udpai_fail(ret_error, UDPA_ERR_INVAL, "%s", usage);
    if (err == UDPA_OK)
        *ret = self;
    else
        free_question(self);
    return err;
}

/* Of the selection, or of a name, which is taken. */
static udpa_err
gather(question *self, const udpai_selection *selection, char *name, udpa_error **ret_error)
{
    udpai_gathering *part = &self->parts[self->n_parts++];
    return udpai_fail_code(ret_error, udpai_gathering_begin(part, self->page->endpoint, selection,
                                                            name, on_complete, self));
}

/* All was asked; of an error the question ends. */
static udpa_err
wait_for_it(question *self, udpa_err err)
{
    udpai_wheel *wheel = udpai_endpoint_wheel(self->page->endpoint);
    if (err != UDPA_OK) {
        free_question(self);
        return err;
    }
    udpai_endpoint_advance(self->page->endpoint);
    udpai_list_append(&self->page->questions, &self->node);
    self->page->n_questions++;
    self->deadline_ms = wheel->now_ms + UDPAI_STATUS_PAGE_WAIT_MS;
    udpai_timer_set(wheel, &self->timer, wheel->now_ms + self->pause_ms);
    udpai_endpoint_touch(self->page->endpoint);
    return UDPA_OK;
}

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

/* What the node reports of itself is asked of nobody else; clients report to the nodes below. */
udpa_err
udpai_status_page_read(udpai_status_page *page, udpai_http_reading *reading, udpa_error **ret_error)
{
    question *self;
    udpa_err err = begin(&self, page, reading, STATUS_USAGE, ret_error);
    if (err != UDPA_OK)
        return err;
    const char *type_url = type_of_word(self->type);
    bool is_of_clients = type_url && strcmp(type_url, UDPAI_TYPE_CLIENT_STATUS) == 0;
    const udpai_selection selection = {
        .type_url = udpai_str_from(type_url),
        .prefix =
            is_of_clients ? UDPAI_STR(UDPAI_CLIENTS_NAMESPACE) : UDPAI_STR(UDPAI_NODE_NAMESPACE),
        .reach = is_of_clients ? UDPAI_REACH_ALL : UDPAI_REACH_NOBODY,
    };
    self->put = is_of_clients ? put_clients : put_status;
    self->is_all = is_of_clients ? has_all_clients : NULL;
    err = type_url ? gather(self, &selection, NULL, ret_error)
                   : udpai_fail(ret_error, UDPA_ERR_INVAL, STATUS_USAGE);
    return wait_for_it(self, err);
}

/* Takes the name; NULL: there was no memory for it. */
static udpa_err
ask_name(question *self, const char *type_url, char *name, udpa_error **ret_error)
{
    const udpai_selection selection = {.type_url = udpai_str_from(type_url),
                                       .reach = UDPAI_REACH_NOBODY};
    return name ? gather(self, &selection, name, ret_error)
                : udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
}

static udpa_err
ask_origins(question *self, udpai_str token, udpa_error **ret_error)
{
    const udpai_origins_question asked = {token, udpai_type_url_name(self->type), self->name};
    char *name = NULL;
    udpa_err err = udpai_origins_question_compose(&asked, &name);
    return err == UDPA_OK ? ask_name(self, UDPAI_ORIGINS_TYPE, name, ret_error)
                          : udpai_fail(ret_error, err, TOO_LONG);
}

static udpa_err
ask_clients(question *self, udpai_str token, udpa_error **ret_error)
{
    udpai_strbuf name = {0};
    udpai_strbuf_puts(&name, UDPAI_ACKNOWLEDGEMENT_PREFIX);
    udpai_strbuf_str(&name, token);
    udpai_strbuf_puts(&name, "/" UDPAI_TYPE_PREFIX);
    udpai_strbuf_str(&name, udpai_type_url_name(self->type));
    udpai_strbuf_putc(&name, '/');
    udpai_strbuf_str(&name, self->name);
    if (udpai_strbuf_view(&name).len > UDPA_NAME_MAX) {
        udpai_strbuf_done(&name);
        return udpai_fail(ret_error, UDPA_ERR_LIMIT, TOO_LONG);
    }
    return ask_name(self, UDPAI_ACKNOWLEDGEMENT_TYPE, udpai_strbuf_take(&name), ret_error);
}

udpa_err
udpai_explain_page_read(udpai_status_page *page,
                        udpai_http_reading *reading,
                        udpa_error **ret_error)
{
    char token[32];
    question *self;
    udpa_err err = begin(&self, page, reading, EXPLAIN_USAGE, ret_error);
    if (err != UDPA_OK)
        return err;
    snprintf(token, sizeof(token), "page-%" PRIu64, ++page->n_tokens);
    self->put = put_explanation;
    if (self->name.len == 0 || udpai_type_url_name(self->type).len == 0)
        err = udpai_fail(ret_error, UDPA_ERR_INVAL, EXPLAIN_USAGE);
    if (err == UDPA_OK)
        err = udpai_name_check(self->name, ret_error);
    if (err == UDPA_OK)
        err = ask_origins(self, udpai_str_from(token), ret_error);
    if (err == UDPA_OK)
        err = ask_clients(self, udpai_str_from(token), ret_error);
    return wait_for_it(self, err);
}

/* ---- beginning and end ---- */

udpai_status_page *
udpai_status_page_new(udpa_endpoint *endpoint, udpai_schema *schema)
{
    udpai_status_page *self = udpai_alloc(sizeof(*self));
    if (!self)
        return NULL;
    self->endpoint = endpoint;
    self->schema = udpai_schema_ref(schema);
    udpai_list_init(&self->questions);
    return self;
}

void
udpai_status_page_free(udpai_status_page *self)
{
    if (!self)
        return;
    while (!udpai_list_empty(&self->questions))
        fail_question(UDPAI_LIST_ENTRY(self->questions.next, question, node), "the node is ending");
    udpai_schema_unref(self->schema);
    udpai_free(self);
}
