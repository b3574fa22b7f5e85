/* SPDX-License-Identifier: Apache-2.0 */
/* events: what clients have streamed to a node's sinks, as lines of JSON, or what has happened to
 * the node; with --follow also what comes, until the program is interrupted. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/proto.h"
#include "cli/caller.h"
#include "codec/event_line.h"
#include "ctl/commands.h"
#include "ctl/node_event_line.h"
#include "ctl/schema.h"
#include "ctl/show.h"
#include "sinks/sinks.h"
#include "udpa/service/events/v1/events.pb-c.h"

#define LOOK_MS 60000 /* while nothing comes */

typedef Udpa__Service__Events__V1__FollowResponse response_message;

typedef struct reading {
    const udpai_ctl_options *options;
    udpai_event_kind kind;
    udpai_schema *schema;
    udpai_caller *caller;
    udpai_peer peer;
    void *call;
    bool has_failed;
} reading;

/* ---- what comes ---- */

static void
print(void *userdata, udpai_strbuf *out)
{
    reading *self = userdata;
    udpai_cli_exit result = udpai_cli_print(out);
    if (fflush(stdout) != 0 || result != UDPAI_CLI_GOOD)
        self->has_failed = true; /* nobody reads it any more */
}

/* The others are lines of JSON always: they have a form for each of their types. */
static bool
is_for_people(const reading *self)
{
    return self->kind == UDPAI_EVENT_NODE && self->options->common.format == UDPAI_CLI_TABLE;
}

static void
put_gap(const reading *self, uint64_t n_lost, udpai_strbuf *out)
{
    if (is_for_people(self))
        udpai_ctl_node_event_gap_put(out, n_lost);
    else
        udpai_event_gap_put(out, self->kind, n_lost);
}

static void
put_response(reading *self, const response_message *response, udpai_strbuf *out)
{
    const udpai_line_consumer consumer = {print, self};
    const Udpa__Service__Events__V1__Event *event = response->event;
    if (response->n_lost)
        put_gap(self, response->n_lost, out);
    if (!event)
        return;
    const udpai_event_view view = {
        .kind = self->kind,
        .time_us = event->time ? event->time->seconds * 1000000 + event->time->nanos / 1000 : 0,
        .node_id = udpai_str_from(event->node_id),
        .identity = udpai_str_from(event->identity),
        .name = udpai_str_from(event->name),
        .message = {(const char *)event->message.data, event->message.len},
    };
    if (is_for_people(self))
        udpai_ctl_node_event_put(out, view.time_us, view.message);
    else
        udpai_event_lines_put(out, self->schema, &view, &consumer);
}

static udpai_cli_exit
show(reading *self, udpai_str message)
{
    udpai_strbuf out = {0};
    response_message *response = udpa__service__events__v1__follow_response__unpack(
        NULL, message.len, (const uint8_t *)message.data);
    if (!response) {
        udpai_cli_complain("the events of %s cannot be read", self->options->common.server);
        return UDPAI_CLI_REFUSED;
    }
    put_response(self, response, &out);
    udpa__service__events__v1__follow_response__free_unpacked(response, NULL);
    print(self, &out);
    return self->has_failed ? UDPAI_CLI_REFUSED : UDPAI_CLI_GOOD;
}

static udpai_cli_exit
end_of(const reading *self)
{
    udpai_call_status status = self->peer.status(self->call);
    udpa_err err = udpa_err_from_grpc(status.code);
    if (err == UDPA_OK)
        return UDPAI_CLI_GOOD;
    udpai_cli_complain("%s: %.*s", self->options->common.server, UDPAI_SHOWN(status.text));
    return err == UDPA_ERR_UNAVAILABLE ? UDPAI_CLI_NO_CONNECTION : UDPAI_CLI_REFUSED;
}

