/* SPDX-License-Identifier: Apache-2.0 */
/* Reports what a proxy would: the state of a resource that it was sent, and its load. */

/* Try it:
 *
 *     cc report.c -o report $(pkg-config --cflags --libs udpa)
 *     udpad &                                  # a node on 127.0.0.1:18000
 *     udpactl watch udpa.status.v1.ResourceState -o yaml &
 *     udpactl watch udpa.load.v1.ClientLoad -o yaml &
 *     ./report 127.0.0.1:18000 local/greeting &
 *     ./publish 127.0.0.1:18000 local/greeting "hello, world"
 *     ./publish 127.0.0.1:18000 local/greeting "hello again"
 *
 * A version warms for up to a second, while the one before it drains. The load is that of a cluster
 * of the same name. With a second HOST:PORT, of a node that stands in for the first, reports go to
 * the one that the resource comes from. It goes on until it is interrupted. */
#include <signal.h>
#include <stdio.h>

#include <uv.h>

#include <udpa/load.h>
#include <udpa/resource_state.h>
#include <udpa/subscribe.h>

struct proxy {
    udpa_endpoint *endpoint;
    udpa_resource *now, *before; /* versions of the one resource */
    uv_timer_t second, traffic;
    uv_signal_t interrupt;
    udpa_load_recorder *recorder;
    udpa_load_target *backend;
};

static void
set_state(struct proxy *proxy, const udpa_resource *resource, udpa_resource_phase phase)
{
    static const char *const waits_for[] = {"the next second"};
    udpa_resource_state state = UDPA_RESOURCE_STATE_INIT;
    udpa_error *error = NULL;
    state.phase = phase;
    state.waits_for = waits_for;
    state.n_waits_for = phase == UDPA_RESOURCE_WARMING;
    if (resource && udpa_resource_state_set(proxy->endpoint, resource, &state, &error) != UDPA_OK)
        fprintf(stderr, "report: %s\n", udpa_error_message(error));
    udpa_error_unref(error);
}

/* Each second what has warmed is used, and what was used before has gone. */
static void
on_second(uv_timer_t *timer)
{
    struct proxy *proxy = timer->data;
    set_state(proxy, proxy->before, UDPA_RESOURCE_GONE);
    proxy->before = udpa_resource_unref(proxy->before);
    set_state(proxy, proxy->now, UDPA_RESOURCE_ACTIVE);
}

static void
on_update(void *userdata, udpa_update *update)
{
    struct proxy *proxy = userdata;
    if (udpa_update_is_removal(update, 0))
        return; /* it goes on with what it has */
    set_state(proxy, proxy->before, UDPA_RESOURCE_GONE);
    udpa_resource_unref(proxy->before);
    proxy->before = proxy->now;
    proxy->now = udpa_resource_ref(udpa_update_resource(update, 0));
    set_state(proxy, proxy->before, UDPA_RESOURCE_DRAINING);
    set_state(proxy, proxy->now, UDPA_RESOURCE_WARMING);
}

/* A proxy counts on any of its threads; this one has requests that are answered at once. */
static void
on_traffic(uv_timer_t *timer)
{
    const struct proxy *proxy = timer->data;
    udpa_load_request_started(proxy->backend);
    udpa_load_request_succeeded(proxy->backend);
}

static void
on_interrupt(uv_signal_t *handle, int number)
{
    struct proxy *proxy = handle->data;
    (void)number;
    udpa_endpoint_close(proxy->endpoint, NULL, NULL);
    uv_close((uv_handle_t *)&proxy->second, NULL);
    uv_close((uv_handle_t *)&proxy->traffic, NULL);
    uv_close((uv_handle_t *)handle, NULL); /* the loop ends when nothing is left on it */
}

static udpa_err
record(struct proxy *proxy, const char *cluster, udpa_error **ret_error)
{
    udpa_load_place place = UDPA_LOAD_PLACE_INIT;
    udpa_load_report_options options = UDPA_LOAD_REPORT_OPTIONS_INIT;
    place.cluster = cluster;
    place.zone = "here";
    place.address = "192.0.2.1";
    place.port = 8080;
    options.interval_ms = 1000;
    options.per_endpoint = true;
    udpa_err err = udpa_load_recorder_new(&proxy->recorder, NULL, ret_error);
    if (err == UDPA_OK)
        err = udpa_load_target_get(&proxy->backend, proxy->recorder, &place, ret_error);
    if (err == UDPA_OK)
        err = udpa_load_report_begin(proxy->endpoint, proxy->recorder, &options, ret_error);
    return err;
}

static udpa_err
subscribe(struct proxy *proxy, const char *name, udpa_error **ret_error)
{
    udpa_subscription *subscription; /* ends with the endpoint */
    udpa_subscribe_options options = UDPA_SUBSCRIBE_OPTIONS_INIT;
    options.type_url = "google.protobuf.StringValue";
    options.names = &name;
    options.n_names = 1;
    options.update = on_update;
    options.userdata = proxy;
    return udpa_subscribe(&subscription, proxy->endpoint, &options, ret_error);
}

static udpa_err
begin(struct proxy *proxy, char **argv, udpa_error **ret_error)
{
    udpa_source nodes[2] = {UDPA_SOURCE_INIT, UDPA_SOURCE_INIT};
    udpa_endpoint_options options = UDPA_ENDPOINT_OPTIONS_INIT;
    nodes[0].name = "node";
    nodes[0].address = argv[1];
    nodes[1].name = "stand-in";
    nodes[1].address = argv[3];
    options.node_id = "report-example"; /* whose reports they are */
    options.sources = nodes;
    options.n_sources = argv[3] ? 2 : 1; /* for every type, in this order */
    udpa_err err = udpa_endpoint_new(&proxy->endpoint, uv_default_loop(), &options, ret_error);
    if (err == UDPA_OK)
        err = record(proxy, argv[2], ret_error);
    if (err == UDPA_OK)
        err = subscribe(proxy, argv[2], ret_error);
    return err;
}

static void
start(struct proxy *proxy, uv_loop_t *loop)
{
    proxy->second.data = proxy->traffic.data = proxy->interrupt.data = proxy;
    uv_timer_init(loop, &proxy->second);
    uv_timer_start(&proxy->second, on_second, 1000, 1000);
    uv_timer_init(loop, &proxy->traffic);
    uv_timer_start(&proxy->traffic, on_traffic, 10, 10);
    uv_signal_init(loop, &proxy->interrupt);
    uv_signal_start(&proxy->interrupt, on_interrupt, SIGINT);
}

int
main(int argc, char **argv)
{
    static struct proxy proxy;
    udpa_error *error = NULL;
    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: report HOST:PORT NAMESPACE/ID [HOST:PORT]\n");
        return 2;
    }
    if (begin(&proxy, argv, &error) != UDPA_OK) {
        fprintf(stderr, "report: %s\n", udpa_error_message(error));
        udpa_error_unref(error);
        return 1;
    }
    start(&proxy, uv_default_loop());
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    udpa_resource_unref(proxy.now);
    udpa_resource_unref(proxy.before);
    udpa_load_target_unref(proxy.backend);
    udpa_load_recorder_unref(proxy.recorder);
    return 0;
}
