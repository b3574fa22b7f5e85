/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/client_view.h"

#include "base/alloc.h"
#include "cli/names.h"
#include "codec/json_text.h"
#include "ctl/show.h"
#include "ctl/status_view.h"

#define STATUS(name) ENVOY__SERVICE__STATUS__V3__CONFIG_STATUS__##name
#define CLIENT_STATUS(name) ENVOY__ADMIN__V3__CLIENT_RESOURCE_STATUS__##name

typedef Envoy__Service__Status__V3__ClientConfig config_message;
typedef Envoy__Service__Status__V3__ClientConfig__GenericXdsConfig entry_message;

/* As docs/design/csds.md has it, the other way round. */
typedef enum entry_state {
    HAS_IT,
    REJECTED,
    IN_DOUBT,
    NOT_ANSWERED,
    SENT, /* to a client that acknowledges nothing */
    NOT_SENT,
    NOT_FOUND,
    STATES,
} entry_state;

static const struct {
    const char *word, *head, *member;
} states[STATES] = {
    [HAS_IT] = {"has it", "HAS", "hasIt"},
    [REJECTED] = {"rejected", "REJECTED", "rejected"},
    [IN_DOUBT] = {"in doubt", "IN DOUBT", "inDoubt"},
    [NOT_ANSWERED] = {"not answered", "NOT ANSWERED", "notAnswered"},
    [SENT] = {"sent", "SENT", "sent"},
    [NOT_SENT] = {"not sent", "NOT SENT", "notSent"},
    [NOT_FOUND] = {"not found", "NOT FOUND", "notFound"},
};

static entry_state
state_of(const entry_message *entry)
{
    switch (entry->config_status) {
    case STATUS(SYNCED):
        return HAS_IT;
    case STATUS(ERROR):
        return REJECTED;
    case STATUS(STALE):
        if (entry->client_status == CLIENT_STATUS(REQUESTED))
            return NOT_ANSWERED;
        return entry->error_state ? IN_DOUBT : SENT;
    default:
        return entry->client_status == CLIENT_STATUS(DOES_NOT_EXIST) ? NOT_FOUND : NOT_SENT;
    }
}

/* What it is known to have; empty: an earlier version or none, which the node does not know. */
static const char *
has_of(const entry_message *entry)
{
    entry_state state = state_of(entry);
    return state == HAS_IT || state == REJECTED ? entry->version_info : "";
}

static const char *
should_have_of(const entry_message *entry)
{
    if (state_of(entry) != REJECTED)
        return entry->version_info;
    return entry->error_state ? entry->error_state->version_info : "";
}

static const char *
why_of(const entry_message *entry)
{
    if (entry->error_state && *entry->error_state->details)
        return entry->error_state->details;
    switch (state_of(entry)) {
    case NOT_ANSWERED:
        return "the client has not answered the response with it yet";
    case SENT:
        return "this client acknowledges nothing";
    case NOT_SENT:
        return *entry->version_info ? "it is to be sent next"
                                    : "the node waits for a source that may have it";
    case NOT_FOUND:
        return "no source has it";
    default:
        return "";
    }
}

/* ---- what was received ---- */

void
udpai_ctl_client_begin(udpai_ctl_client_state *state)
{
    *state = (udpai_ctl_client_state){.type_url = NULL};
    udpai_cli_found_begin(&state->found);
}

void
udpai_ctl_client_done(udpai_ctl_client_state *state)
{
    for (size_t i = 0; i < state->responses.n; i++)
        envoy__service__status__v3__client_status_response__free_unpacked(state->responses.items[i],
                                                                          NULL);
    udpai_vector_done(&state->responses);
    udpai_cli_found_done(&state->found);
}

udpa_err
udpai_ctl_client_take(udpai_ctl_client_state *state, udpai_str message)
{
    udpai_ctl_client_response *response =
        envoy__service__status__v3__client_status_response__unpack(NULL, message.len,
                                                                   (const uint8_t *)message.data);
    if (!response)
        return UDPA_ERR_MALFORMED;
    if (udpai_vector_push(&state->responses, response))
        return UDPA_OK;
    envoy__service__status__v3__client_status_response__free_unpacked(response, NULL);
    return UDPA_ERR_NOMEM;
}

bool
udpai_ctl_client_is_known(const udpai_ctl_client_state *state)
{
    size_t n = 0;
    for (size_t i = 0; i < state->responses.n; i++)
        n += state->responses.items[i]->n_config;
    return n > 0;
}

/* ---- one after the other ---- */

static bool
is_of_type(const udpai_ctl_client_state *state, const entry_message *entry)
{
    return !state->type_url || strcmp(state->type_url, entry->type_url) == 0;
}

static bool
is_listed(const udpai_ctl_client_state *state, const entry_message *entry)
{
    return is_of_type(state, entry) && (state->lists_all || state_of(entry) != HAS_IT);
}

