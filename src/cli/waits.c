/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/waits.h"

#include "cli/collect.h"
#include "cli/node_status.h"
#include "model/types.h"

#define PATIENCE_MS 1000
#define STATUS_AGE_MS 3000 /* at most; it is made once a second */

/* ---- of commands that last until they are interrupted ---- */

static void
give_up(udpai_cli_waits *self)
{
    uv_timer_stop(&self->cli->patience);
    udpa_unsubscribe(self->subscription);
    self->subscription = NULL;
}

static void
on_no_news(uv_timer_t *timer)
{
    give_up(timer->data);
}

/* Reported once. A status may be as old as a node takes to describe itself again, and then our own
 * question is not in it yet. */
static void
report_lasting(udpai_cli_waits *self)
{
    if (!self->cli->waits_for) {
        uv_timer_start(&self->cli->patience, on_no_news, STATUS_AGE_MS, 0);
        return;
    }
    udpai_cli_complain("%s waits for %s itself: what comes is shown when it does",
                       udpai_cli_server(self->cli), self->cli->waits_for);
    give_up(self);
}

/* ---- of all ---- */

static void
on_update(void *userdata, udpa_update *update)
{
    udpai_cli_waits *self = userdata;
    udpai_strbuf text = {0};
    udpai_cli_answered(self->cli);
    for (size_t i = 0; i < udpa_update_size(update) && text.len == 0; i++)
        if (!udpa_update_is_removal(update, i))
            udpai_cli_put_waits_for(&text, udpa_update_resource(update, i), self->requests);
    udpai_free(self->cli->waits_for);
    self->cli->waits_for = text.len ? udpai_strbuf_take(&text) : NULL;
    udpai_strbuf_done(&text);
    if (self->cli->is_lasting)
        report_lasting(self);
}

static void
on_patience(uv_timer_t *timer)
{
    udpai_cli_waits *self = timer->data;
    udpai_cli_requests status = {0};
    udpa_subscribe_options callbacks = UDPA_SUBSCRIBE_OPTIONS_INIT;
    callbacks.update = on_update;
    callbacks.userdata = self;
    self->cli->is_asked_why = !udpai_cli_is_requested(self->requests, UDPAI_TYPE_NODE_STATUS);
    if (self->cli->is_asked_why && udpai_cli_request_status("NodeStatus", &status) == UDPA_OK)
        (void)udpai_cli_subscribe(self->cli, &status.items[0], &callbacks, &self->subscription);
    udpai_cli_requests_done(&status);
}

void
udpai_cli_waits_begin(udpai_cli_waits *waits, udpai_cli *cli, const udpai_cli_requests *requests)
{
    *waits = (udpai_cli_waits){cli, requests, NULL};
    cli->patience.data = waits;
    uv_timer_start(&cli->patience, on_patience,
                   udpai_min_size(cli->options->timeout_ms / 2, PATIENCE_MS), 0);
}

void
udpai_cli_waits_end(udpai_cli_waits *waits)
{
    uv_timer_stop(&waits->cli->patience);
    udpa_unsubscribe(waits->subscription);
    waits->cli->is_asked_why = false;
    udpai_free(waits->cli->waits_for);
    waits->cli->waits_for = NULL;
}
