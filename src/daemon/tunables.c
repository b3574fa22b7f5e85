/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/tunables.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "codec/suggest.h"
#include "transport/file/origin.h"

#define LOG_LEVELS "udpa.log.levels."
#define DAY_MS ((uint64_t)24 * 3600 * 1000)
#define COUNT_MAX UINT32_MAX
#define BYTES_MAX ((uint64_t)1 << 50)

typedef enum switch_kind {
    LEVEL,
    TRUTH,
    MODE,
    SIZE,   /* size_t */
    NUMBER, /* uint64_t */
} switch_kind;

#define AT(field) offsetof(udpai_tunables, field)
#define TIME(name, least)                                                                          \
    {                                                                                              \
        "udpa.timing." #name, NUMBER, AT(timing.name), least, DAY_MS                               \
    }
#define COUNT(name, field)                                                                         \
    {                                                                                              \
        "udpa.limits." name, SIZE, AT(field), 1, COUNT_MAX                                         \
    }
#define BYTES(name, field)                                                                         \
    {                                                                                              \
        "udpa.limits." name, NUMBER, AT(field), 1, BYTES_MAX                                       \
    }

static const struct known {
    const char *key;
    switch_kind kind;
    size_t offset;
    uint64_t least, most; /* of numbers */
} all[] = {
    {"udpa.log.level", LEVEL, AT(log_level), 0, 0},
    {"udpa.acl.dry_run", TRUTH, AT(acl_dry_run), 0, 0},
    {"udpa.validation.mode", MODE, AT(validation), 0, 0},
    {"udpa.files.quiet_ms", NUMBER, AT(files_quiet_ms), 1, 60000},
    {"udpa.drain.timeout_ms", NUMBER, AT(drain_timeout_ms), 1, DAY_MS},
    COUNT("max_streams", max_streams),
    COUNT("max_streams_per_identity", max_streams_per_identity),
    COUNT("max_names_per_stream", fanout.max_names),
    COUNT("max_views", fanout.max_views),
    COUNT("max_views_per_identity", fanout.max_views_per_owner),
    COUNT("max_resources", store.max_resources),
    BYTES("max_bytes", store.max_bytes),
    COUNT("max_resources_per_namespace", store.max_resources_per_namespace),
    BYTES("max_bytes_per_namespace", store.max_bytes_per_namespace),
    COUNT("max_resources_per_publisher", store.max_resources_per_publisher),
    BYTES("max_bytes_per_publisher", store.max_bytes_per_publisher),
    COUNT("max_publishers_per_name", store.max_publishers_per_name),
    TIME(connect_grace_ms, 1),
    TIME(sync_timeout_ms, 1),
    {"udpa.timing.cycle_timeout_ms", NUMBER, AT(fanout.cycle_timeout_ms), 1, DAY_MS},
    {"udpa.timing.first_answer_timeout_ms", NUMBER, AT(fanout.first_answer_timeout_ms), 0, DAY_MS},
    TIME(fail_back_delay_ms, 1),
    TIME(backoff_base_ms, 20),
    TIME(backoff_max_ms, 20),
    TIME(interest_linger_ms, 1),
    TIME(fail_over_spread_ms, 0),
    TIME(recover_timeout_ms, 1),
};

static const char *const modes[] = {
    [UDPAI_POLICY_REFUSE] = "refuse",
    [UDPAI_POLICY_WARN] = "warn",
    [UDPAI_POLICY_OFF] = "off",
};

/* ---- as in the bootstrap file ---- */

static size_t
or_default(size_t value, size_t otherwise)
{
    return value ? value : otherwise;
}

void
udpai_tunables_init(udpai_tunables *switches, const udpai_plan *plan)
{
    const udpai_endpoint_settings *settings = &plan->settings;
    const udpai_acl *acl = settings->node.acl;
    *switches = (udpai_tunables){
        .log_level = plan->log_level,
        .acl_dry_run = acl && udpai_acl_settings(acl)->is_dry_run,
        .validation = UDPAI_POLICY_REFUSE,
        .max_streams = or_default(settings->limits.max_streams, UDPAI_MAX_STREAMS),
        .max_streams_per_identity =
            or_default(settings->limits.max_streams_per_identity, UDPAI_MAX_STREAMS_PER_IDENTITY),
        .max_message_bytes = settings->limits.max_message_bytes,
        .max_source_message_bytes = settings->limits.max_source_message_bytes,
        .max_groups = plan->xds.groups.max,
        .max_groups_of_identity = plan->xds.groups.max_of_identity,
        .max_clients = settings->node.max_clients,
        .max_stream_age_ms = settings->timing.max_stream_age_ms,
        .debounce = settings->debounce,
        .drain_timeout_ms = or_default(settings->timing.finish_timeout_ms, UDPAI_FINISH_TIMEOUT_MS),
        .files_quiet_ms = UDPAI_FILE_QUIET_MS_DEFAULT,
        .timing = settings->node.timing,
        .store = settings->node.store,
        .fanout = settings->fanout,
    };
}