typedef void (*entry_fn)(void *userdata, const config_message *config, const entry_message *entry);

static void
visit(const udpai_ctl_client_state *state, entry_fn fn, void *userdata)
{
    for (size_t i = 0; i < state->responses.n; i++)
        for (size_t k = 0; k < state->responses.items[i]->n_config; k++) {
            const config_message *config = state->responses.items[i]->config[k];
            for (size_t j = 0; j < config->n_generic_xds_configs; j++)
                if (is_of_type(state, config->generic_xds_configs[j]))
                    fn(userdata, config, config->generic_xds_configs[j]);
        }
}

typedef struct requesting {
    const udpai_ctl_client_state *state;
    udpai_cli_requests *requests;
    size_t n;
    udpa_err err;
} requesting;

static void
request_entry(void *userdata, const config_message *config, const entry_message *entry)
{
    requesting *self = userdata;
    (void)config;
    if (self->err || !is_listed(self->state, entry) || state_of(entry) == NOT_FOUND ||
        self->n == UDPAI_CTL_CLIENT_LOOKED_UP_MAX)
        return;
    udpai_cli_request *request = udpai_cli_requests_of_type(self->requests, entry->type_url);
    self->err = request ? udpai_cli_request_name(request, entry->name, self->state->name_space)
                        : UDPA_ERR_NOMEM;
    self->n++;
}

udpa_err
udpai_ctl_client_request(const udpai_ctl_client_state *state, udpai_cli_requests *requests)
{
    requesting self = {state, requests, 0, UDPA_OK};
    visit(state, request_entry, &self);
    return self.err;
}

/* NULL: it was not found at the node, or not looked up. */
static const udpa_resource *
resource_of(const udpai_ctl_client_state *state, const entry_message *entry)
{
    udpai_str type_url = udpai_str_from(entry->type_url);
    const udpa_resource *resource =
        udpai_cli_found_get(&state->found, type_url, udpai_str_from(entry->name));
    UDPAI_AUTO_FREE char *name = udpai_cli_full_name(entry->name, state->name_space);
    if (!resource && name)
        resource = udpai_cli_found_get(&state->found, type_url, udpai_str_from(name));
    return resource;
}

/* "acme by core > edge": whose it is, and the nodes on its path. */
static void
put_from(const udpai_ctl_client_state *state, const entry_message *entry, udpai_strbuf *out)
{
    const udpa_resource *resource = resource_of(state, entry);
    if (!resource)
        return;
    udpai_cli_put_text(out, udpai_str_from(udpa_resource_authority(resource)));
    udpai_strbuf path = {0};
    udpai_ctl_put_path(&path, resource);
    if (path.len)
        udpai_strbuf_puts(out, out->len ? " by " : "by ");
    udpai_strbuf_str(out, udpai_strbuf_view(&path));
    udpai_strbuf_done(&path);
}

/* ---- tables ---- */

typedef struct counted {
    const char *client, *scope, *type_url;
    uint64_t n[STATES];
} counted;

typedef struct counts {
    UDPAI_VECTOR(counted) rows;
    bool failed;
} counts;

static const char *
id_of(const config_message *config)
{
    return config->node ? config->node->id : "";
}

/* A response may go on with the client of the one before. */
static void
count_entry(void *userdata, const config_message *config, const entry_message *entry)
{
    counts *self = userdata;
    size_t i = 0;
    for (; i < self->rows.n; i++)
        if (strcmp(self->rows.items[i].type_url, entry->type_url) == 0 &&
            strcmp(self->rows.items[i].client, id_of(config)) == 0 &&
            strcmp(self->rows.items[i].scope, config->client_scope) == 0)
            break;
    const counted begin = {
        .client = id_of(config), .scope = config->client_scope, .type_url = entry->type_url};
    if (i == self->rows.n && !udpai_vector_push(&self->rows, begin))
        self->failed = true;
    else
        self->rows.items[i].n[state_of(entry)]++;
}

static void
put_counts(const counts *self, udpai_cli_layout *layout, udpai_strbuf *out)
{
    const char *heads[3 + STATES] = {"CLIENT", "NODE", "TYPE"};
    udpai_cli_table table;
    for (size_t i = 0; i < STATES; i++)
        heads[3 + i] = states[i].head;
    udpai_cli_table_begin(&table, layout, heads, UDPAI_ARRAY_LEN(heads));
    for (size_t i = 0; i < self->rows.n; i++) {
        const counted *row = &self->rows.items[i];
        udpai_cli_table_add_text(&table, row->client);
        udpai_cli_table_add_text(&table, row->scope);
        udpai_cli_table_add(&table, udpai_cli_type_short(udpai_str_from(row->type_url)));
        for (size_t k = 0; k < STATES; k++)
            udpai_cli_table_add_number(&table, row->n[k]);
    }
    udpai_cli_table_write(&table, out);
    udpai_cli_table_done(&table);
}

