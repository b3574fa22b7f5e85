/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/bootstrap.h"

#include <errno.h>
#include <stdio.h>

#include "base/strbuf.h"
#include "codec/resource_file.h"

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

static udpa_err
unpack(udpai_bootstrap *bootstrap, const udpa_bytes *bytes, udpa_error **ret_error)
{
    bootstrap->message =
        udpa__config__v1__bootstrap__unpack(NULL, udpa_bytes_size(bytes), udpa_bytes_data(bytes));
    return udpai_fail_code(ret_error, bootstrap->message ? UDPA_OK : UDPA_ERR_NOMEM);
}

static udpa_err
convert(udpai_bootstrap *bootstrap,
        const udpai_schema *schema,
        const udpai_source *source,
        udpai_diagnostics *diagnostics,
        udpa_error **ret_error)
{
    UDPA_AUTO(udpa_bytes_unref) udpa_bytes *bytes = NULL;
    udpa_err err =
        udpai_convert_tree(schema, UDPAI_STR(TYPE), source, diagnostics->documents->roots.items[0],
                           &diagnostics->text, &bytes);
    udpai_diagnostics_take_text(diagnostics);
    return bytes ? unpack(bootstrap, bytes, ret_error) : err;
}

/* What an Envoy's bootstrap has, and this one has not; NULL: nothing of it. */
static const char *
envoy_field(const udpai_tree *root)
{
    static const struct {
        const char *outer, *inner, *path;
    } fields[] = {
        {"admin", NULL, "admin"},
        {"dynamic_resources", NULL, "dynamic_resources"},
        {"dynamicResources", NULL, "dynamic_resources"},
        {"layered_runtime", NULL, "layered_runtime"},
        {"layeredRuntime", NULL, "layered_runtime"},
        {"static_resources", "clusters", "static_resources.clusters"},
        {"staticResources", "clusters", "static_resources.clusters"},
        {"static_resources", "listeners", "static_resources.listeners"},
        {"staticResources", "listeners", "static_resources.listeners"},
    };

    for (size_t i = 0; root->kind == UDPAI_TREE_MAP && i < UDPAI_ARRAY_LEN(fields); i++) {
        const udpai_entry *outer = udpai_tree_find(root, udpai_str_from(fields[i].outer));
        bool is_map = outer && outer->value->kind == UDPAI_TREE_MAP;
        if (outer && (!fields[i].inner ||
                      (is_map && udpai_tree_find(outer->value, udpai_str_from(fields[i].inner)))))
            return fields[i].path;
    }
    return NULL;
}

static udpa_err
read_root(udpai_bootstrap *bootstrap,
          const udpai_schema *schema,
          const udpai_source *source,
          udpai_diagnostics *diagnostics,
          udpa_error **ret_error)
{
    const char *path = envoy_field(diagnostics->documents->roots.items[0]);
    if (!path)
        return convert(bootstrap, schema, source, diagnostics, ret_error);
    udpai_diagnostics_error(diagnostics, path,
                            "this is the bootstrap of an Envoy, not of udpad: give udpad a file of "
                            "its own, see udpad.conf(5)");
    return UDPA_ERR_INVAL;
}

static udpa_err
read_document(udpai_bootstrap *bootstrap,
              const udpai_schema *schema,
              const udpai_source *source,
              udpai_diagnostics *diagnostics,
              udpa_error **ret_error)
{
    udpa_error *error = NULL;
    udpa_err err = udpai_documents_read(&diagnostics->documents, source, &error);
    if (err != UDPA_OK) {
        udpai_diagnostics_add(diagnostics, error);
        return err;
    }
    size_t n = diagnostics->documents->roots.n;
    if (n == 0)
        return udpai_bootstrap_empty(bootstrap, ret_error);
    if (n == 1)
        return read_root(bootstrap, schema, source, diagnostics, ret_error);
    udpai_diagnostics_error(diagnostics, "", "%zu documents, where one is expected", n);
    return UDPA_ERR_INVAL;
}

udpa_err
udpai_bootstrap_read(udpai_bootstrap *ret_bootstrap,
                     const udpai_schema *schema,
                     const char *path,
                     udpai_diagnostics *diagnostics,
                     udpa_error **ret_error)
{
    udpai_strbuf text = {0};
    udpa_err err = read_file(path, &text, ret_error);
    if (err == UDPA_OK) {
        const udpai_source source = {
            .name = path, .text = udpai_strbuf_view(&text), .format = format_of(path)};
        diagnostics->source_name = path;
        err = read_document(ret_bootstrap, schema, &source, diagnostics, ret_error);
    }
    udpai_strbuf_done(&text);
    return err;
}