/* A node that is asked for what it holds answers in time. */
static udpai_cli_exit
receive(reading *self)
{
    const udpai_ctl_options *options = self->options;
    udpai_cli_exit result = UDPAI_CLI_GOOD;
    while (result == UDPAI_CLI_GOOD) {
        udpai_str message;
        udpai_received received = self->peer.receive(
            self->call, options->is_following ? LOOK_MS : options->common.timeout_ms, &message);
        if (received == UDPAI_RECEIVED_END)
            return end_of(self);
        if (received == UDPAI_RECEIVED_MESSAGE) {
            result = show(self, message);
        } else if (!options->is_following) {
            udpai_cli_complain(
                "no answer from %s within %g s; --timeout SECONDS has it wait longer",
                options->common.server, (double)options->common.timeout_ms / 1000);
            result = UDPAI_CLI_TIMED_OUT;
        }
    }
    return result;
}

/* ---- asking ---- */

static void
put_request(udpai_proto_writer *writer, const reading *self)
{
    udpai_proto_put_bytes(writer, 1, udpai_str_from(udpai_event_facts_of(self->kind)->word));
    udpai_proto_put_varint_opt(writer, 2, self->options->is_following);
    udpai_proto_put_bytes_opt(writer, 3, udpai_str_from(self->options->common.node_id));
}

static udpai_cli_exit
ask(reading *self)
{
    udpai_proto_writer writer = {0};
    put_request(&writer, self);
    UDPAI_AUTO_FREE uint8_t *room = udpai_alloc(writer.size);
    self->call = room ? self->peer.open(self->peer.self, UDPAI_EVENTS_PATH) : NULL;
    if (!self->call) {
        udpai_cli_complain("%s", udpa_err_text(UDPA_ERR_NOMEM));
        return UDPAI_CLI_REFUSED;
    }
    writer = (udpai_proto_writer){room, 0};
    put_request(&writer, self);
    self->peer.send(self->call, (udpai_str){(const char *)room, writer.size});
    self->peer.end(self->call);
    return UDPAI_CLI_GOOD;
}

static udpai_cli_exit
connect_to(reading *self)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (udpai_caller_new(&self->caller, &self->options->common, &error) != UDPA_OK) {
        udpai_cli_complain_of(error);
        return UDPAI_CLI_MISTAKE;
    }
    self->peer = udpai_caller_peer(self->caller);
    if (udpai_caller_connect(self->caller, self->options->common.timeout_ms, &error) == UDPA_OK)
        return UDPAI_CLI_GOOD;
    udpai_cli_complain("%s: %s", self->options->common.server, udpa_error_message(error));
    return UDPAI_CLI_NO_CONNECTION;
}

static udpai_cli_exit
choose_kind(reading *self)
{
    const udpai_cli_options *common = &self->options->common;
    const char *word = common->arguments.n == 1 ? common->arguments.items[0] : NULL;
    if (!word || !udpai_event_kind_find(udpai_str_from(word), &self->kind)) {
        udpai_cli_complain("events takes one of " UDPAI_EVENT_WORDS ": udpactl events node");
        return UDPAI_CLI_MISTAKE;
    }
    bool is_form = common->format == UDPAI_CLI_TABLE || common->format == UDPAI_CLI_JSON;
    if (is_form && !common->output.jsonpath)
        return UDPAI_CLI_GOOD;
    udpai_cli_complain("-o %s: events prints lines for people, or with -o json lines of JSON",
                       common->format_name);
    return UDPAI_CLI_MISTAKE;
}

udpai_cli_exit
udpai_ctl_events(udpai_cli *cli)
{
    reading self = {.options = udpai_ctl_options_of(cli->options)};
    udpai_cli_exit result = choose_kind(&self);
    if (result == UDPAI_CLI_GOOD && !(self.schema = udpai_ctl_schema(self.options)))
        result = UDPAI_CLI_MISTAKE;
    if (result == UDPAI_CLI_GOOD)
        result = connect_to(&self);
    if (result == UDPAI_CLI_GOOD)
        result = ask(&self);
    if (result == UDPAI_CLI_GOOD)
        result = receive(&self);
    if (self.call)
        self.peer.close(self.call);
    udpai_caller_free(self.caller);
    udpai_schema_unref(self.schema);
    return result;
}
