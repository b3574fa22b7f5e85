/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/bootstrap.h"

#include <errno.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/strbuf.h"
#include "codec/resource_file.h"
#include "loop/clock.h"

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

udpa_bytes *
udpai_bootstrap_pack(const Udpa__Config__V1__Bootstrap *message)
{
    uint8_t *room;
    udpa_bytes *bytes =
        udpai_bytes_make(udpa__config__v1__bootstrap__get_packed_size(message), &room);
    if (bytes)
        udpa__config__v1__bootstrap__pack(message, room);
    return bytes;
}

udpa_err
udpai_bootstrap_unpack(udpai_bootstrap *ret_bootstrap, udpai_str bytes)
{
    ret_bootstrap->message =
        udpa__config__v1__bootstrap__unpack(NULL, bytes.len, (const uint8_t *)bytes.data);
    return ret_bootstrap->message ? UDPA_OK : UDPA_ERR_MALFORMED;
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
        {"admin", "address", "admin.address"},
        {"admin", "access_log", "admin.access_log"},
        {"admin", "accessLog", "admin.access_log"},
        {"admin", "access_log_path", "admin.access_log_path"},
        {"admin", "accessLogPath", "admin.access_log_path"},
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

/* ---- former keys ---- */

/* Keys that had another name in the release before, and are read by that in this one. */
struct former_key {
    const char *section, *former, *now;
};

static const struct former_key former_keys[] = {
    {"timing", "hand_back_delay", "fail_back_delay"},
    {"static_resources.config_sources", "stand_in", "standby_for"},
};

static void
rename_key(const udpai_tree *map,
           const struct former_key *key,
           const char *path,
           udpai_diagnostics *to)
{
    char field[UDPAI_FIELD_PATH_MAX];
    const udpai_entry *entry = udpai_tree_find_field(map, udpai_str_from(key->former));
    if (!entry)
        return;
    if (udpai_tree_find_field(map, udpai_str_from(key->now))) {
        udpai_diagnostics_error(to, udpai_path_field(field, path, key->now),
                                "'%s' is the former name of it: take that out",
                                entry->key->text.data);
        return;
    }
    const char *written = entry->key->text.data;
    udpai_tree_rename(entry, key->now);
    udpai_diagnostics_warn(to, udpai_path_field(field, path, key->now),
                           "'%s' is called '%s' now: the next release does not read the former "
                           "name any more",
                           written, key->now);
}

static const udpai_tree *
section_of(const udpai_tree *root, const char *path)
{
    udpai_str rest = udpai_str_from(path);
    while (root && rest.len) {
        const char *dot = memchr(rest.data, '.', rest.len);
        udpai_str name = {rest.data, dot ? (size_t)(dot - rest.data) : rest.len};
        const udpai_entry *entry =
            root->kind == UDPAI_TREE_MAP ? udpai_tree_find_field(root, name) : NULL;
        root = entry ? entry->value : NULL;
        size_t n = name.len + (dot != NULL);
        rest = (udpai_str){rest.data + n, rest.len - n};
    }
    return root;
}

static void
rename_former_keys(const udpai_tree *root, udpai_diagnostics *to)
{
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(former_keys); i++) {
        char path[UDPAI_FIELD_PATH_MAX];
        const struct former_key *key = &former_keys[i];
        const udpai_tree *section = section_of(root, key->section);
        if (section && section->kind == UDPAI_TREE_MAP)
            rename_key(section, key, key->section, to);
        for (uint32_t k = 0; section && section->kind == UDPAI_TREE_LIST && k < section->n; k++)
            if (section->items[k]->kind == UDPAI_TREE_MAP)
                rename_key(section->items[k], key, udpai_path_item(path, key->section, k), to);
    }
}

static udpa_err
read_root(udpai_bootstrap *bootstrap,
          const udpai_schema *schema,
          const udpai_source *source,
          udpai_diagnostics *diagnostics,
          udpa_error **ret_error)
{
    const udpai_tree *root = diagnostics->documents->roots.items[0];
    const char *path = envoy_field(root);
    if (!path)
        rename_former_keys(root, diagnostics);
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
    ret_bootstrap->read_us = udpai_wall_us();
    if (err == UDPA_OK && !udpai_audit_line_hash(udpai_strbuf_view(&text), ret_bootstrap->sha256))
        err = udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    if (err == UDPA_OK) {
        const udpai_source source = {
            .name = path, .text = udpai_strbuf_view(&text), .format = format_of(path)};
        diagnostics->source_name = path;
        err = read_document(ret_bootstrap, schema, &source, diagnostics, ret_error);
    }
    udpai_strbuf_done(&text);
    return err;
}
