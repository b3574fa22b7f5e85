/* SPDX-License-Identifier: Apache-2.0 */
/* Connecting, waiting, and giving up. A connection that fails at first ends the program at once,
 * because whoever called it wants to know; what is lost later is tried again until the timeout. */
#include "ctl/client.h"

#include <signal.h>

#include "base/error.h"

#define LOOK_MS 20

/* ---- waiting ---- */

void
udpai_ctl_finish(udpai_ctl *ctl, udpai_ctl_exit result)
{
    if (ctl->is_finished)
        return;
    ctl->is_finished = true;
    ctl->result = result;
    uv_stop(&ctl->loop);
}

void
udpai_ctl_heard(udpai_ctl *ctl)
{
    ctl->is_heard = true;
    if (ctl->is_lasting)
        uv_timer_stop(&ctl->deadline);
}

static const udpa_error *
failure(const udpai_ctl *ctl)
{
    return ctl->endpoint ? udpa_endpoint_source_error(ctl->endpoint, UDPAI_CTL_SOURCE) : NULL;
}

static void
complain_of_connection(const udpai_ctl_common *options, const udpa_error *error)
{
    udpai_ctl_complain_of(error);
    udpai_ctl_note("The node's address is given by --server HOST:PORT, or by the environment "
                   "variable UDPACTL_SERVER%s.",
                   options->ca ? "" : "; --ca FILE makes it TLS");
}

static void
fail_to_connect(udpai_ctl *ctl, const udpa_error *error)
{
    if (!ctl->is_quiet)
        complain_of_connection(ctl->options, error);
    udpai_ctl_finish(ctl, UDPAI_CTL_NO_CONNECTION);
}

/* There is no use in waiting for what is not for us. */
static void
end_denied(udpai_ctl *ctl, const udpa_error *error)
{
    if (!ctl->may_be_denied)
        udpai_ctl_complain("%s: %s", ctl->options->server, udpa_error_message(error));
    udpai_ctl_finish(ctl, ctl->may_be_denied ? UDPAI_CTL_GOOD : UDPAI_CTL_REFUSED);
}

void
udpai_ctl_heard_all(udpai_ctl *ctl)
{
    const udpa_error *error = failure(ctl);
    if (error && error != ctl->last_error && udpa_error_code(error) == UDPA_ERR_DENIED)
        end_denied(ctl, error);
    else
        udpai_ctl_finish(ctl, UDPAI_CTL_GOOD);
}

static void
on_look(uv_timer_t *timer)
{
    udpai_ctl *ctl = timer->data;
    const udpa_error *error = failure(ctl);
    if (!error || error == ctl->last_error)
        return;
    ctl->last_error = error;
    if (udpa_error_code(error) == UDPA_ERR_DENIED)
        end_denied(ctl, error);
    else if (!ctl->is_heard)
        fail_to_connect(ctl, error);
    else if (ctl->is_lasting)
        udpai_ctl_complain("%s (trying again)", udpa_error_message(error));
}

static void
complain_of_deadline(const udpai_ctl *ctl, const udpa_error *error)
{
    double seconds = (double)ctl->options->timeout_ms / 1000;
    if (ctl->is_heard && !error)
        udpai_ctl_complain("%s has not said within %g s that this is all: it waits for %s itself "
                           "('udpactl status' tells more); --timeout SECONDS has it wait longer",
                           ctl->options->server, seconds,
                           ctl->waits_for ? ctl->waits_for : "others");
    else
        udpai_ctl_complain("no answer from %s within %g s%s%s", ctl->options->server, seconds,
                           error ? ": " : "; --timeout SECONDS has it wait longer",
                           error ? udpa_error_message(error) : "");
}

static void
on_deadline(uv_timer_t *timer)
{
    udpai_ctl *ctl = timer->data;
    const udpa_error *error = failure(ctl);
    if (!ctl->is_quiet)
        complain_of_deadline(ctl, error);
    udpai_ctl_finish(ctl, error ? UDPAI_CTL_NO_CONNECTION : UDPAI_CTL_TIMED_OUT);
}

udpai_ctl_exit
udpai_ctl_wait(udpai_ctl *ctl)
{
    uv_timer_start(&ctl->deadline, on_deadline, ctl->options->timeout_ms, 0);
    while (!ctl->is_finished)
        uv_run(&ctl->loop, UV_RUN_DEFAULT);
    uv_timer_stop(&ctl->deadline);
    ctl->is_finished = false;
    return ctl->result;
}

static void
on_signal(uv_signal_t *handle, int number)
{
    udpai_ctl *ctl = handle->data;
    (void)number;
    udpai_ctl_finish(ctl, ctl->on_signal);
}

