/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config_page.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/time_text.h"
#include "codec/convert.h"
#include "codec/json_text.h"
#include "daemon/bootstrap_fields.h"
#include "daemon/redact.h"

#define YAML_TYPE "application/yaml"
#define JSON_TYPE "application/json"
#define TYPE "udpa.config.v1.Bootstrap"
#define USAGE "usage: /config[?format=yaml], or ?format=json"

/* ---- the question ---- */

static bool
accepts_json(udpai_str accept)
{
    return memmem(accept.data, accept.len, JSON_TYPE, sizeof(JSON_TYPE) - 1) != NULL;
}

static udpa_err
read_format(const udpai_http_reading *reading, bool *ret_is_json, udpa_error **ret_error)
{
    bool is_json = udpai_str_eq(reading->query, UDPAI_STR("format=json"));
    if (!is_json && reading->query.len && !udpai_str_eq(reading->query, UDPAI_STR("format=yaml")))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, USAGE);
    *ret_is_json = is_json || (!reading->query.len && accepts_json(reading->accept));
    return UDPA_OK;
}

/* ---- where it is from ---- */

/* Facts in one of the two forms. */
typedef struct writer {
    udpai_strbuf *out;
    bool is_json;
} writer;

/* @p key: in JSON; @p title: of a comment, with the words before the value. */
static void
begin_fact(const writer *self, const char *key, const char *title)
{
    if (self->is_json)
        udpai_strbuf_printf(self->out, ",\n\"%s\":", key);
    else
        udpai_strbuf_printf(self->out, "# %s", title);
}

static void
put_text(const writer *self, const char *text)
{
    udpai_strbuf clean = {0};
    udpai_redact_text(&clean, udpai_str_from(text));
    self->out->failed |= udpai_strbuf_failed(&clean);
    if (self->is_json)
        udpai_json_put_string(self->out, udpai_strbuf_view(&clean));
    else
        udpai_strbuf_str(self->out, udpai_strbuf_view(&clean));
    udpai_strbuf_done(&clean);
}

static void
put_fact(const writer *self, const char *key, const char *title, const char *text)
{
    begin_fact(self, key, title);
    put_text(self, text);
    udpai_strbuf_puts(self->out, self->is_json ? "" : "\n");
}

static void
put_time(const writer *self, const char *key, const char *title, int64_t time_us)
{
    char text[UDPAI_TIME_TEXT_SIZE];
    udpai_time_text(text, time_us);
    put_fact(self, key, title, text);
}

/* One that is not a worker's, so the program comes first. */
static void
put_arguments(const writer *self, char *const *arguments)
{
    begin_fact(self, "arguments", "command line, which overrides the file:");
    udpai_strbuf_puts(self->out, self->is_json ? "[" : "");
    for (size_t i = 1; arguments && *arguments && arguments[i]; i++) {
        udpai_strbuf_puts(self->out, !self->is_json ? " " : i > 1 ? ", " : "");
        put_text(self, arguments[i]);
    }
    udpai_strbuf_puts(self->out, self->is_json ? "]" : "\n");
}

static void
put_again(const writer *self, const udpai_effective *effective)
{
    put_time(self, "read_again_at", "read again: ", effective->again_us);
    put_fact(self, "read_again_sha256", "SHA-256 then: ", effective->again_sha256);
    if (effective->is_rejected)
        put_time(self, "rejected_since",
                 "what is in the file is rejected, for the reason that 'udpactl status' shows, "
                 "since ",
                 effective->rejected_us);
    if (effective->restart)
        put_fact(self, "restart_needed",
                 "differs in the file, and takes a restart: ", effective->restart);
}

static void
put_origin(const writer *self, const udpai_effective *effective)
{
    const udpai_bootstrap *started = &effective->plan->bootstrap;
    const char *file = effective->options->config_file;
    udpai_strbuf_puts(self->out,
                      self->is_json ? "{\"redacted\":\"" UDPAI_REDACTED "\""
                                    : "# The configuration in effect. " UDPAI_REDACTED
                                      " stands for what could be a secret; defaults are left out.\n"
                                      "# Values of the runtime that override it: /runtime\n");
    if (file) {
        put_fact(self, "file", "file: ", file);
        put_time(self, "read_at", "read: ", started->read_us);
        put_fact(self, "sha256", "SHA-256: ", started->sha256);
    } else if (!self->is_json) {
        udpai_strbuf_puts(self->out, "# file: none\n");
    }
    put_arguments(self, effective->options->arguments);
    if (effective->again_us)
        put_again(self, effective);
}

/* ---- the message ---- */

static udpa_err
redact(const udpai_effective *effective, udpa_bytes **ret_bytes)
{
    udpai_arena arena;
    Udpa__Config__V1__Bootstrap *message = NULL;
    uint8_t *room;
    udpai_arena_init(&arena);
    udpa_err err = udpai_effective_read(effective, UDPAI_CONFIG_PAGE_MAX, &arena, &message);
    if (err == UDPA_OK && !udpai_redact(&udpai_bootstrap_section, &message->base, &arena))
        err = UDPA_ERR_NOMEM;
    udpa_bytes *bytes =
        err == UDPA_OK
            ? udpai_bytes_make(udpa__config__v1__bootstrap__get_packed_size(message), &room)
            : NULL;
    if (bytes)
        udpa__config__v1__bootstrap__pack(message, room);
    udpai_arena_done(&arena);
    if (err == UDPA_OK && !bytes)
        return UDPA_ERR_NOMEM;
    *ret_bytes = bytes;
    return err;
}

static udpa_err
put_message(const writer *self,
            const udpai_schema *schema,
            const udpa_bytes *bytes,
            udpa_error **ret_error)
{
    UDPAI_AUTO_FREE char *text = NULL;
    udpa_err err = udpai_convert_from_binary(schema, UDPAI_STR(TYPE), udpai_bytes_view(bytes),
                                             self->is_json ? UDPAI_FORMAT_JSON : UDPAI_FORMAT_YAML,
                                             &text, ret_error);
    if (err != UDPA_OK)
        return err;
    udpai_strbuf_puts(self->out, self->is_json ? ",\n\"bootstrap\":" : "\n");
    udpai_strbuf_puts(self->out, text);
    return UDPA_OK;
}

udpa_err
udpai_config_page_read(const udpai_effective *effective,
                       const udpai_schema *schema,
                       const udpai_http_reading *reading,
                       const char **ret_type,
                       udpai_strbuf *text,
                       udpa_error **ret_error)
{
    writer self = {.out = text};
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = NULL;
    udpa_err err = read_format(reading, &self.is_json, ret_error);
    if (err != UDPA_OK)
        return err;
    put_origin(&self, effective);
    err = redact(effective, &bytes);
    if (err == UDPA_ERR_LIMIT)
        put_fact(&self, "omitted",
                 "not here: ", "it is larger than this page may be; read the file");
    else if (err != UDPA_OK)
        return udpai_fail_code(ret_error, err);
    else if ((err = put_message(&self, schema, bytes, ret_error)) != UDPA_OK)
        return err;
    udpai_strbuf_puts(text, self.is_json ? "}\n" : "");
    *ret_type = self.is_json ? JSON_TYPE : YAML_TYPE;
    return udpai_strbuf_failed(text) ? udpai_fail_code(ret_error, UDPA_ERR_NOMEM) : UDPA_OK;
}