/* ---- complaints ---- */

typedef struct reading {
    udpai_tunables *switches;
    const udpai_runtime_snapshot *snapshot;
    udpai_tunables_complain_fn complain;
    void *userdata;
} reading;

static void complain_of(const reading *self, udpai_str key, const char *format, ...)
    UDPA_PRINTF(3, 4);

static void
complain_of(const reading *self, udpai_str key, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    self->complain(self->userdata, key, line);
}

static void
complain_of_value(const reading *self, const udpai_runtime_entry *entry, const char *expected)
{
    udpai_str key = udpai_runtime_entry_key(entry);
    complain_of(self, key, "%.*s: '%.*s' is ignored: not %s", UDPAI_SHOWN(key),
                UDPAI_SHOWN(entry->value.text), expected);
}

static void
complain_of_key(const reading *self, const udpai_runtime_entry *entry)
{
    char room[UDPAI_SUGGESTION_TEXT];
    udpai_str key = udpai_runtime_entry_key(entry);
    udpai_suggestion suggestion = udpai_suggest(key);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(all); i++)
        udpai_suggest_offer(&suggestion, all[i].key);
    complain_of(self, key, "%.*s is ignored: no setting of a node has this key%s", UDPAI_SHOWN(key),
                udpai_suggestion_text(&suggestion, room));
}

/* ---- one value ---- */

static bool
take_level(udpai_str text, udpa_log_level *ret_level)
{
    char word[16];
    if (text.len >= sizeof(word))
        return false;
    if (text.len)
        memcpy(word, text.data, text.len);
    word[text.len] = '\0';
    return udpai_plan_log_level(word, ret_level, NULL) == UDPA_OK;
}

static bool
take_mode(udpai_str text, udpai_policy_mode *ret_mode)
{
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(modes); i++)
        if (udpai_str_eq(text, udpai_str_from(modes[i]))) {
            *ret_mode = (udpai_policy_mode)i;
            return true;
        }
    return false;
}

static void
take_number(const reading *self,
            const struct known *known,
            const udpai_runtime_entry *entry,
            void *place)
{
    char expected[80];
    uint64_t number = entry->value.integer;
    if (!entry->value.has_integer || number < known->least || number > known->most) {
        snprintf(expected, sizeof(expected), "a number from %" PRIu64 " to %" PRIu64, known->least,
                 known->most);
        complain_of_value(self, entry, expected);
    } else if (known->kind == SIZE) {
        *(size_t *)place = (size_t)number;
    } else {
        *(uint64_t *)place = number;
    }
}

static void
take(const reading *self, const struct known *known, const udpai_runtime_entry *entry)
{
    void *place = (char *)self->switches + known->offset;
    const udpai_runtime_value *value = &entry->value;
    switch (known->kind) {
    case LEVEL:
        if (!take_level(value->text, place))
            complain_of_value(self, entry, "one of debug, info, warning, error");
        break;
    case TRUTH:
        if (value->has_truth)
            *(bool *)place = value->truth;
        else
            complain_of_value(self, entry, "true or false");
        break;
    case MODE:
        if (!take_mode(value->text, place))
            complain_of_value(self, entry, "one of refuse, warn, off");
        break;
    default:
        take_number(self, known, entry, place);
        break;
    }
}

static void
take_component(const reading *self, const udpai_runtime_entry *entry)
{
    udpai_tunables *switches = self->switches;
    size_t len = sizeof(LOG_LEVELS) - 1;
    udpai_str component = {entry->key + len, entry->key_len - len};
    udpai_log_component_level one = {.level = UDPA_LOG_INFO};
    if (component.len == 0 || component.len >= sizeof(one.component) ||
        switches->n_log_levels == UDPAI_LOG_COMPONENTS_MAX) {
        complain_of(self, udpai_runtime_entry_key(entry),
                    "%.*s is ignored: there are at most %d components, with names of at "
                    "most %d characters",
                    UDPAI_SHOWN(udpai_runtime_entry_key(entry)), UDPAI_LOG_COMPONENTS_MAX,
                    UDPAI_LOG_COMPONENT_MAX - 1);
        return;
    }
    memcpy(one.component, component.data, component.len);
    if (take_level(entry->value.text, &one.level))
        switches->log_levels[switches->n_log_levels++] = one;
    else
        complain_of_value(self, entry, "one of debug, info, warning, error");
}

