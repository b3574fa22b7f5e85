/* SPDX-License-Identifier: Apache-2.0 */
#include "csds_test.h"

#include <stdio.h>

#include "base/strbuf.h"
#include "tests/harness/sink_stream.h"

#define KNOWN_MAX 32

static struct {
    char hash[UDPAI_CONTENT_HASH_HEX + 1], content[32];
} known[KNOWN_MAX];

static size_t n_known;

void
csds_open(csds_asker *asker, xds_world *world, bool is_fetch)
{
    const udpai_csds csds = asker->csds; /* a test may have filled it in */
    memset(asker, 0, sizeof(*asker));
    asker->world = world;
    asker->csds = csds;
    asker->method = (udpai_csds_method){&asker->csds, is_fetch};
    const udpai_stream_info info = {.context = &asker->method};
    fake_stream_open(&asker->stream, &world->hub, udpai_csds_session_new, &info);
}

void
csds_close(csds_asker *asker)
{
    fake_stream_close(&asker->stream);
}

void
csds_send(csds_asker *asker, const csds_request *request)
{
    size_t size = protobuf_c_message_get_packed_size(&request->base);
    uint8_t *bytes = malloc(size ? size : 1);
    assert_non_null(bytes);
    protobuf_c_message_pack(&request->base, bytes);
    fake_stream_receive(&asker->stream, bytes, size);
    free(bytes);
}

void
csds_know(const char *resource)
{
    assert_true(n_known < KNOWN_MAX);
    const char *content = strchr(resource, '=');
    assert_non_null(content);
    snprintf(known[n_known].content, sizeof(known[n_known].content), "%.*s",
             (int)strcspn(content, "#@^"), content);
    xds_hash(resource, known[n_known++].hash);
}

/* ---- showing ---- */

static const char *
version_of(const char *version)
{
    for (size_t i = 0; i < n_known; i++)
        if (strcmp(known[i].hash, version) == 0)
            return known[i].content;
    return version;
}

static const char *
short_type(const char *type_url)
{
    return strrchr(type_url, '.') + 1;
}

static const char *
enum_name(const ProtobufCEnumDescriptor *type, int value)
{
    const ProtobufCEnumValue *found = protobuf_c_enum_descriptor_get_value(type, value);
    return found ? found->name : "?";
}

typedef Envoy__Service__Status__V3__ClientConfig__GenericXdsConfig entry_message;

static char *
show_entry(const entry_message *entry)
{
    udpai_strbuf out = {0};
    udpai_strbuf_printf(&out, "%s %s %s/%s", short_type(entry->type_url), entry->name,
                        enum_name(&envoy__service__status__v3__config_status__descriptor,
                                  (int)entry->config_status),
                        enum_name(&envoy__admin__v3__client_resource_status__descriptor,
                                  (int)entry->client_status));
    if (*entry->version_info)
        udpai_strbuf_printf(&out, " %s", version_of(entry->version_info));
    if (entry->xds_config) {
        assert_string_equal(entry->xds_config->type_url, entry->type_url);
        udpai_strbuf_printf(&out, " +%zu", entry->xds_config->value.len);
    }
    if (entry->error_state) {
        bool is_held = entry->config_status == ENVOY__SERVICE__STATUS__V3__CONFIG_STATUS__NOT_SENT;
        assert_int_equal(entry->error_state->last_update_attempt != NULL, !is_held);
        udpai_strbuf_printf(&out, " !%s'%s'", version_of(entry->error_state->version_info),
                            entry->error_state->details);
        if (entry->error_state->failed_configuration)
            udpai_strbuf_puts(&out, "+");
    }
    char *text = udpai_strbuf_take(&out);
    assert_non_null(text);
    return text;
}

static int
compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts, joins and frees the texts. */
static char *
join(char **texts, size_t n, const char *between)
{
    udpai_strbuf out = {0};
    if (n > 1)
        qsort(texts, n, sizeof(*texts), compare);
    for (size_t i = 0; i < n; udpai_free(texts[i++]))
        udpai_strbuf_printf(&out, "%s%s", i ? between : "", texts[i]);
    udpai_strbuf_puts(&out, "");
    char *text = udpai_strbuf_take(&out);
    assert_non_null(text);
    return text;
}

