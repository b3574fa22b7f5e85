/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/runtime_pages.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/percent.h"
#include "codec/json_text.h"
#include "daemon/page_body.h"
#include "daemon/tunables.h"

/* ---- values ---- */

static void
put_layer_names(const udpai_runtime_snapshot *now, udpai_strbuf *text)
{
    size_t n = udpai_runtime_snapshot_n_layers(now);
    udpai_strbuf_puts(text, "{\n \"layers\": [");
    for (size_t i = 0; i < n; i++) {
        udpai_strbuf_puts(text, i ? ", " : "");
        udpai_json_put_string(text, udpai_runtime_layer_name(udpai_runtime_snapshot_layer(now, i)));
    }
    udpai_strbuf_puts(text, "],\n");
}

static void
put_errors(const udpai_runtime *runtime, udpai_strbuf *text)
{
    size_t n = 0;
    udpai_strbuf_puts(text, " \"errors\": {");
    for (size_t i = 0; i < runtime->n_slots; i++) {
        const udpa_error *error = udpai_runtime_layer_error(runtime, i);
        if (!error)
            continue;
        udpai_strbuf_puts(text, n++ ? ", " : "");
        udpai_json_put_string(text, udpai_runtime_layer_name_at(runtime, i));
        udpai_strbuf_puts(text, ": ");
        udpai_json_put_string(text, udpai_str_from(udpa_error_message(error)));
    }
    udpai_strbuf_puts(text, "},\n");
}

/* By the names that the bootstrap file has for them. */
static const char *
kind_word(udpai_runtime_layer_kind kind)
{
    static const char *const words[] = {
        [UDPAI_RUNTIME_STATIC] = "static_layer",
        [UDPAI_RUNTIME_DISK] = "disk_layer",
        [UDPAI_RUNTIME_ADMIN] = "admin_layer",
        [UDPAI_RUNTIME_RTDS] = "rtds_layer",
    };

    return words[kind];
}

static void
put_configured(const udpai_runtime *runtime, udpai_strbuf *text)
{
    udpai_strbuf_puts(text, " \"configured\": [");
    for (size_t i = 0; i < runtime->n_slots; i++) {
        const udpai_runtime_layer *layer = udpai_runtime_layer_at(runtime, i);
        udpai_strbuf_puts(text, i ? ",\n  {\"name\": " : "\n  {\"name\": ");
        udpai_json_put_string(text, udpai_runtime_layer_name_at(runtime, i));
        udpai_strbuf_printf(text, ", \"kind\": \"%s\", \"in_use\": %s, \"keys\": %zu}",
                            kind_word(udpai_runtime_layer_kind_at(runtime, i)),
                            layer ? "true" : "false",
                            layer ? udpai_runtime_layer_entries(layer)->n : 0);
    }
    udpai_strbuf_puts(text, "\n ],\n");
}

typedef struct ignored_list {
    udpai_strbuf *text;
    size_t n;
} ignored_list;

static void
put_one_ignored(void *userdata, udpai_str key, const char *line)
{
    ignored_list *list = userdata;
    udpai_strbuf_puts(list->text, list->n++ ? ",\n  " : "\n  ");
    udpai_json_put_string(list->text, key);
    udpai_strbuf_puts(list->text, ": ");
    udpai_json_put_string(list->text, udpai_str_from(line));
}

static void
put_ignored(const udpai_runtime_snapshot *now, const udpai_plan *plan, udpai_strbuf *text)
{
    ignored_list list = {.text = text};
    udpai_tunables switches;
    udpai_tunables_init(&switches, plan);
    udpai_strbuf_puts(text, " \"ignored\": {");
    text->failed |= udpai_tunables_read(&switches, now, put_one_ignored, &list) != UDPA_OK;
    udpai_strbuf_puts(text, list.n ? "\n },\n" : "},\n");
}

static void
put_entry(const udpai_runtime_snapshot *now, const udpai_runtime_entry *entry, udpai_strbuf *text)
{
    size_t n = udpai_runtime_snapshot_n_layers(now);
    udpai_strbuf_puts(text, "  ");
    udpai_json_put_string(text, udpai_runtime_entry_key(entry));
    udpai_strbuf_puts(text, ": {\n   \"final_value\": ");
    udpai_json_put_string(text, entry->value.text);
    udpai_strbuf_puts(text, ",\n   \"layer_values\": [");
    for (size_t i = 0; i < n; i++) {
        const udpai_runtime_layer *layer = udpai_runtime_snapshot_layer(now, i);
        const udpai_runtime_entry *own =
            udpai_map_get(udpai_runtime_layer_entries(layer), udpai_runtime_entry_key(entry));
        udpai_strbuf_puts(text, i ? ", " : "");
        udpai_json_put_string(text, own ? own->value.text : UDPAI_STR(""));
    }
    udpai_strbuf_puts(text, "]\n  }");
}