/* A key of the release before is read for one more. */
static udpai_str
present_key(const reading *self, udpai_str key)
{
    static const char former[] = "udpa.timing.hand_back_delay_ms";
    static const char now[] = "udpa.timing.fail_back_delay_ms";
    if (!udpai_str_eq(key, udpai_str_from(former)))
        return key;
    complain_of(self, key,
                "%s is called %s now: the next release does not read the former name any more",
                former, now);
    return udpai_str_from(now);
}

static void
take_entry(const reading *self, const udpai_runtime_entry *entry)
{
    udpai_str key = present_key(self, udpai_runtime_entry_key(entry));
    if (entry->value.text.len == 0)
        return;
    if (udpai_str_starts(key, UDPAI_STR(LOG_LEVELS))) {
        take_component(self, entry);
        return;
    }
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(all); i++)
        if (udpai_str_eq(key, udpai_str_from(all[i].key))) {
            take(self, &all[i], entry);
            return;
        }
    complain_of_key(self, entry);
}

/* ---- all of them ---- */

/* One complaint for each of the two that the runtime has: either can be the wrong one. */
static void
complain_of_two(const reading *self,
                const char *low,
                uint64_t low_ms,
                const char *relation,
                const char *high,
                uint64_t high_ms)
{
    const char *const keys[] = {low, high};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(keys); i++)
        if (udpai_runtime_snapshot_find(self->snapshot, udpai_str_from(keys[i])))
            complain_of(self, udpai_str_from(keys[i]),
                        "%s is ignored: %s, %" PRIu64 ", %s %s, %" PRIu64, keys[i], low, low_ms,
                        relation, high, high_ms);
}

/* As the bootstrap file has it they go together. */
static void
keep_together(const reading *self, const udpai_tunables *before)
{
    udpai_tunables *now = self->switches;
    if (now->timing.backoff_base_ms > now->timing.backoff_max_ms) {
        complain_of_two(self, "udpa.timing.backoff_base_ms", now->timing.backoff_base_ms,
                        "is above", "udpa.timing.backoff_max_ms", now->timing.backoff_max_ms);
        now->timing.backoff_base_ms = before->timing.backoff_base_ms;
        now->timing.backoff_max_ms = before->timing.backoff_max_ms;
    }
    if (now->timing.sync_timeout_ms >= now->fanout.cycle_timeout_ms) {
        complain_of_two(self, "udpa.timing.sync_timeout_ms", now->timing.sync_timeout_ms,
                        "is not below", "udpa.timing.cycle_timeout_ms",
                        now->fanout.cycle_timeout_ms);
        now->timing.sync_timeout_ms = before->timing.sync_timeout_ms;
        now->fanout.cycle_timeout_ms = before->fanout.cycle_timeout_ms;
    }
}

udpa_err
udpai_tunables_read(udpai_tunables *switches,
                    const udpai_runtime_snapshot *snapshot,
                    udpai_tunables_complain_fn complain,
                    void *userdata)
{
    const reading self = {switches, snapshot, complain, userdata};
    const udpai_tunables before = *switches;
    size_t n = 0;
    const udpai_runtime_entry **sorted =
        udpai_runtime_snapshot_sorted(snapshot, UDPAI_STR(UDPAI_SWITCHES_PREFIX), &n);
    if (!sorted)
        return UDPA_ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        take_entry(&self, sorted[i]);
    udpai_free(sorted);
    keep_together(&self, &before);
    udpai_plan_raise_held(&switches->fanout, switches->store.max_resources_per_namespace);
    return UDPA_OK;
}

/* ---- reporting them ---- */

static void
put_value(const struct known *known, const void *place, udpai_strbuf *line)
{
    if (known->kind == LEVEL)
        udpai_strbuf_puts(line, udpa_log_level_name(*(const udpa_log_level *)place));
    else if (known->kind == TRUTH)
        udpai_strbuf_puts(line, *(const bool *)place ? "true" : "false");
    else if (known->kind == MODE)
        udpai_strbuf_puts(line, modes[*(const udpai_policy_mode *)place]);
    else if (known->kind == SIZE)
        udpai_strbuf_printf(line, "%zu", *(const size_t *)place);
    else
        udpai_strbuf_printf(line, "%" PRIu64, *(const uint64_t *)place);
}

