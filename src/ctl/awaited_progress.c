/* SPDX-License-Identifier: Apache-2.0 */
/* How far the clients are with what is awaited, as a line for a terminal. */
#include "base/vector.h"
#include "cli/names.h"
#include "ctl/awaited_view.h"

#define NAMES_MAX 20 /* of peers: more do not fit into a line */

typedef Udpa__Status__V1__SessionAcknowledgement session_message;

/* Added up over what is meant. */
typedef struct progress {
    size_t n_items, n_answered, n_acknowledged_items;
    uint64_t n_acknowledged, n_asked; /* of subscribers, those that can acknowledge */
    const udpai_cli_awaited *missing; /* the first that is not there; NULL: all are */
    const char *peers[NAMES_MAX];     /* that have not acknowledged something */
    size_t n_peers;
    bool has_more;
} progress;

static bool
is_pending(const session_message *session)
{
    switch (session->state) {
    case UDPA__STATUS__V1__SESSION_ACKNOWLEDGEMENT__STATE__ACKNOWLEDGED:
    case UDPA__STATUS__V1__SESSION_ACKNOWLEDGEMENT__STATE__SENT:
    case UDPA__STATUS__V1__SESSION_ACKNOWLEDGEMENT__STATE__UNTOLD:
        return false;
    default:
        return true;
    }
}

static const char *
name_of(const session_message *session)
{
    const char *peer = udpai_cli_awaited_peer(session);
    return *peer ? peer : session->peer_address;
}

static void
add_peer(progress *self, const char *peer)
{
    for (size_t i = 0; i < self->n_peers; i++)
        if (strcmp(self->peers[i], peer) == 0)
            return;
    if (self->n_peers < NAMES_MAX)
        self->peers[self->n_peers++] = peer;
    else
        self->has_more = true;
}

static void
add_item(progress *self, const udpai_cli_awaited *awaited, bool is_acknowledged)
{
    self->n_items++;
    self->n_acknowledged_items += is_acknowledged;
    if (!awaited->status)
        return;
    self->n_answered++;
    if (!udpai_cli_awaited_is_there(awaited)) {
        self->missing = self->missing ? self->missing : awaited;
        return;
    }
    self->n_acknowledged += awaited->status->n_acknowledged;
    self->n_asked +=
        awaited->status->n_subscribed - awaited->status->n_sent - awaited->status->n_untold;
    for (size_t i = 0; i < awaited->status->n_sessions; i++)
        if (is_pending(awaited->status->sessions[i]))
            add_peer(self, name_of(awaited->status->sessions[i]));
    for (size_t i = 0; i < awaited->absent.n; i++)
        if (awaited->absent.items[i].has_left) {
            self->n_asked++;
            add_peer(self, awaited->absent.items[i].peer);
        }
}

static progress
add_up(const udpai_cli_awaited_list *list)
{
    progress self = {0};
    for (size_t i = 0; i < list->items.n; i++)
        if (udpai_cli_awaited_is_meant(list, i))
            add_item(&self, &list->items.items[i],
                     udpai_cli_awaited_progress(list, i) == UDPAI_CLI_ACKNOWLEDGED);
    return self;
}

/* ---- words ---- */

static void
put_counts(udpai_strbuf *out, const progress *self, uint64_t at_least)
{
    if (self->n_items > 1)
        udpai_strbuf_printf(out, "%zu of %zu resources acknowledged, by ",
                            self->n_acknowledged_items, self->n_items);
    bool lacks = self->n_items == 1 && at_least > self->n_asked;
    udpai_strbuf_printf(out, "%llu of %s%llu %s", (unsigned long long)self->n_acknowledged,
                        lacks ? "at least " : "",
                        (unsigned long long)(lacks ? at_least : self->n_asked),
                        self->n_items > 1 ? "subscriptions" : "clients acknowledge");
}

static void
put_peers(udpai_strbuf *out, const progress *self)
{
    for (size_t i = 0; i < self->n_peers; i++)
        udpai_strbuf_printf(out, "%s%s", i ? ", " : ", waiting for: ", self->peers[i]);
    udpai_strbuf_puts(out, self->has_more ? ", …" : "");
}

static void
put_missing(udpai_strbuf *out, const udpai_cli_awaited *missing)
{
    udpai_str kind = udpai_cli_type_short(udpai_str_from(missing->type_url));
    udpai_strbuf_printf(out, "%.*s %s is %s", (int)kind.len, kind.data, missing->name,
                        missing->is_removal        ? "still there"
                        : !missing->status->exists ? "not there"
                                                   : "not there in this version");
}

void
udpai_ctl_put_awaited_progress(udpai_strbuf *out, const udpai_cli_awaited_list *list)
{
    progress self = add_up(list);
    if (self.n_answered == 0) {
        udpai_strbuf_puts(out, "the node has not answered");
        return;
    }
    if (self.missing && self.n_items == 1) {
        put_missing(out, self.missing);
        return;
    }
    put_counts(out, &self, list->at_least);
    put_peers(out, &self);
    if (self.missing) {
        udpai_strbuf_puts(out, "; ");
        put_missing(out, self.missing);
    }
}