void
udpai_runtime_page(const udpai_runtime *runtime, const udpai_plan *plan, udpai_strbuf *text)
{
    udpai_runtime_snapshot *now =
        udpai_runtime_current_take((udpai_runtime_current *)(uintptr_t)&runtime->current);
    size_t n = 0;
    const udpai_runtime_entry **all = udpai_runtime_snapshot_sorted(now, UDPAI_STR(""), &n);
    put_layer_names(now, text);
    put_errors(runtime, text);
    put_configured(runtime, text);
    if (plan)
        put_ignored(now, plan, text);
    udpai_strbuf_puts(text, " \"entries\": {");
    for (size_t i = 0; all && i < n; i++) {
        udpai_strbuf_puts(text, i ? ",\n" : "\n");
        put_entry(now, all[i], text);
    }
    udpai_strbuf_puts(text, n ? "\n }\n}\n" : "}\n}\n");
    text->failed |= !all;
    udpai_free(all);
    udpai_runtime_snapshot_unref(now);
}

/* ---- statistics ---- */

typedef struct statistic {
    const char *name;
    bool is_gauge;
    size_t offset;
} statistic;

#define GAUGE(field)                                                                               \
    {                                                                                              \
#field, true, offsetof(udpai_runtime_statistics, field)                                    \
    }
#define COUNTER(field)                                                                             \
    {                                                                                              \
#field, false, offsetof(udpai_runtime_statistics, field)                                   \
    }

static const statistic statistics[] = {
    GAUGE(admin_overrides_active),
    GAUGE(deprecated_feature_seen_since_process_start),
    COUNTER(deprecated_feature_use),
    COUNTER(load_error),
    COUNTER(load_success),
    GAUGE(num_keys),
    GAUGE(num_layers),
    COUNTER(override_dir_exists),
    COUNTER(override_dir_not_exists),
};

static uint64_t
value_of(const udpai_runtime_statistics *from, const statistic *which)
{
    uint64_t value;
    memcpy(&value, (const char *)from + which->offset, sizeof(value));
    return value;
}

void
udpai_runtime_stats_page(const udpai_runtime_statistics *from, udpai_strbuf *text)
{
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(statistics); i++)
        udpai_strbuf_printf(text, "runtime.%s: %" PRIu64 "\n", statistics[i].name,
                            value_of(from, &statistics[i]));
}

void
udpai_runtime_prometheus_page(const udpai_runtime_statistics *from, udpai_strbuf *text)
{
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(statistics); i++)
        udpai_strbuf_printf(text, "# TYPE udpa_runtime_%s %s\nudpa_runtime_%s %" PRIu64 "\n",
                            statistics[i].name, statistics[i].is_gauge ? "gauge" : "counter",
                            statistics[i].name, value_of(from, &statistics[i]));
}

/* ---- changes ---- */

/* Decodes into the room, which has as many bytes as the text. False: it is malformed. */
static bool
decode(udpai_str text, char *room, udpai_str *ret_decoded)
{
    for (size_t i = 0; i < text.len; i++)
        room[i] = text.data[i] == '+' ? ' ' : text.data[i];
    return udpai_percent_decode((udpai_str){room, text.len}, &room, ret_decoded);
}

static udpa_err
read_change(udpai_str part, char *room, udpai_runtime_change *change, udpa_error **ret_error)
{
    udpai_str key, value = part;
    if (!udpai_str_cut(&value, '=', &key)) {
        key = part;
        value = (udpai_str){0};
    }
    if (!decode(key, room, &change->key) || !decode(value, room + key.len, &change->value))
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "%.*s is not percent-encoded",
                          UDPAI_SHOWN(part));
    return UDPA_OK;
}

static udpa_err
read_changes(udpai_str form,
             char *room,
             udpai_runtime_change *changes,
             size_t *ret_n,
             udpa_error **ret_error)
{
    udpai_str rest = form, part;
    bool has_more;
    *ret_n = 0;
    do {
        has_more = udpai_page_form_next(&rest, &part);
        if (part.len == 0)
            continue;
        if (*ret_n == UDPAI_RUNTIME_CHANGES_MAX)
            return udpai_fail(ret_error, UDPA_ERR_LIMIT, "there are more than %d changes",
                              UDPAI_RUNTIME_CHANGES_MAX);
        udpa_err err =
            read_change(part, room + (part.data - form.data), &changes[*ret_n], ret_error);
        if (err)
            return err;
        ++*ret_n;
    } while (has_more);
    return *ret_n
               ? UDPA_OK
               : udpai_fail(ret_error, UDPA_ERR_INVAL,
                            "usage: /runtime_modify?key1=value1&key2=value2, or a JSON object as "
                            "the body; an empty value removes what was set");
}

udpa_err
udpai_runtime_modify_page(udpai_runtime *runtime, udpai_str form, udpa_error **ret_error)
{
    size_t n;
    UDPAI_AUTO_FREE char *room = udpai_alloc(form.len);
    UDPAI_AUTO_FREE udpai_runtime_change *changes =
        udpai_alloc_array(UDPAI_RUNTIME_CHANGES_MAX, sizeof(*changes));
    if (!room || !changes)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    udpa_err err = read_changes(form, room, changes, &n, ret_error);
    return err ? err : udpai_runtime_modify(runtime, changes, n, ret_error);
}
