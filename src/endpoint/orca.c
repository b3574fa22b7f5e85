/* SPDX-License-Identifier: Apache-2.0 */
#include <udpa/orca.h>

#include <pthread.h>

#include "base/alloc.h"
#include "endpoint/host.h"
#include "endpoint/orca.h"
#include "xds/orca.h"

_Static_assert(UDPA_ORCA_NAMED_MAX == UDPAI_ORCA_NAMED_MAX &&
                   UDPA_ORCA_NAME_MAX == UDPAI_ORCA_NAME_MAX,
               "the public header says what the code does");

typedef struct udpai_orca_board {
    udpai_service service;
    pthread_mutex_t mutex;       /* held for a few instructions */
    udpai_orca_metrics *metrics; /* NULL: nothing is known */
    udpai_orca_service served;
} udpai_orca_board;

static udpai_orca_board *
of(udpai_service *service)
{
    return UDPAI_CONTAINER_OF(service, udpai_orca_board, service);
}

/* ---- the board ---- */

static udpai_orca_metrics *
get(void *userdata)
{
    udpai_orca_board *board = userdata;
    pthread_mutex_lock(&board->mutex);
    udpai_orca_metrics *metrics = udpai_orca_metrics_ref(board->metrics);
    pthread_mutex_unlock(&board->mutex);
    return metrics;
}

/* Takes the metrics over. */
static void
replace(udpai_orca_board *board, udpai_orca_metrics *metrics)
{
    pthread_mutex_lock(&board->mutex);
    udpai_orca_metrics *old = board->metrics;
    board->metrics = metrics;
    pthread_mutex_unlock(&board->mutex);
    udpai_orca_metrics_unref(old);
}

static void
free_board(udpai_service *service)
{
    udpai_orca_board *board = of(service);
    udpai_orca_metrics_unref(board->metrics);
    pthread_mutex_destroy(&board->mutex);
    udpai_free(board);
}

udpai_service *
udpai_orca_board_new(void)
{
    static const udpai_service_ops ops = {.free = free_board};
    udpai_orca_board *board = udpai_alloc(sizeof(*board));
    if (!board)
        return NULL;
    pthread_mutex_init(&board->mutex, NULL);
    board->service.ops = &ops;
    board->served = (udpai_orca_service){get, board};
    return &board->service;
}

void
udpai_orca_board_methods(udpai_service *service, udpai_grpc_method ret_methods[UDPAI_ORCA_METHODS])
{
    udpai_orca_board *board = of(service);
    ret_methods[0] =
        (udpai_grpc_method){UDPAI_ORCA_PATH, udpai_orca_session_new, &board->served, false};
    ret_methods[1] =
        (udpai_grpc_method){UDPAI_ORCA_V1_PATH, udpai_orca_v1_session_new, &board->served, false};
}

/* ---- setting ---- */

static udpa_err
copy_values(udpai_orca_value **ret_items,
            const udpa_orca_value *values,
            size_t n,
            udpa_error **ret_error)
{
    if (n > UDPA_ORCA_NAMED_MAX)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "%zu values of one kind: at most %d may have names", n,
                          UDPA_ORCA_NAMED_MAX);
    if (n && !values)
        return udpai_fail(ret_error, UDPA_ERR_INVAL, "%zu values, and the array is NULL", n);
    udpai_orca_value *items = udpai_alloc_array(n, sizeof(*items));
    if (!items)
        return UDPA_ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        items[i] = (udpai_orca_value){udpai_str_from(values[i].name), values[i].value};
    *ret_items = items;
    return UDPA_OK;
}

static udpa_err
make_metrics(udpai_orca_metrics **ret_metrics,
             const udpa_orca_metrics *from,
             udpa_error **ret_error)
{
    udpai_orca_value *items[UDPAI_ORCA_KINDS] = {NULL};
    udpai_orca_parts parts = {
        .figures =
            {
                [UDPAI_ORCA_CPU] = from->cpu_utilization,
                [UDPAI_ORCA_MEM] = from->mem_utilization,
                [UDPAI_ORCA_APPLICATION] = from->application_utilization,
                [UDPAI_ORCA_RPS] = from->rps,
                [UDPAI_ORCA_EPS] = from->eps,
            },
    };

    const struct {
        const udpa_orca_value *values;
        size_t n;
    } kinds[UDPAI_ORCA_KINDS] = {
        [UDPAI_ORCA_REQUEST_COSTS] = {from->request_costs, from->n_request_costs},
        [UDPAI_ORCA_UTILIZATIONS] = {from->utilizations, from->n_utilizations},
        [UDPAI_ORCA_NAMED_METRICS] = {from->named_metrics, from->n_named_metrics},
    };

    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < UDPAI_ORCA_KINDS && err == UDPA_OK; i++) {
        err = copy_values(&items[i], kinds[i].values, kinds[i].n, ret_error);
        parts.values[i] = (udpai_orca_values){items[i], kinds[i].n};
    }
    if (err == UDPA_OK)
        err = udpai_orca_metrics_new(ret_metrics, &parts, ret_error);
    for (size_t i = 0; i < UDPAI_ORCA_KINDS; i++)
        udpai_free(items[i]);
    return err;
}

udpa_err
udpa_orca_set(udpa_endpoint *endpoint, const udpa_orca_metrics *metrics, udpa_error **ret_error)
{
    udpai_orca_metrics *made = NULL;
    udpai_service *board = udpai_endpoint_service(endpoint, UDPAI_PLACE_ORCA_BOARD);
    if (!board)
        return udpai_fail(ret_error, UDPA_ERR_PRECONDITION,
                          "no client can ask an endpoint that does not listen: give it a "
                          "listen_address");
    if (metrics && metrics->struct_size < sizeof(*metrics))
        return udpai_fail(ret_error, UDPA_ERR_INVAL,
                          "udpa_orca_metrics: struct_size is %zu: begin with "
                          "UDPA_ORCA_METRICS_INIT",
                          metrics->struct_size);
    udpa_err err = metrics ? make_metrics(&made, metrics, ret_error) : UDPA_OK;
    if (err == UDPA_OK)
        replace(of(board), made);
    return udpai_fail_code(ret_error, err);
}
