/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/delete_page.h"

#include "base/alloc.h"
#include "base/percent.h"
#include "daemon/page_body.h"
#include "model/type_url.h"

struct page {
    udpai_strbuf *text;
    bool is_dry_run;
};

static void
report(void *userdata, const udpa_resource *resource, const udpa_error *kept)
{
    const struct page *page = userdata;
    udpai_str type = udpai_type_url_name(udpai_resource_type_url(resource));
    udpai_strbuf_printf(page->text, "%.*s %s ", (int)type.len, type.data,
                        udpa_resource_name(resource));
    if (kept)
        udpai_strbuf_printf(page->text, "stays: %s\n", udpa_error_message(kept));
    else
        udpai_strbuf_puts(page->text, page->is_dry_run ? "would be deleted\n" : "deleted\n");
}

/* Takes what begins with this; decodes it in place. */
static bool
take_value(udpai_str part, udpai_str key, char **at, udpai_str *ret_value)
{
    if (!udpai_str_starts(part, key))
        return false;
    part = (udpai_str){part.data + key.len, part.len - key.len};
    return udpai_percent_decode(part, at, ret_value);
}

/* The node may be given alone, without "node=". */
static bool
read_part(udpai_str part, char **at, udpai_deletion *deletion)
{
    bool is_dry =
        udpai_str_eq(part, UDPAI_STR("dry_run")) || udpai_str_eq(part, UDPAI_STR("dry_run=true"));
    deletion->is_dry_run |= is_dry;
    if (is_dry || udpai_str_eq(part, UDPAI_STR("dry_run=false")) ||
        take_value(part, UDPAI_STR("node="), at, &deletion->node_id) ||
        take_value(part, UDPAI_STR("type="), at, &deletion->type_url) ||
        take_value(part, UDPAI_STR("namespace="), at, &deletion->prefix))
        return true;
    return part.len && !memchr(part.data, '=', part.len) && deletion->node_id.len == 0 &&
           udpai_percent_decode(part, at, &deletion->node_id);
}

static bool
read_form(udpai_str form, char *room, udpai_deletion *deletion)
{
    char *at = room;
    udpai_str part;
    bool has_more;
    do {
        has_more = udpai_page_form_next(&form, &part);
        if (!read_part(part, &at, deletion))
            return false;
    } while (has_more);
    return deletion->node_id.len > 0;
}

udpa_err
udpai_delete_page(udpai_node *node,
                  udpai_str form,
                  const udpai_acl_subject *subject,
                  udpai_strbuf *text,
                  udpa_error **ret_error)
{
    struct page page = {.text = text};
    udpai_deletion deletion = {.subject = subject, .notify = report, .userdata = &page};
    UDPAI_AUTO_FREE char *room = udpai_alloc(form.len + 1);
    if (!room)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (!read_form(form, room, &deletion))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "usage: /origins_delete?NODE[&type=TYPE_URL][&namespace=NAME][&dry_run], "
                          "percent-encoded, or {\"node\": NODE, ...} as the body: deletes what the "
                          "node of this id has read itself, and will not come back with");
    page.is_dry_run = deletion.is_dry_run;
    return udpai_node_delete_origin(node, &deletion, ret_error);
}
