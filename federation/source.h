/* SPDX-License-Identifier: Apache-2.0 */
/* A ConfigSource, for the parts above: what all parts may know of one, and what happens to it. What
 * is amiss with it is fault.h's, what it does not name any more absence.h's. */
#ifndef UDPAI_FEDERATION_SOURCE_H
#define UDPAI_FEDERATION_SOURCE_H

#include "federation/node.h"
#include "federation/sources.h"

/* What a peer could not serve, or has refused, it is asked for again after so long. */
#define UDPAI_ASK_AGAIN_MS 30000

/* ---- source_facts.c ---- */

udpai_str udpai_source_name(const udpai_source *source);
/* A ConfigSource; false: an endpoint that we serve by dialling it. */
bool udpai_source_serves_us(const udpai_source *source);
/* What it has sent; NULL: it does not serve us. */
udpai_origin *udpai_source_origin(const udpai_source *source);
uint64_t udpai_source_link(const udpai_source *source);
/* 0: there is none. */
uint64_t udpai_source_session(const udpai_source *source);
bool udpai_source_is_path(const udpai_source *source);
/* Is it a server of xDS, by whatever transport? */
bool udpai_source_is_xds(const udpai_source *source);
bool udpai_source_is_active(const udpai_source *source);
/* When it was last there, by the wall clock; 0: never. */
int64_t udpai_source_last_contact_us(const udpai_source *source);
/* Its first connection has come, or was not to be waited for any longer. */
bool udpai_source_is_decided(const udpai_source *source);
/* Is it asked for groups of clients, one by one? Else for all. */
bool udpai_source_is_of_clients(const udpai_source *source);
/* The mark of that group; NULL: it is of none. */
struct udpai_mark *udpai_source_clients(const udpai_source *source);
/* That it was made after; NULL: it is configured itself. */
const udpai_source *udpai_source_template(const udpai_source *source);
/* Is it asked for nothing itself, because each group of clients has one that is made after it? */
bool udpai_source_is_template(const udpai_source *source);
/* Did what came by it end, with the resource that it came by? Then nothing is waited for. */
bool udpai_source_is_void(const udpai_source *source);
/* Is it a directory that was read without an error? Then it has sent all of every type. */
bool udpai_source_has_been_read(const udpai_source *source);
/* A file of it that could not be read; else its name. */
udpai_str udpai_source_unread(const udpai_source *source);
/* By the wheel. */
uint64_t udpai_source_active_since_ms(const udpai_source *source);
/* Has it been active for fail_back_delay? */
bool udpai_source_is_steady(const udpai_source *source);
/* On its stream; NULL: there is none. */
const udpai_peer *udpai_source_peer(const udpai_source *source);
/* May it wait for what this node is about to publish, before it answers? */
bool udpai_source_may_wait_for_us(const udpai_source *source);
/* The name in the key of a source's origin; false: it is the key of another one. */
bool udpai_source_name_of_key(udpai_str origin_key, udpai_str *ret_name);
/* Does it wait for a peer of this name to dial us; *ret_name is that. */
bool udpai_source_listens_for(const udpai_source *source, udpai_str *ret_name);
/* Can something be published on its stream? */
bool udpai_source_may_be_published_to(const udpai_source *source);
/* Does it subscribe to what clients report? */
bool udpai_source_may_subscribe(const udpai_source *source);
/* Is it kept warm for what clients report of this type? */
bool udpai_source_is_standby_for(const udpai_source *source, udpai_str type_url);
/* How much of its contents may be missing at once, in percent. */
unsigned udpai_source_max_withdrawal(const udpai_source *source);
/* Whether it holds or not; NULL: there was none. */
const udpa_error *udpai_source_last_error(const udpai_source *source);
/* Why its connection has failed, also while others of its servers are tried; it stays when one is
 * reached. NULL: it did not. */
const udpa_error *udpai_source_fault(const udpai_source *source);
/* The address of the server that is connected, or dialled now or next; ends with a NUL; NULL: it is
 * not dialled by gRPC. */
const char *udpai_source_server(const udpai_source *source);

/* A provider names it at this position, from 0: the first to do so decides its order among the
 * sources. */
void udpai_source_take_order(udpai_source *source, unsigned position);
/* Others may name it at other positions now … */
void udpai_source_forget_order(udpai_source *source);
/* … or none does, and what it has brought is behind all else. */
void udpai_source_put_last(udpai_source *source);
/* Counts something that has happened to it: those that are configured by their names, the others
 * together. */
void udpai_source_meter(const udpai_source *source, udpai_metric metric);
/* Under which name metrics have it. */
udpai_str udpai_source_metric_label(const udpai_source *source);
/* Providers must be computed again, for what follows from its state. */
void udpai_source_touch(udpai_source *source);
/* Something that it sent was rejected, which other keys or rules might let in. */
void udpai_source_note_refused(udpai_source *source);
/* Does it serve us, and bring what this peer publishes? NULL: the peer publishes unasked. */
udpai_source *udpai_peer_source(const udpai_peer *peer);

/* ---- source.c ---- */

/* Makes the one that a group of clients has after this template; the mark is set when providers of
 * the group must be computed again. */
