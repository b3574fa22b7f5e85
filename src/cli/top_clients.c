/* SPDX-License-Identifier: Apache-2.0 */
/* Which clients are most behind: what they reject now, then what they have not answered. */
#include <string.h>

#include "base/alloc.h"
#include "cli/client_session.h"
#include "cli/top.h"

typedef Udpa__Status__V1__SessionStatus session_status;

static void
drop(udpai_cli_top_client *client)
{
    udpai_free(client->name);
    udpai_free(client->address);
    udpai_free(client->protocol);
}

static bool
is_worse(const udpai_cli_top_client *a, const udpai_cli_top_client *b)
{
    if (a->n_rejected != b->n_rejected)
        return a->n_rejected > b->n_rejected;
    if (a->n_unanswered != b->n_unanswered)
        return a->n_unanswered > b->n_unanswered;
    return a->n_behind != b->n_behind ? a->n_behind > b->n_behind : a->n_nacks > b->n_nacks;
}

/* Takes it over, or drops it, or the last one. */
static void
insert(udpai_cli_top_clients *self, udpai_cli_top_client client)
{
    size_t at = self->n;
    while (at > 0 && is_worse(&client, &self->items[at - 1]))
        at--;
    if (at == UDPAI_CLI_TOP_CLIENTS_MAX) {
        drop(&client);
        return;
    }
    if (self->n == UDPAI_CLI_TOP_CLIENTS_MAX)
        drop(&self->items[--self->n]);
    memmove(&self->items[at + 1], &self->items[at], (self->n - at) * sizeof(*self->items));
    self->items[at] = client;
    self->n++;
}

static void
add_session(udpai_cli_top_clients *self, const session_status *session)
{
    udpai_cli_top_client client = {.name = NULL};
    self->n_clients++;
    for (size_t i = 0; i < session->n_subscriptions; i++) {
        const Udpa__Status__V1__SubscriptionStatus *subscription = session->subscriptions[i];
        client.n_rejected += subscription->n_refused_resources;
        client.n_unanswered += subscription->n_unanswered;
        client.n_behind += !subscription->in_sync;
        client.n_nacks += subscription->n_refused;
    }
    if (client.n_rejected + client.n_unanswered + client.n_behind == 0)
        return;
    client.name =
        udpai_strdup(*session->peer_node_id ? session->peer_node_id : session->peer_identity);
    client.address = udpai_strdup(session->peer_address);
    client.protocol = udpai_strdup(session->protocol);
    insert(self, client);
}

void
udpai_cli_top_clients_add(udpai_cli_top_clients *clients, udpa_resource *resource)
{
    session_status *session = udpai_cli_client_session_read(resource, false);
    if (session)
        add_session(clients, session);
    udpa__status__v1__session_status__free_unpacked(session, NULL);
}

void
udpai_cli_top_clients_done(udpai_cli_top_clients *clients)
{
    for (size_t i = 0; i < clients->n; i++)
        drop(&clients->items[i]);
    *clients = (udpai_cli_top_clients){.n = 0};
}