typedef struct listing {
    const udpai_ctl_client_state *state;
    udpai_cli_table *table; /* NULL: JSON */
    udpai_strbuf *out;
    int64_t now_us;
    size_t n;
} listing;

static void
add_entry(void *userdata, const config_message *config, const entry_message *entry)
{
    listing *self = userdata;
    udpai_strbuf from = {0};
    (void)config;
    if (!is_listed(self->state, entry))
        return;
    put_from(self->state, entry, &from);
    udpai_cli_table_add(self->table, udpai_cli_type_short(udpai_str_from(entry->type_url)));
    udpai_cli_table_add_text(self->table, entry->name);
    udpai_cli_table_add_text(self->table, states[state_of(entry)].word);
    udpai_cli_table_add_version(self->table, udpai_str_from(has_of(entry)));
    udpai_cli_table_add_version(self->table, udpai_str_from(should_have_of(entry)));
    udpai_ctl_table_add_age(self->table,
                            entry->error_state ? entry->error_state->last_update_attempt : NULL,
                            self->now_us);
    udpai_cli_table_add(self->table, udpai_strbuf_view(&from));
    udpai_cli_table_add_text(self->table, why_of(entry));
    udpai_strbuf_done(&from);
}

void
udpai_ctl_client_put(const udpai_ctl_client_state *state,
                     udpai_cli_layout *layout,
                     int64_t now_us,
                     udpai_strbuf *out)
{
    static const char *const heads[] = {"TYPE",        "NAME", "STATE", "HAS",
                                        "SHOULD HAVE", "AGE",  "FROM",  "WHY"};
    udpai_cli_table table;
    counts all = {.failed = false};
    visit(state, count_entry, &all);
    put_counts(&all, layout, out);
    out->failed |= all.failed;
    udpai_vector_done(&all.rows);
    udpai_cli_table_begin(&table, layout, heads, UDPAI_ARRAY_LEN(heads));
    listing rows = {.state = state, .table = &table, .now_us = now_us};
    visit(state, add_entry, &rows);
    if (udpai_cli_table_n_rows(&table)) {
        udpai_strbuf_puts(out, state->lists_all ? "\nRESOURCES\n" : "\nDIFFERS\n");
        udpai_cli_table_write(&table, out);
    } else {
        udpai_strbuf_puts(out, "\nIt has all that it should have.\n");
    }
    udpai_cli_table_done(&table);
}

/* ---- JSON ---- */

static void
put_member(udpai_strbuf *out, const char *name, udpai_str value)
{
    udpai_strbuf_printf(out, "%s\"%s\": ", strcmp(name, "client") == 0 ? "" : ", ", name);
    udpai_json_put_string(out, value);
}

static void
put_entry(void *userdata, const config_message *config, const entry_message *entry)
{
    listing *self = userdata;
    udpai_strbuf from = {0};
    if (!is_listed(self->state, entry))
        return;
    put_from(self->state, entry, &from);
    udpai_strbuf_puts(self->out, self->n++ ? ",\n    {" : "\n    {");
    put_member(self->out, "client", udpai_str_from(id_of(config)));
    put_member(self->out, "node", udpai_str_from(config->client_scope));
    put_member(self->out, "type", udpai_str_from(entry->type_url));
    put_member(self->out, "name", udpai_str_from(entry->name));
    put_member(self->out, "state", udpai_str_from(states[state_of(entry)].member));
    put_member(self->out, "has", udpai_str_from(has_of(entry)));
    put_member(self->out, "shouldHave", udpai_str_from(should_have_of(entry)));
    put_member(self->out, "from", udpai_strbuf_view(&from));
    put_member(self->out, "why", udpai_str_from(why_of(entry)));
    udpai_strbuf_putc(self->out, '}');
    udpai_strbuf_done(&from);
}

void
udpai_ctl_client_put_json(const udpai_ctl_client_state *state, udpai_strbuf *out)
{
    counts all = {.failed = false};
    visit(state, count_entry, &all);
    udpai_strbuf_puts(out, "{\n  \"types\": [");
    for (size_t i = 0; i < all.rows.n; i++) {
        const counted *row = &all.rows.items[i];
        udpai_strbuf_puts(out, i ? ",\n    {" : "\n    {");
        put_member(out, "client", udpai_str_from(row->client));
        put_member(out, "node", udpai_str_from(row->scope));
        put_member(out, "type", udpai_str_from(row->type_url));
        for (size_t k = 0; k < STATES; k++)
            udpai_strbuf_printf(out, ", \"%s\": %llu", states[k].member,
                                (unsigned long long)row->n[k]);
        udpai_strbuf_putc(out, '}');
    }
    udpai_strbuf_puts(out, "\n  ],\n  \"resources\": [");
    listing rows = {.state = state, .out = out};
    visit(state, put_entry, &rows);
    udpai_strbuf_puts(out, "\n  ]\n}\n");
    out->failed |= all.failed;
    udpai_vector_done(&all.rows);
}