static udpai_ctl_exit
wait_lasting(udpai_ctl *ctl, udpai_ctl_exit on_signals)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    ctl->is_lasting = true;
    ctl->on_signal = on_signals;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(numbers); i++)
        uv_signal_start(&ctl->signals[i], on_signal, numbers[i]);
    udpai_ctl_exit result = udpai_ctl_wait(ctl);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(numbers); i++)
        uv_signal_stop(&ctl->signals[i]);
    ctl->is_lasting = false;
    return result;
}

udpai_ctl_exit
udpai_ctl_wait_long(udpai_ctl *ctl)
{
    return wait_lasting(ctl, UDPAI_CTL_GOOD);
}

udpai_ctl_exit
udpai_ctl_wait_until(udpai_ctl *ctl)
{
    return wait_lasting(ctl, UDPAI_CTL_TIMED_OUT);
}

/* ---- beginning and ending ---- */

udpai_ctl_exit
udpai_ctl_begin(udpai_ctl *ctl, const udpai_ctl_common *options)
{
    *ctl = (udpai_ctl){.options = options};
    int number = uv_loop_init(&ctl->loop);
    if (number != 0) {
        udpai_ctl_complain("cannot make an event loop: %s", uv_strerror(number));
        return UDPAI_CTL_NO_CONNECTION;
    }
    uv_timer_init(&ctl->loop, &ctl->look);
    uv_timer_init(&ctl->loop, &ctl->deadline);
    uv_timer_init(&ctl->loop, &ctl->patience);
    ctl->look.data = ctl->deadline.data = ctl;
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(ctl->signals); i++) {
        uv_signal_init(&ctl->loop, &ctl->signals[i]);
        ctl->signals[i].data = ctl;
    }
    return UDPAI_CTL_GOOD;
}

static void
on_closed(void *userdata)
{
    udpai_ctl *ctl = userdata;
    ctl->endpoint = NULL;
    uv_stop(&ctl->loop);
}

void
udpai_ctl_disconnect(udpai_ctl *ctl)
{
    uv_timer_stop(&ctl->look);
    if (!ctl->endpoint)
        return;
    udpa_endpoint_close(ctl->endpoint, on_closed, ctl);
    while (ctl->endpoint) /* until on_closed: other handles may stop the loop too */
        uv_run(&ctl->loop, UV_RUN_DEFAULT);
}

udpai_ctl_exit
udpai_ctl_connect(udpai_ctl *ctl)
{
    const udpai_ctl_common *options = ctl->options;
    udpa_tls tls = UDPA_TLS_INIT;
    udpa_source source = UDPA_SOURCE_INIT;
    udpa_endpoint_options endpoint = UDPA_ENDPOINT_OPTIONS_INIT;
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    udpai_ctl_disconnect(ctl);
    tls.ca_file = options->ca;
    tls.certificate_file = options->certificate;
    tls.private_key_file = options->key;
    tls.server_name = options->server_name;
    udpa_xds_server xds = UDPA_XDS_SERVER_INIT;
    xds.authority = options->server;
    xds.name_space = udpai_ctl_namespace(options);
    xds.is_state_of_the_world = options->is_state_of_the_world;
    source.xds = options->is_xds && !ctl->rest ? &xds : NULL;
    source.rest = ctl->rest;
    source.name = UDPAI_CTL_SOURCE;
    source.address = options->server;
    source.tls = options->ca ? &tls : NULL;
    endpoint.node_id = options->node_id;
    endpoint.secrets = options->secrets;
    endpoint.sources = &source;
    endpoint.n_sources = 1;
    if (udpa_endpoint_new(&ctl->endpoint, &ctl->loop, &endpoint, &error) != UDPA_OK) {
        udpai_ctl_complain_of(error);
        return UDPAI_CTL_MISTAKE;
    }
    ctl->is_heard = false;
    ctl->last_error = NULL;
    uv_timer_start(&ctl->look, on_look, LOOK_MS, LOOK_MS);
    return UDPAI_CTL_GOOD;
}

void
udpai_ctl_end(udpai_ctl *ctl)
{
    udpai_ctl_disconnect(ctl);
    uv_close((uv_handle_t *)&ctl->look, NULL);
    uv_close((uv_handle_t *)&ctl->deadline, NULL);
    uv_close((uv_handle_t *)&ctl->patience, NULL);
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(ctl->signals); i++)
        uv_close((uv_handle_t *)&ctl->signals[i], NULL);
    uv_run(&ctl->loop, UV_RUN_DEFAULT);
    uv_loop_close(&ctl->loop);
}
