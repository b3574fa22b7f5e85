/* SPDX-License-Identifier: Apache-2.0 */
/* An explanation as JSON: of udpactl explain, and of the page. */
#include "cli/explanation.h"
#include "codec/json_text.h"

static void
put_field(udpai_strbuf *out, const char *name, udpai_str text)
{
    udpai_strbuf_printf(out, "\"%s\":", name);
    udpai_json_put_string(out, text);
    udpai_strbuf_putc(out, ',');
}

static void
put_truth(udpai_strbuf *out, const char *name, bool truth)
{
    udpai_strbuf_printf(out, "\"%s\":%s,", name, truth ? "true" : "false");
}

static void
put_sentence(udpai_strbuf *out,
             const char *name,
             const udpai_cli_explanation *self,
             void (*put)(udpai_strbuf *out, const udpai_cli_explanation *self))
{
    udpai_strbuf text = {0};
    put(&text, self);
    put_field(out, name, udpai_strbuf_view(&text));
    out->failed |= udpai_strbuf_failed(&text);
    udpai_strbuf_done(&text);
}

static void
put_contribution(udpai_strbuf *out,
                 const udpai_cli_explanation *self,
                 const Udpa__Status__V1__Contribution *it)
{
    udpai_strbuf path = {0}, why = {0};
    udpai_cli_put_explanation_path(&path, it);
    udpai_cli_put_explanation_why(&why, self, it);
    udpai_strbuf_putc(out, '{');
    put_field(out, "origin", udpai_str_from(it->origin));
    put_field(out, "authority", udpai_str_from(it->authority));
    put_field(out, "version", udpai_str_from(it->version));
    udpai_strbuf_printf(out, "\"generation\":\"%llu\",", (unsigned long long)it->generation);
    put_field(out, "path", udpai_strbuf_view(&path));
    put_field(out, "because", udpai_strbuf_view(&why));
    put_truth(out, "isEligible", it->eligible);
    put_truth(out, "isSuperseded", it->superseded);
    put_truth(out, "isSigned", it->is_signed);
    put_truth(out, "isHeld", it->held);
    put_field(out, "heldBecause", udpai_str_from(it->held_because));
    udpai_strbuf_printf(out, "\"sizeBytes\":%llu,\"isEffective\":%s}",
                        (unsigned long long)it->size_bytes, it->effective ? "true" : "false");
    out->failed |= udpai_strbuf_failed(&path) || udpai_strbuf_failed(&why);
    udpai_strbuf_done(&path);
    udpai_strbuf_done(&why);
}

static void
put_access(udpai_strbuf *out, const udpai_cli_explanation *self)
{
    const Udpa__Status__V1__AccessStatus *access = self->access;
    udpai_strbuf_puts(out, "\"access\":{");
    put_field(out, "peer", udpai_str_from(udpai_cli_explanation_peer(self)));
    put_truth(out, "hasRules", access->has_rules);
    put_field(out, "rule", udpai_str_from(access->rule));
    put_field(out, "reason", udpai_str_from(access->reason));
    put_truth(out, "isDryRun", access->dry_run);
    udpai_strbuf_printf(out, "\"isAllowed\":%s},", access->allowed ? "true" : "false");
}

static void
put_group(udpai_strbuf *out, const udpai_cli_explanation *self)
{
    udpai_strbuf_puts(out, "\"clientGroup\":{");
    put_field(out, "name", udpai_str_from(self->group->audience));
    udpai_strbuf_puts(out, "\"namespaces\":[");
    for (size_t i = 0; i < self->group->n_namespaces; i++) {
        udpai_strbuf_puts(out, i ? "," : "");
        udpai_json_put_string(out, udpai_str_from(self->group->namespaces[i]));
    }
    udpai_strbuf_printf(out, "],\"isVisible\":%s},",
                        udpai_cli_explanation_is_in_group(self) ? "true" : "false");
}

static void
put_client(udpai_strbuf *out, const udpai_cli_explanation *self)
{
    const Udpa__Status__V1__SessionAcknowledgement *session = udpai_cli_explanation_session(self);
    put_field(out, "client", udpai_str_from(self->client));
    put_sentence(out, "clientFact", self, udpai_cli_put_explanation_client);
    put_field(out, "clientSession", udpai_str_from(session ? session->id : ""));
    if (self->group)
        put_group(out, self);
    if (self->access)
        put_access(out, self);
}

void
udpai_cli_put_explanation_json(udpai_strbuf *out, const udpai_cli_explanation *self)
{
    const Udpa__Status__V1__OriginsStatus *origins = self->origins;
    bool is_served = udpai_cli_explanation_is_served(self);
    out->failed |= udpai_strbuf_failed(&self->waits) || udpai_strbuf_failed(&self->rejecting);
    put_field(out, "typeUrl", udpai_str_from(self->type_url));
    put_field(out, "name", udpai_str_from(self->name));
    put_truth(out, "isServed", is_served);
    put_sentence(out, "fact", self, udpai_cli_put_explanation_fact);
    put_field(out, "waitsFor", udpai_strbuf_view(&self->waits));
    put_field(out, "rejectedOf", is_served ? (udpai_str){0} : udpai_strbuf_view(&self->rejecting));
    put_field(out, "frozen", udpai_str_from(origins ? origins->frozen : ""));
    put_field(out, "replicaHeld", udpai_str_from(self->replica ? self->replica->reason : ""));
    if (self->client)
        put_client(out, self);
    udpai_strbuf_puts(out, "\"contributions\":[");
    for (size_t i = 0; origins && i < origins->n_contributions; i++) {
        udpai_strbuf_puts(out, i ? ",\n" : "");
        put_contribution(out, self, origins->contributions[i]);
    }
    udpai_strbuf_puts(out, "],\"acknowledgements\":");
    udpai_cli_put_awaited_json(out, &self->acknowledgements);
}
