/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/conform/rest.h"

#include "base/alloc.h"
#include "codec/json_text.h"
#include "codec/reader.h"
#include "tools/conform/session_internal.h"

#define PRINTED_BYTES 300
#define REASON_BYTES 120

enum {
    OK = 200,
    UNAUTHORIZED = 401,
    FORBIDDEN = 403,
    NOT_FOUND = 404,
    NOT_IMPLEMENTED = 501,
};

static bool
is_usable(const udpai_rest *rest)
{
    return rest && udpai_is_running(rest->script);
}

/* ---- connections ---- */

udpai_rest *
udpai_rest_open(udpai_script *script)
{
    const udpai_byte_peer *peer = script->stage->rest;
    if (!udpai_is_running(script))
        return NULL;
    if (!peer) {
        udpai_skip_script(
            script, "the address of the server's REST is not known: give --rest-server HOST:PORT");
        return NULL;
    }
    udpai_strbuf why = {0};
    udpai_rest *rest = udpai_alloc(sizeof(*rest));
    if (rest)
        rest->script = script;
    if (rest)
        rest->stream = peer->open(peer->self, &why);
    if (!rest || !rest->stream) {
        udpai_fail_script(script, "%s: %s", peer->address, why.data ? why.data : "out of memory");
        rest = udpai_rest_free(rest);
    }
    udpai_strbuf_done(&why);
    return rest;
}

static void
forget_answer(udpai_rest *rest)
{
    for (size_t i = 0; i < rest->resources.n; i++) {
        udpai_free(rest->resources.items[i].name);
        udpai_free(rest->resources.items[i].type_url);
    }
    rest->resources.n = 0;
    rest->body.len = 0;
    udpai_free(rest->content_type);
    udpai_free(rest->version);
    udpai_free(rest->type_url);
    rest->content_type = rest->version = rest->type_url = NULL;
}

udpai_rest *
udpai_rest_free(udpai_rest *rest)
{
    if (!rest)
        return NULL;
    if (rest->stream)
        rest->script->stage->rest->close(rest->stream);
    forget_answer(rest);
    udpai_vector_done(&rest->resources);
    udpai_strbuf_done(&rest->unread);
    udpai_strbuf_done(&rest->body);
    udpai_free(rest);
    return NULL;
}

/* ---- asking ---- */

static void
put_field(udpai_strbuf *out, const char *name, const char *value)
{
    udpai_strbuf_printf(out, ",\"%s\":", name);
    udpai_json_put_string(out, udpai_str_from(value));
}

static void
put_names(udpai_strbuf *out, udpai_script *script, const udpai_rest_ask *ask)
{
    udpai_strbuf_printf(out, ",\"%s\":[",
                        ask->has_original_names ? "resource_names" : "resourceNames");
    for (udpai_names at = ask->names; *at; at++) {
        const char *name = udpai_resolve(script, script->kind, *at);
        udpai_strbuf_puts(out, at == ask->names ? "" : ",");
        udpai_json_put_string(out, udpai_str_from(name ? name : ""));
    }
    udpai_strbuf_putc(out, ']');
}

static void
put_body(udpai_strbuf *out, udpai_script *script, const udpai_rest_ask *ask)
{
    bool is_original = ask->has_original_names;
    if (ask->body) {
        udpai_strbuf_puts(out, ask->body);
        return;
    }
    udpai_strbuf_puts(out, "{\"node\":{\"id\":");
    udpai_json_put_string(out, script->stage->node_id);
    udpai_strbuf_printf(out, ",\"cluster\":\"conform\",\"%s\":\"udpactl conform\"}",
                        is_original ? "user_agent_name" : "userAgentName");
    if (ask->names && *ask->names)
        put_names(out, script, ask);
    if (ask->type != UDPAI_KINDS)
        put_field(out, is_original ? "type_url" : "typeUrl", udpai_kind_url(ask->type).data);
    if (ask->version)
        put_field(out, is_original ? "version_info" : "versionInfo", ask->version);
    udpai_strbuf_putc(out, '}');
}

/* Two chunks, so that it is seen whether they are put together. */
static void
put_framed(udpai_strbuf *out, udpai_str body, bool is_in_chunks)
{
    size_t half = body.len / 2;
    if (!is_in_chunks) {
        udpai_strbuf_printf(out, "content-length: %zu\r\n\r\n", body.len);
        udpai_strbuf_str(out, body);
        return;
    }
    udpai_strbuf_printf(out, "transfer-encoding: chunked\r\n\r\n%zx\r\n", half);
    udpai_strbuf_str(out, (udpai_str){body.data, half});
    udpai_strbuf_printf(out, "\r\n%zx\r\n", body.len - half);
    udpai_strbuf_str(out, (udpai_str){body.data + half, body.len - half});
    udpai_strbuf_puts(out, "\r\n0\r\n\r\n");
}

