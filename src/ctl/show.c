/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/show.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/alloc.h"
#include "cli/client.h"
#include "cli/names.h"
#include "cli/node_status.h"
#include "cli/table.h"
#include "codec/json_text.h"
#include "codec/resource_file.h"
#include "ctl/schema.h"
#include "model/client_type.h"
#include "model/name.h"
#include "wire/entry.h"

#define MESSAGE "udpa.service.discovery.v1.Resource"

/* ---- one resource ---- */

/* The last hop is our own. What a file cannot have of a resource, YAML has as a comment, so that it
 * can be edited and applied. */
static udpa_err
as_printed(const udpa_resource *resource, udpai_format format, udpa_resource **ret_resource)
{
    udpai_resource_room room;
    udpai_resource_parts parts = udpai_resource_parts_of(resource, &room);
    if (parts.n_hops)
        parts.n_hops--;
    if (format == UDPAI_FORMAT_YAML) {
        parts.n_hops = 0;
        parts.generation = 0;
        parts.signature = (udpai_signature){0};
    }
    return udpai_resource_make(ret_resource, &parts);
}

static void
put_time(udpai_strbuf *out, int64_t time_us)
{
    char text[32] = "";
    struct tm utc;
    time_t seconds = (time_t)(time_us / 1000000);
    if (gmtime_r(&seconds, &utc))
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
    udpai_strbuf_puts(out, text);
}

/* Only the node itself publishes its status: no file has such a resource. */
static bool
is_of_itself(const udpa_resource *resource)
{
    return udpai_prefix_covers(UDPAI_STR(UDPAI_CLI_STATUS_NAMESPACE),
                               udpai_resource_name(resource));
}

static void
put_hop(udpai_strbuf *out, const udpa_resource *resource, udpai_hop hop)
{
    bool is_named = hop.authority.len != 0;
    udpai_cli_put_text(out, hop.node_id);
    if (!is_named && is_of_itself(resource)) {
        udpai_strbuf_puts(out, " reports it of itself");
        return;
    }
    udpai_strbuf_puts(out, " took it from ");
    udpai_cli_put_text(out, is_named ? hop.authority : UDPAI_STR("a file"));
}

/* Whether it is right is for 'verify' to report. */
static void
put_signature(udpai_strbuf *out, const udpa_resource *resource)
{
    const udpai_signature *signature = udpai_resource_signature(resource);
    if (!signature)
        return;
    udpai_strbuf_puts(out, "# signed with key ");
    udpai_cli_put_text(out, signature->key_id);
    udpai_strbuf_puts(out, " until ");
    put_time(out, signature->not_after_us);
    udpai_strbuf_putc(out, '\n');
}

/* "# core took it from acme at 2026-01-31T00:00:00Z", a line for each node. */
static void
put_comments(udpai_strbuf *out, const udpa_resource *resource)
{
    if (udpa_resource_generation(resource))
        udpai_strbuf_printf(out, "# generation %llu\n",
                            (unsigned long long)udpa_resource_generation(resource));
    put_signature(out, resource);
    for (size_t i = 0; i + 1 < udpa_resource_n_hops(resource); i++) {
        udpai_hop hop = udpai_resource_hop(resource, i);
        udpai_strbuf_puts(out, "# ");
        put_hop(out, resource, hop);
        udpai_strbuf_puts(out, " at ");
        put_time(out, hop.time_us);
        udpai_strbuf_putc(out, '\n');
    }
}

static udpa_bytes *
encode(const udpa_resource *resource, bool is_secret)
{
    const udpai_entry_form form = {
        .extended = true,
        .refresh = is_secret, /* without its payload */
        .ttl_ms = udpa_resource_ttl_ms(resource),
    };
    udpai_proto_writer size = {0};
    uint8_t *room;
    udpai_entry_put(&size, resource, form);
    udpa_bytes *bytes = udpai_bytes_make(size.size, &room);
    udpai_proto_writer writer = {room, 0};
    if (bytes)
        udpai_entry_put(&writer, resource, form);
    return bytes;
}

static udpa_err
convert(const udpai_schema *schema,
        const udpa_bytes *message,
        udpai_format format,
        char **ret_text,
        udpa_error **ret_error)
{
    return udpai_convert_from_binary(schema, UDPAI_STR(MESSAGE), udpai_bytes_view(message), format,
                                     ret_text, ret_error);
}

static void
drop_blanks(udpai_strbuf *out)
{
    while (out->len && strchr(" \n", out->data[out->len - 1]))
        out->len--;
}

/* As the last field of the object there. */
static void
put_redacted_json(udpai_strbuf *out, const udpa_resource *resource)
{
    drop_blanks(out);
    out->len -= out->len > 0;
    drop_blanks(out);
    udpai_strbuf_puts(out, ",\"resource\":{\"@type\":");
    udpai_json_put_string(out, udpai_resource_type_url(resource));
    udpai_strbuf_puts(out, ",\"" UDPAI_REDACTED_FIELD "\":\"" UDPAI_REDACTED_TEXT "\"}}");
}

