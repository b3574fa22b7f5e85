/* SPDX-License-Identifier: Apache-2.0 */
/* The client's thread: its beginning, its turns, its end. */
#include <signal.h>

#include "loop/clock.h"
#include "loop/thread.h"
#include "transport/etcd/client_internal.h"

/* etcd ends connections that are tried more often than every 5 s. */
#define KEEPALIVE_MS 6000
#define KEEPALIVE_TIMEOUT_MS 2000
#define WINDOW_BYTES ((size_t)4 << 20)

/* ---- the queue ---- */

/* False: the queue was shut down and is empty. */
static bool
turn(udpai_etcd_client *client)
{
    grpc_event event = grpc_completion_queue_next(
        client->cq, udpai_queue_deadline(udpai_awake_next(&client->clock, &client->wheel)), NULL);
    udpai_wheel_advance(&client->wheel,
                        udpai_awake_now(&client->clock, &client->wheel, udpai_monotonic_ms()));
    if (event.type == GRPC_OP_COMPLETE) {
        udpai_tag *tag = event.tag;
        tag->done(tag, event.success);
    }
    return event.type != GRPC_QUEUE_SHUTDOWN;
}

static void *
run(void *userdata)
{
    udpai_etcd_client *client = userdata;
    while (turn(client))
        continue;
    return NULL;
}

static void
on_tasks(udpai_tag *tag, bool ok)
{
    (void)ok;
    udpai_etcd_client *client = UDPAI_CONTAINER_OF(tag, udpai_etcd_client, wake.tag);
    udpai_list tasks, *at;
    udpai_list_init(&tasks);
    udpai_inbox_take(&client->tasks, &tasks);
    while ((at = udpai_list_pop(&tasks))) {
        udpai_etcd_task *task = UDPAI_LIST_ENTRY(at, udpai_etcd_task, node);
        task->run(task);
    }
}

bool
udpai_etcd_client_run(udpai_etcd_client *client, udpai_etcd_task *task)
{
    return udpai_inbox_push(&client->tasks, &task->node);
}

udpai_etcd *
udpai_etcd_client_etcd(udpai_etcd_client *client)
{
    return &client->etcd;
}

udpai_wheel *
udpai_etcd_client_wheel(udpai_etcd_client *client)
{
    return &client->wheel;
}

/* ---- members ---- */

static udpa_err
add_member(udpai_etcd_client *client,
           const udpai_etcd_client_options *options,
           const char *endpoint,
           udpa_error **ret_error)
{
    const udpai_grpc_target_options target = {
        .address = endpoint,
        .tls = options->tls,
        .server_name = options->server_name,
        .keepalive = {KEEPALIVE_MS, KEEPALIVE_TIMEOUT_MS},
        .max_message_bytes = UDPAI_ETCD_RESPONSE_MAX,
        .window_bytes = WINDOW_BYTES,
    };
    udpa_err err =
        udpai_grpc_target_new(&client->members[client->n_members].target, &target, ret_error);
    client->n_members += err == UDPA_OK;
    return err;
}

static udpa_err
add_members(udpai_etcd_client *client,
            const udpai_etcd_client_options *options,
            udpa_error **ret_error)
{
    if (options->n_endpoints == 0 || options->n_endpoints > UDPAI_ETCD_ENDPOINTS_MAX)
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "%zu endpoints of etcd: list 1 to %d, each as HOST:PORT",
                          options->n_endpoints, UDPAI_ETCD_ENDPOINTS_MAX);
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < options->n_endpoints && err == UDPA_OK; i++)
        err = add_member(client, options, options->endpoints[i], ret_error);
    return err;
}

/* gRPC has a copy of the credentials in each channel. */
udpa_err
udpai_etcd_client_replace_tls(udpai_etcd_client *client,
                              const udpai_tls_files *files,
                              udpa_error **ret_error)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < client->n_members && err == UDPA_OK; i++)
        err = udpai_grpc_target_replace_tls(client->members[i].target, files, ret_error);
    return err;
}

/* ---- beginning and end ---- */

static void
wipe_password(udpai_etcd_client *client)
{
    if (client->auth.password)
        explicit_bzero(client->auth.password, strlen(client->auth.password));
    udpai_free(client->auth.password);
    client->auth.password = NULL;
}

udpa_err
udpai_etcd_client_set_password(udpai_etcd_client *client, const char *password)
{
    char *copy = udpai_strdup(password);
    if (!copy)
        return UDPA_ERR_NOMEM;
    pthread_mutex_lock(&client->mutex);
    wipe_password(client);
    client->auth.password = copy;
    pthread_mutex_unlock(&client->mutex);
    return UDPA_OK;
}

