/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/waits.h"

#include "ctl/collect.h"
#include "ctl/node_status.h"

#define PATIENCE_MS 1000
#define STATUS_AGE_MS 3000 /* at most; it is made once a second */

/* ---- of whoever goes on until it is interrupted ---- */

static void
give_up(udpai_ctl_waits *self)
{
    uv_timer_stop(&self->ctl->patience);
    udpa_unsubscribe(self->subscription);
    self->subscription = NULL;
}

static void
on_no_news(uv_timer_t *timer)
{
    give_up(timer->data);
}

/* Told once. A status may be as old as a node takes to describe itself again, and then our own
 * question is not in it yet. */
static void
tell_lasting(udpai_ctl_waits *self)
{
    if (!self->ctl->waits_for) {
        uv_timer_start(&self->ctl->patience, on_no_news, STATUS_AGE_MS, 0);
        return;
    }
    udpai_ctl_complain("%s waits for %s itself: what comes is shown when it does",
                       self->ctl->options->server, self->ctl->waits_for);
    give_up(self);
}

/* ---- of all ---- */

static void
on_update(void *userdata, udpa_update *update)
{
    udpai_ctl_waits *self = userdata;
    udpai_strbuf text = {0};
    udpai_ctl_heard(self->ctl);
    for (size_t i = 0; i < udpa_update_size(update) && text.len == 0; i++)
        if (!udpa_update_is_removal(update, i))
            udpai_ctl_put_waits_for(&text, udpa_update_resource(update, i), self->wishes);
    udpai_free(self->ctl->waits_for);
    self->ctl->waits_for = text.len ? udpai_strbuf_take(&text) : NULL;
    udpai_strbuf_done(&text);
    if (self->ctl->is_lasting)
        tell_lasting(self);
}

static void
on_patience(uv_timer_t *timer)
{
    udpai_ctl_waits *self = timer->data;
    udpai_ctl_wishes status = {0};
    udpa_subscribe_options callbacks = UDPA_SUBSCRIBE_OPTIONS_INIT;
    callbacks.update = on_update;
    callbacks.userdata = self;
    if (udpai_ctl_wish_for_status("NodeStatus", &status) == UDPA_OK)
        (void)udpai_ctl_subscribe(self->ctl, &status.items[0], &callbacks, &self->subscription);
    udpai_ctl_wishes_done(&status);
}

void
udpai_ctl_waits_begin(udpai_ctl_waits *waits, udpai_ctl *ctl, const udpai_ctl_wishes *wishes)
{
    *waits = (udpai_ctl_waits){ctl, wishes, NULL};
    ctl->patience.data = waits;
    uv_timer_start(&ctl->patience, on_patience,
                   udpai_min_size(ctl->options->timeout_ms / 2, PATIENCE_MS), 0);
}

void
udpai_ctl_waits_end(udpai_ctl_waits *waits)
{
    uv_timer_stop(&waits->ctl->patience);
    udpa_unsubscribe(waits->subscription);
    udpai_free(waits->ctl->waits_for);
    waits->ctl->waits_for = NULL;
}