static void
send_message(udpai_rest *rest, const char *path, udpai_str body, const udpai_rest_ask *ask)
{
    const udpai_byte_peer *peer = rest->script->stage->rest;
    const char *method = ask->method ? ask->method : "POST";
    udpai_strbuf out = {0};
    udpai_strbuf_printf(&out,
                        "%s %s HTTP/1.1\r\nhost: %s\r\ncontent-type: application/json\r\n"
                        "accept: application/json\r\n",
                        method, path, peer->address);
    if (ask->is_impatient)
        udpai_strbuf_puts(&out, "prefer: wait=0\r\n");
    put_framed(&out, body, ask->is_in_chunks);
    udpai_transcribe(
        rest->script, "> %s %s %.*s", method, path,
        UDPAI_SHOWN(((udpai_str){body.data, udpai_min_size(body.len, PRINTED_BYTES)})));
    if (udpai_strbuf_failed(&out))
        udpai_fail_script(rest->script, "out of memory");
    else if (!peer->send(rest->stream, udpai_strbuf_view(&out)))
        udpai_fail_script(rest->script, "the server has ended the connection before the request");
    udpai_strbuf_done(&out);
}

void
udpai_rest_send(udpai_rest *rest, const udpai_rest_ask *ask)
{
    udpai_strbuf body = {0};
    if (!is_usable(rest))
        return;
    udpai_script *script = rest->script;
    const udpai_xds_method *method = udpai_xds_method_find(
        &script->stage->methods, udpai_kind_url(script->kind), UDPAI_XDS_POLL);
    const char *path = ask->path ? ask->path : method ? method->path : "/";
    put_body(&body, script, ask);
    if (udpai_strbuf_failed(&body))
        udpai_fail_script(script, "out of memory");
    if (udpai_is_running(script))
        send_message(rest, path, udpai_strbuf_view(&body), ask);
    udpai_strbuf_done(&body);
}

/* ---- reading ---- */

static udpai_str
text_at(const udpai_tree *map, const char *name, const char *original)
{
    const udpai_entry *entry = udpai_tree_find(map, udpai_str_from(name));
    if (!entry)
        entry = udpai_tree_find(map, udpai_str_from(original));
    bool is_text = entry && entry->value->kind == UDPAI_TREE_SCALAR && !entry->value->plain;
    return is_text ? entry->value->text : (udpai_str){"", 0};
}

/* The variant that any text of it has. Trees have bounded depth. */
static unsigned
variant_of(const udpai_tree *tree)
{
    unsigned variant = tree->kind == UDPAI_TREE_SCALAR ? udpai_kind_variant(tree->text) : 0;
    for (uint32_t i = 0; tree->kind == UDPAI_TREE_LIST && i < tree->n && !variant; i++)
        variant = variant_of(tree->items[i]);
    for (uint32_t i = 0; tree->kind == UDPAI_TREE_MAP && i < tree->n && !variant; i++)
        variant = variant_of(tree->entries[i].value);
    return variant;
}

static void
note_resource(udpai_rest *rest, const udpai_tree *resource)
{
    if (resource->kind != UDPAI_TREE_MAP) {
        udpai_fail_script(rest->script, "a resource of the answer is no JSON object");
        return;
    }
    bool is_endpoints = rest->script->kind == UDPAI_ENDPOINTS;
    udpai_str name = text_at(resource, is_endpoints ? "clusterName" : "name",
                             is_endpoints ? "cluster_name" : "name");
    udpai_str type = text_at(resource, "@type", "@type");
    udpai_rest_resource update = {
        .name = udpai_strndup(name.data, name.len),
        .type_url = udpai_strndup(type.data, type.len),
        .variant = variant_of(resource),
    };
    if (update.name && update.type_url && udpai_vector_push(&rest->resources, update))
        return;
    udpai_free(update.name);
    udpai_free(update.type_url);
    udpai_fail_script(rest->script, "out of memory");
}

static void
note_root(udpai_rest *rest, const udpai_tree *root)
{
    if (root->kind != UDPAI_TREE_MAP) {
        udpai_fail_script(rest->script, "the answer is no JSON object");
        return;
    }
    udpai_str version = text_at(root, "versionInfo", "version_info");
    udpai_str type = text_at(root, "typeUrl", "type_url");
    rest->version = udpai_strndup(version.data, version.len);
    rest->type_url = udpai_strndup(type.data, type.len);
    const udpai_entry *list = udpai_tree_find(root, UDPAI_STR("resources"));
    if (list && list->value->kind != UDPAI_TREE_LIST)
        udpai_fail_script(rest->script, "'resources' of the answer is no JSON array");
    for (uint32_t i = 0; list && list->value->kind == UDPAI_TREE_LIST && i < list->value->n; i++)
        note_resource(rest, list->value->items[i]);
}

static void
note_json(udpai_rest *rest)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    const udpai_source source = {
        .name = "the answer", .text = udpai_strbuf_view(&rest->body), .format = UDPAI_FORMAT_JSON};
    udpai_documents *documents = NULL;
    if (udpai_documents_read(&documents, &source, &error) != UDPA_OK)
        udpai_fail_script(rest->script, "the body of the answer is no JSON: %s",
                          udpa_error_message(error));
    else if (documents->roots.n != 1)
        udpai_fail_script(rest->script, "the answer has no body");
    else
        note_root(rest, documents->roots.items[0]);
    udpai_documents_free(documents);
}