udpa_err udpai_source_new_of_clients(const udpai_source *template,
                                     udpai_str name_space,
                                     struct udpai_mark *clients,
                                     udpai_source **ret_source);
/* Replaces the Node of its group (NULL: it is not known); it is asked anew with that. False:
 * without memory. */
bool
udpai_source_set_client(udpai_source *source, udpai_str name_space, const udpai_node_info *client);

/* After each evaluation of providers: it is reached, and asked for what is subscribed to. */
void udpai_source_evaluate(udpai_source *source, bool may_be_asked);
/* What came by it is withdrawn, and what its stream still sends is ignored. */
void udpai_source_end(udpai_source *source);
void udpai_source_opened(udpai_source *source, udpai_peer *peer);
void udpai_source_introduced(udpai_source *source, udpai_peer *peer);
/* It has sent something. */
void udpai_source_alive(udpai_source *source);
void udpai_source_closed(udpai_source *source, udpa_error *error);
/* Of files: they were read. */
void udpai_source_was_read(udpai_source *source, const udpai_directory *directory);
/* Its stream ends because of what it is; takes the error, NULL: there is no memory for its text. */
void udpai_source_refuse(udpai_source *source, udpa_error *why);
/* The keys or rules have changed: what was rejected for want of them comes again. */
void udpai_source_ask_for_refused(udpai_source *source);
/* A publication of it was received: counts what is in it. */
void udpai_source_count(udpai_source *source, const udpai_publication *publication);
/* … and what follows of it for what was asked. */
void udpai_source_received(udpai_source *source, udpai_publication *publication);

/* ---- connection.c ---- */

/* Ends its stream, or gives up dialling; udpai_source_closed() follows. False: without memory. */
bool udpai_source_hang_up(udpai_source *source);
/* The same, if there is anything to be ended. */
bool udpai_source_disconnect(udpai_source *source);
/* Without memory something that it sent was lost. What it answers is ignored from here on: only
 * another stream, in which it is sent what is held, brings it again. */
void udpai_source_lost_update(udpai_source *source);

/* ---- scope.c ---- */

/* Is it asked for this name? */
bool udpai_source_covers(const udpai_source *source, udpai_str type_url, udpai_str name);
/* Is anything asked of it by name? */
bool udpai_source_is_asked_by_name(const udpai_source *source);
/* Has it sent all that covers this name on the present stream? */
bool udpai_source_has_sent_all(const udpai_source *source, udpai_str type_url, udpai_str name);
/* The same; on demand, is it there to be asked? */
bool udpai_source_has_read(const udpai_source *source, udpai_str type_url, udpai_str name);
/* All below this prefix was known before a restart. */
void udpai_source_restore_mark(const udpai_source *source, udpai_str type_url, udpai_str prefix);
/* The peer cannot serve what it was asked for. */
void udpai_source_refused(udpai_source *source, const udpai_subscription_message *error);
/* The source has sent what may not be cached: with that missing after a restart, nothing negative
 * may follow from what was kept. */
void udpai_source_sent_uncached(udpai_source *source, const udpa_resource *resource);

/* A name that it has refreshed, of which nothing is held here. An empty type: any. */
typedef struct udpai_unmatched {
    udpai_str type_url, name;
} udpai_unmatched;

/* It is asked for the payloads of these. */
void
udpai_source_ask_again(udpai_source *source, const udpai_unmatched *unmatched, size_t n_unmatched);

/* ---- source_requests.c ---- */

/* The source has sent its payload: if that was not kept, it may have to be asked for again. */
void udpai_source_has_sent(udpai_source *source, const udpa_resource *resource);
/* Does anything that the source is asked for bring this resource, in whichever scope? Of what it
 * has just published (NULL: nothing), what the removals name does not. */
bool udpai_source_still_brings(const udpai_source *source,
                               const udpa_resource *resource,
                               const udpai_publication *publication);

/* ---- recovery.c ---- */

/* Of what was taken over from standbys of this node. */
#define UDPAI_ORIGIN_KEY_ADOPTED "adopted"

/* May it have learned something of the name in our stead? */
bool udpai_source_recovers(const udpai_source *source, udpai_str type_url, udpai_str name);
/* Is this node its standby? */
bool udpai_source_is_primary(const udpai_source *source, udpai_str type_url);
/* Does one of both? */
bool udpai_source_has_recovery(const udpai_source *source);
/* Each scope of what it may have learned in our stead, from *at = 0 on; NULL behind the last. */
const struct udpai_scope *udpai_source_next_recovered(const udpai_source *source, size_t *at);
/* Must it be received before anything negative is sent of what it covers? */
bool udpai_scope_is_awaited(const struct udpai_scope *scope);
/* Something of it has become this node's own. */
void udpai_source_note_adopted(udpai_source *source, const udpa_resource *resource);
void udpai_recovery_start(udpai_sources *sources);
/* A client or node comes to us, maybe from the standby: it is reached for at once. */
void udpai_recovery_hurry(udpai_sources *sources);

/* ---- source_status.c ---- */

/* Serialised udpa.status.v1.SourceStatus; NULL without memory. */
udpa_bytes *udpai_source_describe(const udpai_source *source);

#endif
