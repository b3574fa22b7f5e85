/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/freeze_page.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/time_text.h"
#include "codec/json_text.h"
#include "daemon/page_body.h"
#include "model/name.h"
#include "model/secret_type.h"

/* ---- what is asked ---- */

typedef struct question {
    udpai_str prefix, because;
    bool is_all;
} question;

static bool
take_flag(udpai_str part, bool *ret_is_all)
{
    bool is_on = udpai_str_eq(part, UDPAI_STR("all")) || udpai_str_eq(part, UDPAI_STR("all=true"));
    *ret_is_all |= is_on;
    return is_on || udpai_str_eq(part, UDPAI_STR("all=false"));
}

/* Decodes it into the room, which is as long. */
static bool
read_form(udpai_str form, char *room, question *ret_asked)
{
    udpai_str part;
    bool has_more, is_good = true;
    do {
        has_more = udpai_page_form_next(&form, &part);
        is_good &= part.len == 0 ||
                   udpai_page_form_text(part, UDPAI_STR("prefix="), &room, &ret_asked->prefix) ||
                   udpai_page_form_text(part, UDPAI_STR("because="), &room, &ret_asked->because) ||
                   take_flag(part, &ret_asked->is_all);
    } while (has_more);
    return is_good;
}

#define USAGE                                                                                      \
    "usage: /freezes[?prefix=PREFIX], /freeze?because=TEXT[&prefix=PREFIX][&all] and "             \
    "/thaw[?prefix=PREFIX], percent-encoded, or the same as a JSON object in the body: without a " \
    "prefix everything; all: endpoints and secrets, too"

/* *ret_room: what the question has views of; to be freed. */
static udpa_err
ask(udpai_str form, char **ret_room, question *ret_asked, udpa_error **ret_error)
{
    *ret_asked = (question){0};
    *ret_room = udpai_alloc(form.len + 1);
    if (!*ret_room)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    return read_form(form, *ret_room, ret_asked) ? UDPA_OK
                                                 : udpai_fail(ret_error, UDPA_ERR_INVAL, USAGE);
}

/* ---- what is frozen, and what waits ---- */

struct list {
    udpai_strbuf *text;
    udpai_str prefix;
    size_t n;
};

static void
put_field(udpai_strbuf *text, const char *key, udpai_str value)
{
    udpai_strbuf_printf(text, ",\"%s\":", key);
    udpai_json_put_string(text, value);
}

static void
put_freeze(void *userdata, const udpai_freeze *freeze)
{
    struct list *list = userdata;
    char since[UDPAI_TIME_TEXT_SIZE];
    udpai_strbuf_puts(list->text, list->n++ ? ",\n{\"prefix\":" : "\n{\"prefix\":");
    udpai_json_put_string(list->text, freeze->prefix);
    put_field(list->text, "reason", freeze->reason);
    put_field(list->text, "by", freeze->by);
    udpai_time_text(since, freeze->since_us);
    put_field(list->text, "since", udpai_str_from(since));
    udpai_strbuf_printf(list->text, ",\"all\":%s}", freeze->is_all ? "true" : "false");
}

/* The version of a secret may be a hash of it. */
static void
put_version(udpai_strbuf *text, const char *key, const udpa_resource *resource)
{
    if (resource && !udpai_type_is_secret(udpai_resource_type_url(resource)))
        put_field(text, key, udpai_resource_version(resource));
}

static bool
put_change(void *userdata, const udpai_frozen_change *change)
{
    struct list *list = userdata;
    const char *what = !change->waiting ? "removed" : change->served ? "changed" : "added";
    if (!udpai_prefix_covers(list->prefix, change->name))
        return true;
    if (list->n++ >= UDPAI_FREEZES_PAGE_CHANGES)
        return true;
    udpai_strbuf_puts(list->text, list->n > 1 ? ",\n{\"type\":" : "\n{\"type\":");
    udpai_json_put_string(list->text, change->type_url);
    put_field(list->text, "name", change->name);
    put_field(list->text, "change", udpai_str_from(what));
    put_version(list->text, "served", change->served);
    put_version(list->text, "waiting", change->waiting);
    udpai_strbuf_putc(list->text, '}');
    return !udpai_strbuf_failed(list->text);
}

udpa_err
udpai_freezes_page(const udpai_node *node,
                   udpai_str form,
                   udpai_strbuf *text,
                   udpa_error **ret_error)
{
    UDPAI_AUTO_FREE char *room = NULL;
    question asked;
    udpa_err err = ask(form, &room, &asked, ret_error);
    if (err != UDPA_OK)
        return err;
    struct list freezes = {.text = text}, changes = {.text = text, .prefix = asked.prefix};
    udpai_strbuf_puts(text, "{\"freezes\":[");
    udpai_node_visit_freezes(node, put_freeze, &freezes);
    udpai_strbuf_puts(text, "\n],\"changes\":[");
    udpai_node_visit_waiting(node, put_change, &changes);
    udpai_strbuf_printf(text, "\n],\"n_changes\":%zu}\n", changes.n);
    return UDPA_OK;
}

/* ---- changing it ---- */

udpa_err
udpai_freeze_page(udpai_node *node, udpai_str form, udpai_str by, udpa_error **ret_error)
{
    UDPAI_AUTO_FREE char *room = NULL;
    question asked;
    udpa_err err = ask(form, &room, &asked, ret_error);
    const udpai_freeze freeze = {
        .prefix = asked.prefix,
        .reason = asked.because,
        .by = by,
        .is_all = asked.is_all,
    };
    return err == UDPA_OK ? udpai_node_freeze(node, &freeze, ret_error) : err;
}

udpa_err
udpai_thaw_page(udpai_node *node, udpai_str form, udpa_error **ret_error)
{
    UDPAI_AUTO_FREE char *room = NULL;
    question asked;
    udpa_err err = ask(form, &room, &asked, ret_error);
    return err == UDPA_OK ? udpai_node_thaw(node, asked.prefix, ret_error) : err;
}