void
udpai_tunables_report_changes(const udpai_tunables *before,
                              const udpai_tunables *now,
                              void (*report_line)(void *userdata, const char *line),
                              void *userdata)
{
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(all); i++) {
        udpai_strbuf line = {0}, old = {0};
        put_value(&all[i], (const char *)before + all[i].offset, &old);
        put_value(&all[i], (const char *)now + all[i].offset, &line);
        bool has_changed = !udpai_str_eq(udpai_strbuf_view(&old), udpai_strbuf_view(&line));
        udpai_strbuf_done(&old);
        old = line;
        line = (udpai_strbuf){0};
        udpai_strbuf_printf(&line, "%s is %s now", all[i].key, old.data ? old.data : "");
        if (has_changed && !udpai_strbuf_failed(&line))
            report_line(userdata, line.data);
        udpai_strbuf_done(&old);
        udpai_strbuf_done(&line);
    }
}

/* ---- between processes ---- */

/* What is longer is nothing that a node goes by. */
#define TEXT_MAX 255

static void
put_short(udpai_str text, udpai_strbuf *bytes)
{
    udpai_strbuf_putc(bytes, (char)text.len);
    udpai_strbuf_str(bytes, text);
}

void
udpai_tunables_encode(const udpai_runtime_snapshot *snapshot, udpai_strbuf *bytes)
{
    size_t n = 0;
    const udpai_runtime_entry **sorted =
        udpai_runtime_snapshot_sorted(snapshot, UDPAI_STR(UDPAI_SWITCHES_PREFIX), &n);
    bytes->failed |= !sorted;
    for (size_t i = 0; sorted && i < n; i++) {
        udpai_str key = udpai_runtime_entry_key(sorted[i]), value = sorted[i]->value.text;
        if (key.len > TEXT_MAX || value.len > TEXT_MAX)
            continue;
        put_short(key, bytes);
        put_short(value, bytes);
    }
    udpai_free(sorted);
}

static bool
take_short(udpai_str *rest, udpai_str *ret_text)
{
    size_t len = rest->len ? (unsigned char)rest->data[0] : 0;
    if (rest->len < 1 + len)
        return false;
    *ret_text = (udpai_str){rest->data + 1, len};
    *rest = (udpai_str){rest->data + 1 + len, rest->len - 1 - len};
    return true;
}

udpa_err
udpai_tunables_decode(udpai_str bytes, udpai_runtime_snapshot **ret_snapshot)
{
    udpai_str key, text;
    udpai_runtime_layer *layer = udpai_runtime_layer_new(UDPAI_STR("node"));
    udpa_err err = layer ? UDPA_OK : UDPA_ERR_NOMEM;
    while (bytes.len && !err) {
        if (!take_short(&bytes, &key) || !take_short(&bytes, &text)) {
            err = UDPA_ERR_MALFORMED;
            break;
        }
        udpai_runtime_value value = udpai_runtime_value_read(text);
        err = udpai_runtime_layer_put(layer, key, &value, NULL);
        err = err && err != UDPA_ERR_NOMEM ? UDPA_ERR_MALFORMED : err;
    }
    udpai_runtime_snapshot *snapshot = err ? NULL : udpai_runtime_snapshot_new(&layer, 1);
    udpai_runtime_layer_unref(layer);
    if (snapshot)
        *ret_snapshot = snapshot;
    return err ? err : snapshot ? UDPA_OK : UDPA_ERR_NOMEM;
}

/* ---- using them ---- */

bool
udpai_tunables_same_log(const udpai_tunables *a, const udpai_tunables *b)
{
    bool is_same = a->log_level == b->log_level && a->n_log_levels == b->n_log_levels;
    for (size_t i = 0; is_same && i < a->n_log_levels; i++)
        is_same = a->log_levels[i].level == b->log_levels[i].level &&
                  strcmp(a->log_levels[i].component, b->log_levels[i].component) == 0;
    return is_same;
}

void
udpai_tunables_apply_log(const udpai_tunables *switches)
{
    udpai_log_set_threshold(switches->log_level, switches->log_levels, switches->n_log_levels);
}

udpai_stream_switches
udpai_tunables_of_streams(const udpai_tunables *switches)
{
    return (udpai_stream_switches){
        .max_streams = switches->max_streams,
        .max_streams_per_identity = switches->max_streams_per_identity,
        .max_message_bytes = switches->max_message_bytes,
        .max_source_message_bytes = switches->max_source_message_bytes,
        .finish_timeout_ms = switches->drain_timeout_ms,
        .max_stream_age_ms = switches->max_stream_age_ms,
        .debounce = switches->debounce,
        .fanout = switches->fanout,
    };
}
