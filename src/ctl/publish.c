/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/publish.h"

#include <stdio.h>

#include "ctl/names.h"
#include "ctl/show.h"
#include "model/resource.h"

/* Nodes take 4 MiB in a message. */
#define PART_BYTES ((size_t)3 << 20)
#define PART_NAMES 2000

typedef struct publishing {
    udpai_ctl *ctl;
    const udpa_publish_options *options;
    udpai_ctl_exit result;
} publishing;

/* ---- receipts ---- */

static void
tell_refused(const publishing *self, const udpa_receipt *receipt, size_t index)
{
    const char *type_url = self->options->removed_type_url;
    if (index < self->options->n_resources)
        type_url = udpa_resource_type_url(self->options->resources[index]);
    udpai_str kind = udpai_ctl_type_short(udpai_str_from(type_url));
    udpai_ctl_complain("%.*s %s refused: %s", (int)kind.len, kind.data,
                       udpa_receipt_name(receipt, index),
                       udpa_error_message(udpa_receipt_refusal(receipt, index)));
}

static void
tell_applied(const udpa_resource *resource)
{
    udpai_str kind = udpai_ctl_type_short(udpai_resource_type_url(resource));
    printf("%.*s %s applied (version %s)\n", (int)kind.len, kind.data, udpa_resource_name(resource),
           udpa_resource_version(resource));
}

static void
on_receipt(void *userdata, const udpa_receipt *receipt)
{
    publishing *self = userdata;
    const udpa_error *error = udpa_receipt_error(receipt);
    if (error && udpa_error_code(error) == UDPA_ERR_CLOSED)
        return; /* nobody waits for it any more */
    udpai_ctl_heard(self->ctl);
    if (error) {
        udpai_ctl_complain_of(error);
        self->result = UDPAI_CTL_TIMED_OUT;
    }
    for (size_t i = 0; !error && i < udpa_receipt_size(receipt); i++) {
        if (udpa_receipt_refusal(receipt, i)) {
            tell_refused(self, receipt, i);
            self->result = UDPAI_CTL_REFUSED;
        } else if (i < self->options->n_resources) {
            tell_applied(self->options->resources[i]);
        }
    }
    udpai_ctl_finish(self->ctl, self->result);
}

/* ---- publishing ---- */

static udpai_ctl_exit
publish(udpai_ctl *ctl, udpa_publish_options *options)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    publishing self = {ctl, options, UDPAI_CTL_GOOD};
    options->receipt = on_receipt;
    options->userdata = &self;
    options->timeout_ms = 2 * ctl->options->timeout_ms; /* we ourselves give up before */
    if (udpa_publish(ctl->endpoint, options, &error) != UDPA_OK) {
        udpai_ctl_complain_of(error);
        return UDPAI_CTL_REFUSED;
    }
    udpai_ctl_exit result = udpai_ctl_wait(ctl);
    if (result > UDPAI_CTL_REFUSED)
        udpai_ctl_disconnect(ctl); /* the receipt must not come any more */
    return result;
}

/* How many of them go into one message; at least one. */
static size_t
part_size(udpa_resource *const *resources, size_t n)
{
    size_t size = 0, i = 0;
    while (i < n && i < PART_NAMES) {
        size += udpai_resource_footprint(resources[i]);
        if (i && size > PART_BYTES)
            break;
        i++;
    }
    return i;
}

udpai_ctl_exit
udpai_ctl_publish(udpai_ctl *ctl, udpa_resource *const *resources, size_t n_resources)
{
    udpai_ctl_exit result = UDPAI_CTL_GOOD;
    while (n_resources) {
        udpa_publish_options options = UDPA_PUBLISH_OPTIONS_INIT;
        options.resources = resources;
        options.n_resources = part_size(resources, n_resources);
        udpai_ctl_exit part = publish(ctl, &options);
        if (part > UDPAI_CTL_REFUSED)
            return part;
        if (part != UDPAI_CTL_GOOD)
            result = part;
        resources += options.n_resources;
        n_resources -= options.n_resources;
    }
    return result;
}

udpai_ctl_exit
udpai_ctl_withdraw(udpai_ctl *ctl, const udpai_ctl_wish *wish)
{
    udpai_ctl_exit result = UDPAI_CTL_GOOD;
    for (size_t i = 0; i < wish->names.n && result == UDPAI_CTL_GOOD; i += PART_NAMES) {
        udpa_publish_options options = UDPA_PUBLISH_OPTIONS_INIT;
        options.removed_type_url = wish->type_url;
        options.removed_names = (const char *const *)wish->names.items + i;
        options.n_removed_names = udpai_min_size(wish->names.n - i, PART_NAMES);
        result = publish(ctl, &options);
    }
    return result;
}