static void
free_client(udpai_etcd_client *client)
{
    for (size_t i = 0; i < client->n_members; i++) {
        udpai_etcd_member_drop_channel(&client->members[i]);
        udpai_grpc_target_unref(client->members[i].target);
    }
    wipe_password(client);
    udpai_free(client->auth.user);
    udpa_bytes_unref(client->auth.token);
    udpai_arena_done(&client->arena);
    pthread_mutex_destroy(&client->mutex);
    udpai_free(client);
}

static udpa_err
copy_options(udpai_etcd_client *client,
             const udpai_etcd_client_options *options,
             udpa_error **ret_error)
{
    client->read_timeout_ms =
        options->read_timeout_ms ? options->read_timeout_ms : UDPAI_ETCD_READ_TIMEOUT_MS;
    client->write_timeout_ms =
        options->write_timeout_ms ? options->write_timeout_ms : UDPAI_ETCD_WRITE_TIMEOUT_MS;
    if (options->user) {
        client->auth.user = udpai_strdup(options->user);
        client->auth.password = udpai_strdup(options->password ? options->password : "");
        if (!client->auth.user || !client->auth.password)
            return UDPA_ERR_NOMEM;
    }
    return add_members(client, options, ret_error);
}

static const udpai_etcd_ops client_ops = {
    .range = udpai_etcd_client_range,
    .txn = udpai_etcd_client_txn,
    .lease_grant = udpai_etcd_client_lease_grant,
    .lease_keep_alive = udpai_etcd_client_lease_keep_alive,
    .lease_revoke = udpai_etcd_client_lease_revoke,
    .status = udpai_etcd_client_status,
    .cancel = udpai_etcd_client_cancel,
    .watch = udpai_etcd_client_watch,
    .ask_progress = udpai_etcd_client_ask_progress,
    .unwatch = udpai_etcd_client_unwatch,
};

static void
init(udpai_etcd_client *client)
{
    client->etcd.ops = &client_ops;
    pthread_mutex_init(&client->mutex, NULL); /* cannot fail */
    udpai_wheel_init(&client->wheel, udpai_monotonic_ms());
    udpai_arena_init(&client->arena);
    udpai_list_init(&client->auth.waiting);
    udpai_list_init(&client->requests);
    udpai_list_init(&client->watches);
    udpai_list_init(&client->rpcs);
}

static void
free_queue(udpai_etcd_client *client)
{
    grpc_channel_destroy(client->wake_channel);
    grpc_completion_queue_destroy(client->cq);
    grpc_shutdown();
}

/* gRPC's own threads must not get signals either. */
static int
start(udpai_etcd_client *client)
{
    sigset_t before;
    udpai_signals_block(&before);
    grpc_init();
    client->cq = grpc_completion_queue_create_for_next(NULL);
    client->wake_channel = udpai_wake_channel_new();
    udpai_wake_init(&client->wake, client->wake_channel, client->cq, on_tasks);
    int number = udpai_thread_begin(&client->thread, "udpa-etcd", run, client);
    udpai_signals_restore(&before);
    if (number != 0) {
        grpc_call_unref(client->wake.call);
        grpc_completion_queue_shutdown(client->cq);
        while (turn(client))
            continue;
        free_queue(client);
    }
    return number;
}

udpa_err
udpai_etcd_client_new(udpai_etcd_client **ret_client,
                      const udpai_etcd_client_options *options,
                      udpa_error **ret_error)
{
    udpai_etcd_client *client = udpai_alloc(sizeof(*client));
    if (!client)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    init(client);
    udpa_err err = copy_options(client, options, ret_error);
    if (err == UDPA_OK)
        err = udpai_inbox_init(&client->tasks, udpai_wake_send, &client->wake);
    if (err != UDPA_OK) {
        free_client(client);
        return udpai_fail_code(ret_error, err);
    }
    int number = start(client);
    if (number != 0) {
        char text[128];
        udpai_inbox_done(&client->tasks);
        free_client(client);
        return udpai_fail(ret_error, UDPA_ERR_IO, "cannot start the thread that talks to etcd: %s",
                          strerror_r(number, text, sizeof(text)));
    }
    *ret_client = client;
    return UDPA_OK;
}

static void
run_stop(udpai_etcd_task *task)
{
    udpai_etcd_client *client = UDPAI_CONTAINER_OF(task, udpai_etcd_client, stop);
    udpai_list tasks;
    udpai_list_init(&tasks);
    client->is_stopping = true;
    udpai_inbox_close(&client->tasks, &tasks);
    grpc_call_unref(client->wake.call);
    udpai_etcd_requests_stop(client);
    udpai_etcd_watches_stop(client);
    udpai_etcd_client_check_end(client);
}

udpai_etcd_client *
udpai_etcd_client_free(udpai_etcd_client *client)
{
    if (!client)
        return NULL;
    client->stop.run = run_stop;
    (void)udpai_etcd_client_run(client, &client->stop);
    pthread_join(client->thread, NULL);
    free_queue(client);
    udpai_inbox_done(&client->tasks);
    free_client(client);
    return NULL;
}
