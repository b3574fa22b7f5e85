/* SPDX-License-Identifier: Apache-2.0 */
/* watch: what is there, then each change, until the program is interrupted. Without a type, types
 * that the node gets later are watched too. */
#include <stdio.h>
#include <time.h>

#include "cli/collect.h"
#include "cli/names.h"
#include "cli/node_status.h"
#include "cli/table.h"
#include "cli/waits.h"
#include "ctl/commands.h"
#include "ctl/schema.h"
#include "ctl/show.h"
#include "events/topics.h"

typedef struct watching {
    udpai_cli *cli;
    udpai_cli_requests requests;
    size_t n_subscribed; /* of the requests */
    udpai_cli_found found;
    udpai_schema *schema; /* NULL: not needed */
} watching;

/* ---- showing ---- */

static bool
is_event(const udpa_resource *resource)
{
    return strcmp(udpa_resource_type_url(resource), UDPAI_TYPE_EVENT) == 0;
}

static void
put_lost(udpai_strbuf *out, const udpa_resource *resource)
{
    uint64_t n_lost = is_event(resource) ? udpai_event_n_lost(udpai_resource_value(resource)) : 0;
    if (n_lost)
        udpai_strbuf_printf(out, "  (%llu lost before it)", (unsigned long long)n_lost);
}

static void
put_time(udpai_strbuf *out)
{
    struct timespec now;
    struct tm local;
    char text[16] = "";
    clock_gettime(CLOCK_REALTIME, &now);
    if (localtime_r(&now.tv_sec, &local))
        strftime(text, sizeof(text), "%H:%M:%S", &local);
    udpai_strbuf_printf(out, "%s.%03ld", text, now.tv_nsec / 1000000);
}

static void
put_line(udpai_strbuf *out,
         const udpa_resource *resource,
         const char *event,
         const udpai_cli_layout *layout)
{
    put_time(out);
    udpai_strbuf_printf(out, "  %-7s  ", event);
    udpai_cli_put_text(out, udpai_cli_type_short(udpai_str_from(udpa_resource_type_url(resource))));
    udpai_strbuf_putc(out, ' ');
    udpai_cli_put_text(out, udpai_str_from(udpa_resource_name(resource)));
    udpai_strbuf_puts(out, "  ");
    udpai_cli_put_version(out, udpai_str_from(udpa_resource_version(resource)), layout->is_wide);
    put_lost(out, resource);
}

/* One line of the terminal, too. */
static void
put_row(const watching *self, udpai_strbuf *out, const udpa_resource *resource, const char *event)
{
    udpai_cli_layout layout = udpai_cli_layout_of(self->cli->options);
    bool is_cut = layout.n_columns && !layout.is_wide;
    udpai_strbuf line = {0};
    put_line(&line, resource, event, &layout);
    udpai_cli_put_cut(out, udpai_strbuf_view(&line), is_cut ? layout.n_columns : SIZE_MAX);
    udpai_strbuf_putc(out, '\n');
    out->failed |= line.failed;
    udpai_strbuf_done(&line);
}

static void
put_document(const watching *self,
             udpai_strbuf *out,
             const udpa_resource *resource,
             const char *event)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    bool is_json = self->cli->options->format == UDPAI_CLI_JSON;
    udpai_strbuf_printf(out, is_json ? "{\"event\":\"%s\",\"resource\":" : "---\n# %s\n", event);
    if (udpai_ctl_put_resource(out, self->schema, resource,
                               is_json ? UDPAI_FORMAT_JSON : UDPAI_FORMAT_YAML,
                               &error) != UDPA_OK) {
        udpai_cli_complain("'%s' cannot be shown: %s", udpa_resource_name(resource),
                           udpa_error_message(error));
        udpai_strbuf_puts(out, "null");
    }
    udpai_strbuf_puts(out, is_json ? "}\n" : "\n");
}

static void
show(watching *self, const udpa_resource *resource, const char *event)
{
    udpai_strbuf out = {0};
    switch (self->cli->options->format) {
    case UDPAI_CLI_TABLE:
        put_row(self, &out, resource, event);
        break;
    case UDPAI_CLI_PATH: /* goes with get alone */
    case UDPAI_CLI_NAME:
        udpai_strbuf_printf(&out, "%s ", event);
        udpai_ctl_put_name(&out, resource);
        udpai_strbuf_putc(&out, '\n');
        break;
    case UDPAI_CLI_YAML:
    case UDPAI_CLI_JSON:
        put_document(self, &out, resource, event);
        break;
    case UDPAI_CLI_TAP: /* these go with conform alone */
    case UDPAI_CLI_JUNIT:
        break;
    }
    udpai_cli_exit printed = self->cli->options->format == UDPAI_CLI_JSON
                                 ? udpai_cli_print_json(self->cli->options, &out)
                                 : udpai_cli_print(&out);
    if (printed != UDPAI_CLI_GOOD)
        udpai_cli_finish(self->cli, printed); /* nobody reads it any more, or it cannot be taken */
}

