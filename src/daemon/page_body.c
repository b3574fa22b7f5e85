/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/page_body.h"

#include "base/percent.h"
#include "codec/reader.h"

/* A plus is a blank there. */
static void
put_encoded(udpai_strbuf *form, udpai_str text)
{
    udpai_str part;
    while (udpai_str_cut(&text, '+', &part)) {
        udpai_percent_encode_segment(form, part);
        udpai_strbuf_puts(form, "%2B");
    }
    udpai_percent_encode_segment(form, text);
}

static udpa_err
put_entry(const udpai_entry *entry, udpai_strbuf *form, udpa_error **ret_error)
{
    if (entry->value->kind != UDPAI_TREE_SCALAR)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "the value of '%.*s' is %s, and must be a string, a number, true, false "
                          "or null",
                          UDPAI_SHOWN(entry->key->text), udpai_tree_kind_text(entry->value));
    udpai_strbuf_puts(form, form->len ? "&" : "");
    put_encoded(form, entry->key->text);
    udpai_strbuf_puts(form, "=");
    if (!udpai_tree_is_null(entry->value))
        put_encoded(form, entry->value->text);
    return UDPA_OK;
}

static udpa_err
put_all(const udpai_documents *documents, udpai_strbuf *form, udpa_error **ret_error)
{
    const udpai_tree *root = documents->roots.n == 1 ? documents->roots.items[0] : NULL;
    udpa_err err = UDPA_OK;
    if (!root || root->kind != UDPAI_TREE_MAP)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "the body must be a JSON object, such as {\"key\": \"value\"}");
    for (uint32_t i = 0; i < root->n && err == UDPA_OK; i++)
        err = put_entry(&root->entries[i], form, ret_error);
    return err;
}

static udpa_err
put_body(udpai_str body, udpai_strbuf *form, udpa_error **ret_error)
{
    udpai_documents *documents = NULL;
    const udpai_source source = {
        .name = "the body",
        .text = body,
        .format = UDPAI_FORMAT_JSON,
        .max_size = UDPAI_PAGE_BODY_MAX,
    };
    udpa_err err = udpai_documents_read(&documents, &source, ret_error);
    if (err == UDPA_OK)
        err = put_all(documents, form, ret_error);
    udpai_documents_free(documents);
    return err;
}

udpa_err
udpai_page_form_read(udpai_str query,
                     udpai_str body,
                     udpai_strbuf *ret_form,
                     udpa_error **ret_error)
{
    *ret_form = (udpai_strbuf){0};
    udpai_strbuf_str(ret_form, query);
    udpa_err err = body.len ? put_body(body, ret_form, ret_error) : UDPA_OK;
    if (err == UDPA_OK && udpai_strbuf_failed(ret_form))
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    return err;
}

bool
udpai_page_form_next(udpai_str *form, udpai_str *ret_part)
{
    if (udpai_str_cut(form, '&', ret_part))
        return true;
    *ret_part = *form;
    return false;
}

bool
udpai_page_form_text(udpai_str part, udpai_str key, char **at, udpai_str *ret_text)
{
    return udpai_str_starts(part, key) &&
           udpai_percent_decode((udpai_str){part.data + key.len, part.len - key.len}, at, ret_text);
}

bool
udpai_page_form_number(udpai_str part, udpai_str key, uint64_t *ret_number)
{
    return udpai_str_starts(part, key) &&
           udpai_str_number((udpai_str){part.data + key.len, part.len - key.len}, ret_number);
}