/* ---- receiving ---- */

static void
take(udpai_rest *rest)
{
    udpai_str body = udpai_strbuf_view(&rest->body), type = rest->answer.content_type;
    rest->content_type = udpai_strndup(type.data, type.len);
    udpai_transcribe(
        rest->script, "< %d %.*s %.*s", rest->answer.status, UDPAI_SHOWN(type),
        UDPAI_SHOWN(((udpai_str){body.data, udpai_min_size(body.len, PRINTED_BYTES)})));
    rest->unread.len -= rest->answer.size;
    memmove(rest->unread.data, rest->unread.data + rest->answer.size, rest->unread.len);
    if (!rest->content_type)
        udpai_fail_script(rest->script, "out of memory");
    else if (rest->answer.status == OK)
        note_json(rest);
}

/* Is there an answer now? */
static bool
try_read(udpai_rest *rest)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_str unread = udpai_strbuf_view(&rest->unread);
    if (!unread.len && !rest->is_over)
        return false;
    switch (udpai_http_answer_read(unread, rest->is_over, &rest->answer, &rest->body, &error)) {
    case UDPAI_HTTP_PARTIAL:
        return false;
    case UDPAI_HTTP_BROKEN:
        udpai_fail_script(rest->script, "%s", udpa_error_message(error));
        return false;
    case UDPAI_HTTP_WHOLE:
        break;
    }
    take(rest);
    return true;
}

bool
udpai_rest_receive(udpai_rest *rest, uint64_t timeout_ms)
{
    if (!is_usable(rest))
        return false;
    const udpai_byte_peer *peer = rest->script->stage->rest;
    uint64_t deadline = peer->now_ms(peer->self) + timeout_ms;
    forget_answer(rest);
    while (!try_read(rest)) {
        uint64_t now = peer->now_ms(peer->self);
        if (now >= deadline || !udpai_is_running(rest->script))
            return false;
        if (peer->receive(rest->stream, deadline - now, &rest->unread) == UDPAI_RECEIVED_END)
            rest->is_over = true;
    }
    return true;
}

/* ---- judging ---- */

static bool
receive_in_time(udpai_rest *rest)
{
    if (!is_usable(rest))
        return false;
    uint64_t timeout_ms = rest->script->stage->timeout_ms;
    if (!udpai_rest_receive(rest, timeout_ms))
        udpai_fail_script(rest->script, "no response arrived within %g s",
                          (double)timeout_ms / 1000);
    return udpai_is_running(rest->script);
}

void
udpai_rest_expect(udpai_rest *rest)
{
    if (!receive_in_time(rest) || rest->answer.status == OK)
        return;
    int status = rest->answer.status;
    if (status == NOT_FOUND || status == NOT_IMPLEMENTED)
        udpai_skip_script(rest->script, "the server does not serve %ss by REST: %d %.*s",
                          udpai_kind_word(rest->script->kind), status,
                          (int)udpai_min_size(rest->body.len, REASON_BYTES),
                          rest->body.data ? rest->body.data : "");
    else if (rest->script->kind == UDPAI_SECRET && (status == UNAUTHORIZED || status == FORBIDDEN))
        udpai_skip_script(rest->script, "the server does not give secrets without TLS (%d)",
                          status);
    else
        udpai_fail_script(rest->script, "200 was expected, and %d arrived", status);
}

void
udpai_rest_expect_rejection(udpai_rest *rest, int status)
{
    if (!receive_in_time(rest))
        return;
    int came = rest->answer.status;
    udpai_require(rest->script, came >= 400 && came < 500 && (!status || came == status),
                  "%d was expected for the client's error, and %d arrived", status ? status : 400,
                  came);
}

const udpai_rest_resource *
udpai_rest_find(const udpai_rest *rest, const char *name)
{
    const char *full = rest ? udpai_resolve(rest->script, rest->script->kind, name) : NULL;
    for (size_t i = 0; full && i < rest->resources.n; i++)
        if (strcmp(rest->resources.items[i].name, full) == 0)
            return &rest->resources.items[i];
    return NULL;
}

void
udpai_rest_require(udpai_rest *rest, const char *name)
{
    const udpai_rest_resource *update = is_usable(rest) ? udpai_rest_find(rest, name) : NULL;
    if (!is_usable(rest))
        return;
    udpai_script *script = rest->script;
    const char *full = udpai_world_name(&script->stage->world, script->kind, name);
    unsigned expected =
        udpai_world_variant(&script->stage->world, script->kind, udpai_str_from(full));
    if (!update)
        udpai_fail_script(script, "%s %s is not in the answer", udpai_kind_word(script->kind),
                          full);
    else
        udpai_require(script, !expected || update->variant == expected,
                      "%s %s is v%u, and arrived as v%u", udpai_kind_word(script->kind), full,
                      expected, update->variant);
}