/* ---- receiving ---- */

static void
on_update(void *userdata, udpa_update *update)
{
    watching *self = userdata;
    udpai_cli_answered(self->cli);
    for (size_t i = 0; i < udpa_update_size(update); i++) {
        udpa_resource *resource = udpa_update_resource(update, i);
        bool was_known = false;
        if (udpa_update_is_removal(update, i)) {
            udpai_cli_found_drop(&self->found, resource);
            show(self, resource, "removed");
        } else if (udpai_cli_found_put(&self->found, resource, &was_known) == UDPA_OK) {
            show(self, resource, is_event(resource) ? "event" : was_known ? "changed" : "added");
        } else {
            udpai_cli_complain("%s", udpa_err_text(UDPA_ERR_NOMEM));
            udpai_cli_finish(self->cli, UDPAI_CLI_REFUSED);
        }
    }
}

static void
on_complete(void *userdata)
{
    udpai_cli_answered(((watching *)userdata)->cli);
}

static udpai_cli_exit
subscribe(watching *self)
{
    udpa_subscribe_options callbacks = UDPA_SUBSCRIBE_OPTIONS_INIT;
    udpai_cli_exit result = UDPAI_CLI_GOOD;
    callbacks.update = on_update;
    callbacks.complete = on_complete;
    callbacks.userdata = self;
    while (self->n_subscribed < self->requests.n && result == UDPAI_CLI_GOOD) {
        udpa_subscription *subscription; /* ends with the endpoint */
        result = udpai_cli_subscribe(self->cli, &self->requests.items[self->n_subscribed],
                                     &callbacks, &subscription);
        self->n_subscribed++;
    }
    return result;
}

/* ---- all types ---- */

static void
on_node_status(void *userdata, udpa_update *update)
{
    watching *self = userdata;
    udpai_cli_answered(self->cli);
    for (size_t i = 0; i < udpa_update_size(update); i++)
        if (!udpa_update_is_removal(update, i) &&
            udpai_cli_request_types_of(udpa_update_resource(update, i),
                                       self->cli->options->name_space, &self->requests) != UDPA_OK)
            udpai_cli_complain("the status of %s cannot be read", udpai_cli_server(self->cli));
    if (self->requests.n == 0)
        (void)udpai_cli_request_common_types(self->cli->options->name_space, &self->requests);
    udpai_cli_exit result = subscribe(self);
    if (result != UDPAI_CLI_GOOD)
        udpai_cli_finish(self->cli, result);
}

static udpai_cli_exit
subscribe_to_types(watching *self)
{
    udpai_cli_requests status = {0};
    udpa_subscribe_options callbacks = UDPA_SUBSCRIBE_OPTIONS_INIT;
    udpa_subscription *subscription;
    udpai_cli_exit result = UDPAI_CLI_REFUSED;
    callbacks.update = on_node_status;
    callbacks.complete = on_complete;
    callbacks.userdata = self;
    if (udpai_cli_request_status("NodeStatus", &status) == UDPA_OK)
        result = udpai_cli_subscribe(self->cli, &status.items[0], &callbacks, &subscription);
    udpai_cli_requests_done(&status);
    return result;
}

/* ---- the command ---- */

static udpai_cli_exit
begin(watching *self)
{
    const udpai_ctl_options *options = udpai_ctl_options_of(self->cli->options);
    bool in_full =
        options->common.format == UDPAI_CLI_YAML || options->common.format == UDPAI_CLI_JSON;
    if (in_full && !(self->schema = udpai_ctl_schema(options)))
        return UDPAI_CLI_MISTAKE;
    udpai_cli_exit result = UDPAI_CLI_GOOD;
    if (options->common.arguments.n)
        result = udpai_cli_request_of_arguments(&options->common, &self->requests);
    if (result == UDPAI_CLI_GOOD)
        result = udpai_cli_connect(self->cli);
    if (result == UDPAI_CLI_GOOD)
        result = options->common.arguments.n ? subscribe(self) : subscribe_to_types(self);
    return result;
}

udpai_cli_exit
udpai_ctl_watch(udpai_cli *cli)
{
    watching self = {.cli = cli};
    udpai_cli_waits waits;
    udpai_cli_found_begin(&self.found);
    udpai_cli_exit result = begin(&self);
    udpai_cli_waits_begin(&waits, cli, &self.requests);
    if (result == UDPAI_CLI_GOOD)
        result = udpai_cli_wait_long(cli);
    udpai_cli_waits_end(&waits);
    udpai_cli_disconnect(cli);
    udpai_cli_found_done(&self.found);
    udpai_cli_requests_done(&self.requests);
    udpai_schema_unref(self.schema);
    return result;
}
