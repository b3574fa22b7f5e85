/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/conform/publishing_changer.h"

#include "base/strbuf.h"
#include "base/vector.h"
#include "cli/names.h"
#include "model/xdstp.h"

typedef UDPAI_VECTOR(udpa_resource *) resources;
typedef UDPAI_VECTOR(char *) texts;

typedef struct publication {
    udpai_cli *cli;
    udpai_strbuf *why;
    resources resources;
    texts removed;
    udpai_kind removed_kind; /* one for each publication; UDPAI_KINDS: none yet */
    udpai_change_result result;
} publication;

/* All but those by URL are ids, whatever they look like. */
static char *
full_name(const udpai_cli *cli, const char *name)
{
    udpai_strbuf full = {0};
    if (udpai_xdstp_is(udpai_str_from(name)))
        return udpai_cli_full_name(name, udpai_cli_namespace(cli->options));
    udpai_strbuf_printf(&full, "%s/%s", udpai_cli_namespace(cli->options), name);
    return udpai_strbuf_take(&full);
}

static void
add_resource(publication *self, const udpai_edit *change)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    UDPAI_AUTO_FREE char *name = full_name(self->cli, change->name);
    UDPAI_AUTO_FREE char *alias = change->alias ? full_name(self->cli, change->alias) : NULL;
    const char *const aliases[] = {alias};
    udpa_resource_spec spec = UDPA_RESOURCE_SPEC_INIT;
    udpa_resource *resource = NULL;
    spec.name = name;
    spec.type_url = udpai_kind_url(change->kind).data;
    spec.payload = change->payload.data;
    spec.payload_size = change->payload.len;
    spec.ttl_ms = change->ttl_ms;
    spec.lazy = change->is_lazy;
    spec.aliases = aliases;
    spec.n_aliases = alias ? 1 : 0;
    if (name && udpa_resource_new(&resource, &spec, &error) == UDPA_OK &&
        udpai_vector_push(&self->resources, resource))
        return;
    udpa_resource_unref(resource);
    self->result = UDPAI_CHANGE_FAILED;
    udpai_strbuf_puts(self->why, error ? udpa_error_message(error) : "out of memory");
}

static void
on_receipt(void *userdata, const udpa_receipt *receipt)
{
    publication *self = userdata;
    const udpa_error *error = udpa_receipt_error(receipt);
    if (error && udpa_error_code(error) == UDPA_ERR_CLOSED)
        return; /* it is not waited for any more */
    udpai_cli_answered(self->cli);
    for (size_t i = 0; !error && i < udpa_receipt_size(receipt); i++)
        error = udpa_receipt_refusal(receipt, i);
    if (error) {
        self->result = UDPAI_CHANGE_FAILED;
        udpai_strbuf_puts(self->why, udpa_error_message(error));
    }
    udpai_cli_finish(self->cli, UDPAI_CLI_GOOD);
}

/* What is staged, at once. */
static void
publish(publication *self)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpa_publish_options options = UDPA_PUBLISH_OPTIONS_INIT;
    if (self->result != UDPAI_CHANGE_MADE || !(self->resources.n + self->removed.n))
        return;
    options.resources = self->resources.items;
    options.n_resources = self->resources.n;
    options.removed_names = (const char *const *)self->removed.items;
    options.n_removed_names = self->removed.n;
    if (self->removed.n)
        options.removed_type_url = udpai_kind_url(self->removed_kind).data;
    options.timeout_ms = 2 * self->cli->options->timeout_ms; /* we ourselves give up before */
    options.receipt = on_receipt;
    options.userdata = self;
    uv_update_time(&self->cli->loop); /* which stood still while the tests ran */
    if (udpa_publish(self->cli->endpoint, &options, &error) != UDPA_OK) {
        self->result = UDPAI_CHANGE_FAILED;
        udpai_strbuf_puts(self->why, udpa_error_message(error));
    } else if (udpai_cli_wait(self->cli) != UDPAI_CLI_GOOD) {
        self->result = UDPAI_CHANGE_FAILED;
        udpai_strbuf_puts(self->why, "no answer to what was published");
        udpai_cli_disconnect(self->cli); /* the receipt must not come any more */
    }
}

static void
clear(publication *self)
{
    for (size_t i = 0; i < self->resources.n; i++)
        udpa_resource_unref(self->resources.items[i]);
    for (size_t i = 0; i < self->removed.n; i++)
        udpai_free(self->removed.items[i]);
    udpai_vector_done(&self->resources);
    udpai_vector_done(&self->removed);
    self->removed_kind = UDPAI_KINDS;
}

static void
add_removal(publication *self, const udpai_edit *change)
{
    if (self->removed_kind != UDPAI_KINDS && self->removed_kind != change->kind) {
        publish(self);
        clear(self);
    }
    char *name = full_name(self->cli, change->name);
    self->removed_kind = change->kind;
    if (name && udpai_vector_push(&self->removed, name))
        return;
    udpai_free(name);
    self->result = UDPAI_CHANGE_FAILED;
    udpai_strbuf_puts(self->why, "out of memory");
}

static udpai_change_result
apply(void *of, const udpai_edit *changes, size_t n_changes, udpai_strbuf *why)
{
    publication self = {.cli = of, .why = why, .removed_kind = UDPAI_KINDS};
    if (!self.cli->endpoint) {
        udpai_strbuf_puts(why, "the connection to the node of --apply-to was given up");
        return UDPAI_CHANGE_FAILED;
    }
    for (size_t i = 0; i < n_changes && self.result == UDPAI_CHANGE_MADE; i++) {
        if (changes[i].is_removal)
            add_removal(&self, &changes[i]);
        else
            add_resource(&self, &changes[i]);
    }
    publish(&self);
    clear(&self);
    return self.result;
}

udpai_changer
udpai_publishing_changer(udpai_cli *cli)
{
    return (udpai_changer){apply,
                           UDPAI_CAN_ATOMIC | UDPAI_CAN_TTL | UDPAI_CAN_ALIAS | UDPAI_CAN_XDSTP |
                               UDPAI_CAN_GLOB | UDPAI_CAN_LAZY,
                           cli};
}