/* In a form that 'apply' refuses, with the reason: it must not replace the secret. A type URL needs
 * no more than JSON's quotes. */
static void
put_redacted(udpai_strbuf *out, const udpa_resource *resource, udpai_format format)
{
    if (format != UDPAI_FORMAT_YAML) {
        put_redacted_json(out, resource);
        return;
    }
    udpai_strbuf_puts(out, "resource:\n  \"@type\": ");
    udpai_json_put_string(out, udpai_resource_type_url(resource));
    udpai_strbuf_puts(out, "\n  " UDPAI_REDACTED_FIELD ": " UDPAI_REDACTED_TEXT "\n");
}

udpa_err
udpai_ctl_put_resource(udpai_strbuf *out,
                       const udpai_schema *schema,
                       const udpa_resource *resource,
                       udpai_format format,
                       udpa_error **ret_error)
{
    bool is_secret = udpai_cli_is_secret(udpai_resource_type_url(resource));
    UDPA_AUTO(udpa_resource_unref) udpa_resource *printed = NULL;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *message = NULL;
    if (as_printed(resource, format, &printed) != UDPA_OK ||
        !(message = encode(printed, is_secret)))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    UDPAI_AUTO_FREE char *text = NULL;
    udpa_err err = convert(schema, message, format, &text, ret_error);
    if (err != UDPA_OK)
        return err;
    if (format == UDPAI_FORMAT_YAML)
        put_comments(out, resource);
    udpai_strbuf_puts(out, text);
    if (is_secret)
        put_redacted(out, resource, format);
    drop_blanks(out);
    return UDPA_OK;
}

udpa_err
udpai_ctl_put_signed(udpai_strbuf *out,
                     const udpai_schema *schema,
                     const udpa_resource *resource,
                     udpai_format format,
                     udpa_error **ret_error)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *message = encode(resource, false);
    UDPAI_AUTO_FREE char *text = NULL;
    if (!message)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpa_err err = convert(schema, message, format, &text, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_strbuf_puts(out, text);
    drop_blanks(out);
    return UDPA_OK;
}

udpa_err
udpai_ctl_put_restorable(udpai_strbuf *out,
                         const udpai_schema *schema,
                         const udpa_resource *resource,
                         bool with_secrets,
                         udpa_error **ret_error)
{
    udpai_resource_room room;
    udpai_resource_parts parts = udpai_resource_parts_of(resource, &room);
    bool is_hidden = !with_secrets && udpai_cli_is_secret(udpai_resource_type_url(resource));
    UDPA_AUTO(udpa_resource_unref) udpa_resource *bare = NULL;
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *message = NULL;
    parts.n_hops = 0;
    if (udpai_resource_make(&bare, &parts) != UDPA_OK || !(message = encode(bare, is_hidden)))
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    UDPAI_AUTO_FREE char *text = NULL;
    udpa_err err = convert(schema, message, UDPAI_FORMAT_YAML, &text, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_strbuf_puts(out, text);
    if (is_hidden)
        put_redacted(out, resource, UDPAI_FORMAT_YAML);
    drop_blanks(out);
    return UDPA_OK;
}

void
udpai_ctl_put_name(udpai_strbuf *out, const udpa_resource *resource)
{
    udpai_cli_put_text(out, udpai_cli_type_short(udpai_resource_type_url(resource)));
    udpai_strbuf_putc(out, '/');
    udpai_cli_put_text(out, udpai_resource_name(resource));
}

void
udpai_ctl_put_path(udpai_strbuf *out, const udpa_resource *resource)
{
    for (size_t i = 0; i + 1 < udpa_resource_n_hops(resource); i++) {
        if (i)
            udpai_strbuf_puts(out, " > ");
        udpai_strbuf_str(out, udpai_resource_hop(resource, i).node_id);
    }
}

/* ---- all of them ---- */

static void
put_row(udpai_cli_table *table, const udpa_resource *resource)
{
    udpai_strbuf path = {0};
    udpai_ctl_put_path(&path, resource);
    udpai_cli_table_add(table, udpai_cli_type_short(udpai_resource_type_url(resource)));
    udpai_cli_table_add(table, udpai_resource_name(resource));
    udpai_cli_table_add_version(table, udpai_resource_version(resource));
    udpai_cli_table_add(table, udpai_resource_authority(resource));
    udpai_cli_table_add(table, udpai_strbuf_view(&path));
    udpai_strbuf_done(&path);
}

static void
put_table(udpai_strbuf *out, udpai_cli_layout *layout, udpa_resource *const *resources, size_t n)
{
    static const char *const heads[] = {"TYPE", "NAME", "VERSION", "AUTHORITY", "PATH"};
    udpai_cli_table table;
    udpai_cli_table_begin(&table, layout, heads, UDPAI_ARRAY_LEN(heads));
    for (size_t i = 0; i < n; i++)
        put_row(&table, resources[i]);
    udpai_cli_table_write(&table, out);
    udpai_cli_table_done(&table);
}

static void
put_names(udpai_strbuf *out, udpa_resource *const *resources, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        udpai_ctl_put_name(out, resources[i]);
        udpai_strbuf_putc(out, '\n');
    }
}

