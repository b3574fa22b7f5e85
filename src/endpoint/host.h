/* SPDX-License-Identifier: Apache-2.0 */
/* What a service knows of its endpoint (turn.c): the node, the loop, the stream sides, and other
 * services by their places. On the loop. */
#ifndef UDPAI_ENDPOINT_HOST_H
#define UDPAI_ENDPOINT_HOST_H

#include <uv.h>

#include <udpa/endpoint.h>

#include "endpoint/services.h"
#include "loop/loop_wheel.h"
#include "transport/grpc/stream_thread.h"

udpai_node *udpai_endpoint_node(const udpa_endpoint *endpoint);
/* Of this process. */
udpai_stream_thread *udpai_endpoint_streams(const udpa_endpoint *endpoint);
udpai_wheel *udpai_endpoint_wheel(const udpa_endpoint *endpoint);
/* Brings its wheel to the present, which may call back. */
void udpai_endpoint_advance(udpa_endpoint *endpoint);
uv_loop_t *udpai_endpoint_loop(const udpa_endpoint *endpoint);
bool udpai_endpoint_is_closing(const udpa_endpoint *endpoint);
/* What calls into the node have left to do is done in the loop's next turn. */
void udpai_endpoint_touch(udpa_endpoint *endpoint);
/* A subscriber in the process (udpai_node_subscribe) selects this, or does not any more: the
 * services make for it what they make for peers that ask, of a wildcard or of the first name. */
udpa_err udpai_endpoint_note_interest(udpa_endpoint *endpoint,
                                      const udpai_selection *selection,
                                      bool is_subscribed);
/* Takes an order for the stream side, or sides. */
void udpai_endpoint_order(udpa_endpoint *endpoint, udpai_order *order);
/* Spreads attempts to connect; nothing secret depends on it. */
uint64_t udpai_endpoint_random(udpa_endpoint *endpoint);

/* ---- services ---- */

/* NULL: there is none. */
udpai_service *udpai_endpoint_service(const udpa_endpoint *endpoint, udpai_service_place place);
/* Takes it. What is there is replaced, not freed; NULL takes it away. */
void udpai_endpoint_put_service(udpa_endpoint *endpoint,
                                udpai_service_place place,
                                udpai_service *service);
/* Takes a report that the service before this place has held. */
void udpai_endpoint_resume_report(udpa_endpoint *endpoint,
                                  udpai_service_place place,
                                  udpai_report *report);
/* What a service had on another thread is done: a turn, and the end of an endpoint that has waited
 * for it. */
void udpai_endpoint_resume(udpa_endpoint *endpoint);

#endif