static char *
show_config(const csds_config *config)
{
    size_t n = config->n_generic_xds_configs;
    char **texts = calloc(n + 1, sizeof(*texts));
    assert_non_null(texts);
    for (size_t i = 0; i < n; i++)
        texts[i] = show_entry(config->generic_xds_configs[i]);
    char *entries = join(texts, n, "; ");
    udpai_strbuf out = {0};
    udpai_strbuf_printf(&out, "%s%s%s{%s}", config->node ? config->node->id : "?",
                        *config->client_scope ? "@" : "", config->client_scope, entries);
    udpai_free(entries);
    free(texts);
    return udpai_strbuf_take(&out);
}

/* ---- taking ---- */

typedef UDPAI_VECTOR(char *) text_list;

static void
take_response(csds_asker *asker, udpa_bytes *message, text_list *texts)
{
    size_t size = udpa_bytes_size(message);
    csds_response *response = envoy__service__status__v3__client_status_response__unpack(
        NULL, size, udpa_bytes_data(message));
    assert_non_null(response);
    asker->n_responses++;
    asker->n_bytes += size;
    asker->largest = udpai_max_size(asker->largest, size);
    asker->n_configs += response->n_config;
    for (size_t i = 0; i < response->n_config; i++)
        asker->n_entries += response->config[i]->n_generic_xds_configs;
    for (size_t i = 0; i < response->n_config; i++)
        assert_true(udpai_vector_push(texts, show_config(response->config[i])));
    envoy__service__status__v3__client_status_response__free_unpacked(response, NULL);
    udpa_bytes_unref(message);
}

/* A stream that answers reads nothing. */
static bool
run(csds_asker *asker, text_list *texts)
{
    udpa_bytes *message;
    fake_stream_run(&asker->stream, &asker->world->hub);
    while ((message = fake_stream_take(&asker->stream)))
        take_response(asker, message, texts);
    return asker->stream.is_paused && !asker->stream.is_finished;
}

const char *
csds_take(csds_asker *asker)
{
    static char last[1 << 16];
    text_list texts = {0};
    asker->n_responses = asker->n_configs = asker->n_entries = 0;
    asker->n_bytes = asker->largest = 0;
    for (int turns = 0; run(asker, &texts); turns++) {
        assert_true(turns < 100000);
        fake_hub_advance(&asker->world->hub, 1);
    }
    char *text = join(texts.items, texts.n, " ");
    udpai_vector_done(&texts);
    snprintf(last, sizeof(last), "%s", text);
    udpai_free(text);
    return last;
}

const char *
csds_ask(csds_asker *asker, bool with_bodies)
{
    csds_request request = CSDS_REQUEST_INIT;
    request.exclude_resource_contents = !with_bodies;
    csds_send(asker, &request);
    return csds_take(asker);
}

udpa_err
csds_fetch_sinking(csds_asker *asker, char first)
{
    /* node_matchers {node_id {prefix: "…"}} */
    const uint8_t request[] = {0x0a, 5, 0x0a, 3, 0x12, 1, (uint8_t)first};
    sink_stream stream = {0};
    udpai_csds_method method = {&asker->csds, true};
    const udpai_stream_info info = sink_stream_info(&stream, &method);
    udpa_err err = udpai_csds_session_new(&stream.session, asker->world->hub.hub, &info);
    if (err != UDPA_OK)
        return err;
    udpai_session_receive(stream.session, (udpai_str){(const char *)request, sizeof(request)});
    while (!stream.is_writing && !stream.is_finished) {
        udpai_hub_run(asker->world->hub.hub);
        fake_hub_advance(&asker->world->hub, 1);
    }
    assert_true(stream.is_writing || stream.err);
    udpai_session_closed(stream.session, NULL);
    return stream.err;
}