/* "  core took it from a file at …", a line for each node behind the name. The last hop is our own.
 */
static void
put_path(udpai_strbuf *out, const udpa_resource *resource)
{
    udpai_ctl_put_name(out, resource);
    udpai_strbuf_puts(out, " by ");
    udpai_cli_put_text(out, udpai_resource_authority(resource));
    udpai_strbuf_putc(out, '\n');
    for (size_t i = 0; i + 1 < udpa_resource_n_hops(resource); i++) {
        udpai_hop hop = udpai_resource_hop(resource, i);
        udpai_strbuf_puts(out, "  ");
        put_hop(out, resource, hop);
        udpai_strbuf_puts(out, " at ");
        put_time(out, hop.time_us);
        udpai_strbuf_putc(out, '\n');
    }
}

/* The status of nodes and clients they publish again. */
static bool
is_restorable(const udpa_resource *resource)
{
    return !is_of_itself(resource) && !udpai_type_is_client(udpai_resource_type_url(resource));
}

static udpa_err
put_document(udpai_strbuf *out,
             const udpai_ctl_options *options,
             const udpai_schema *schema,
             const udpa_resource *resource,
             udpa_error **ret_error)
{
    bool is_json = options->common.format == UDPAI_CLI_JSON;
    if (options->is_all)
        return udpai_ctl_put_restorable(out, schema, resource, options->with_secrets, ret_error);
    return udpai_ctl_put_resource(
        out, schema, resource, is_json ? UDPAI_FORMAT_JSON_PRETTY : UDPAI_FORMAT_YAML, ret_error);
}

/* YAML documents, or one JSON array. */
static udpai_cli_exit
put_documents(udpai_strbuf *out,
              const udpai_ctl_options *options,
              udpa_resource *const *resources,
              size_t n)
{
    bool is_json = options->common.format == UDPAI_CLI_JSON;
    UDPA_AUTO(udpai_schema_unref) udpai_schema *schema = n ? udpai_ctl_schema(options) : NULL;
    udpai_cli_exit result = UDPAI_CLI_GOOD;
    bool is_first = true;
    if (n && !schema)
        return UDPAI_CLI_MISTAKE;
    udpai_strbuf_puts(out, is_json ? "[" : "");
    for (size_t i = 0; i < n; i++) {
        UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
        udpai_strbuf one = {0};
        if (options->is_all && !is_restorable(resources[i]))
            continue;
        if (put_document(&one, options, schema, resources[i], &error) == UDPA_OK) {
            udpai_strbuf_puts(out, is_first ? (is_json ? "\n" : "") : is_json ? ",\n" : "---\n");
            udpai_strbuf_str(out, udpai_strbuf_view(&one));
            udpai_strbuf_puts(out, is_json ? "" : "\n");
            is_first = false;
        } else {
            udpai_cli_complain("'%s' cannot be shown: %s", udpa_resource_name(resources[i]),
                               udpa_error_message(error));
            result = UDPAI_CLI_REFUSED;
        }
        udpai_strbuf_done(&one);
    }
    udpai_strbuf_puts(out, is_json ? (is_first ? "]\n" : "\n]\n") : "");
    return result;
}

udpai_cli_exit
udpai_ctl_show(const udpai_ctl_options *options, const udpai_cli_found *found)
{
    UDPAI_AUTO_FREE udpa_resource **resources = udpai_cli_found_sorted(found);
    size_t n = resources ? udpai_cli_found_size(found) : 0;
    udpai_strbuf out = {.failed = !resources};
    udpai_cli_layout layout = udpai_cli_layout_of(&options->common);
    udpai_cli_exit result = UDPAI_CLI_GOOD;
    switch (options->common.format) {
    case UDPAI_CLI_TABLE:
        put_table(&out, &layout, resources, n);
        break;
    case UDPAI_CLI_NAME:
        put_names(&out, resources, n);
        break;
    case UDPAI_CLI_PATH:
        for (size_t i = 0; i < n; i++)
            put_path(&out, resources[i]);
        break;
    case UDPAI_CLI_YAML:
    case UDPAI_CLI_JSON:
        result = put_documents(&out, options, resources, n);
        break;
    case UDPAI_CLI_TAP: /* these go with conform alone */
    case UDPAI_CLI_JUNIT:
        break;
    }
    udpai_cli_exit printed = options->common.format == UDPAI_CLI_JSON
                                 ? udpai_cli_print_json(&options->common, &out)
                                 : udpai_cli_print_tables(&layout, &out);
    return result == UDPAI_CLI_GOOD ? printed : result;
}
