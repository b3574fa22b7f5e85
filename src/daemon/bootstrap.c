/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/bootstrap.h"

#include <errno.h>
#include <stdio.h>

#include "base/strbuf.h"
#include "codec/resource_file.h"
#include "daemon/bootstrap_check.h"

#define TYPE "udpa.config.v1.Bootstrap"
#define MAX_BYTES ((size_t)16 * 1024 * 1024)

udpa_err
udpai_bootstrap_empty(udpai_bootstrap *ret_bootstrap, udpa_error **ret_error)
{
    ret_bootstrap->message = udpa__config__v1__bootstrap__unpack(NULL, 0, NULL);
    return udpai_fail_code(ret_error, ret_bootstrap->message ? UDPA_OK : UDPA_ERR_NOMEM);
}

void
udpai_bootstrap_done(udpai_bootstrap *bootstrap)
{
    if (bootstrap->message)
        udpa__config__v1__bootstrap__free_unpacked(bootstrap->message, NULL);
    bootstrap->message = NULL;
}

static udpa_err
read_file(const char *path, udpai_strbuf *text, udpa_error **ret_error)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return udpai_fail(ret_error, UDPA_ERR_IO, "cannot read %s: %s", path, strerror(errno));
    char room[8192];
    size_t n;
    while ((n = fread(room, 1, sizeof(room), file)) > 0 && text->len <= MAX_BYTES)
        udpai_strbuf_append(text, room, n);
    int failed = ferror(file) ? errno : 0;
    fclose(file);
    if (failed)
        return udpai_fail(ret_error, UDPA_ERR_IO, "cannot read %s: %s", path, strerror(failed));
    if (text->len > MAX_BYTES)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "%s: more than %zu bytes are no bootstrap file", path, MAX_BYTES);
    return udpai_fail_code(ret_error, udpai_strbuf_failed(text) ? UDPA_ERR_NOMEM : UDPA_OK);
}

/* YAML has JSON in it, so that is what a file without a known suffix is read as. */
static udpai_format
format_of(const char *path)
{
    udpai_format format;
    bool is_json = udpai_resource_file_format(path, &format) && format == UDPAI_FORMAT_JSON;
    return is_json ? UDPAI_FORMAT_JSON : UDPAI_FORMAT_YAML;
}

static bool
is_blank(udpai_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!strchr(" \t\r\n", text.data[i]))
            return false;
    return true;
}

static udpa_err
convert(udpai_bootstrap *bootstrap,
        const udpai_schema *schema,
        const udpai_source *source,
        udpa_error **ret_error)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = NULL;
    udpa_err err = udpai_convert_to_binary(schema, UDPAI_STR(TYPE), source, &bytes, ret_error);
    if (err != UDPA_OK)
        return err;
    bootstrap->message =
        udpa__config__v1__bootstrap__unpack(NULL, udpa_bytes_size(bytes), udpa_bytes_data(bytes));
    return udpai_fail_code(ret_error, bootstrap->message ? UDPA_OK : UDPA_ERR_NOMEM);
}

udpa_err
udpai_bootstrap_read(udpai_bootstrap *ret_bootstrap,
                     const udpai_schema *schema,
                     const char *path,
                     udpai_mistake_fn mistake,
                     void *userdata,
                     udpa_error **ret_error)
{
    udpai_strbuf text = {0};
    udpai_bootstrap bootstrap = {0};
    udpa_err err = read_file(path, &text, ret_error);
    if (err != UDPA_OK || is_blank(udpai_strbuf_view(&text))) {
        udpai_strbuf_done(&text);
        return err != UDPA_OK ? err : udpai_bootstrap_empty(ret_bootstrap, ret_error);
    }
    const udpai_source source = {
        .name = path, .text = udpai_strbuf_view(&text), .format = format_of(path)};
    err = udpai_convert_check(schema, UDPAI_STR(TYPE), &source, mistake, userdata);
    if (err == UDPA_OK)
        err = convert(&bootstrap, schema, &source, ret_error);
    if (err == UDPA_OK)
        err = udpai_bootstrap_check(bootstrap.message, &source, mistake, userdata);
    udpai_strbuf_done(&text);
    if (err == UDPA_OK)
        *ret_bootstrap = bootstrap;
    else
        udpai_bootstrap_done(&bootstrap);
    return err;
}
