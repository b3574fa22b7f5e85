/* SPDX-License-Identifier: Apache-2.0 */
/* orca.h and orca_collector.h of a library that was built without ORCA: its methods are known by
 * name, and not served; no values are taken, and no backend is asked. */
#include <udpa/orca.h>

#include "base/alloc.h"
#include "endpoint/orca.h"
#include "endpoint/orca_collector.h"
#include "xds/orca.h"

/* ---- the board ---- */

static void
free_board(udpai_service *board)
{
    udpai_free(board);
}

udpai_service *
udpai_orca_board_new(void)
{
    static const udpai_service_ops ops = {.free = free_board};
    udpai_service *board = udpai_alloc(sizeof(*board));
    if (board)
        board->ops = &ops;
    return board;
}

void
udpai_orca_board_methods(udpai_service *board, udpai_grpc_method ret_methods[UDPAI_ORCA_METHODS])
{
    (void)board;
    void *why = (void *)(uintptr_t)udpai_orca_absent();
    ret_methods[0] = (udpai_grpc_method){UDPAI_ORCA_PATH, NULL, why, false};
    ret_methods[1] = (udpai_grpc_method){UDPAI_ORCA_V1_PATH, NULL, why, false};
}

udpa_err
udpa_orca_set(udpa_endpoint *endpoint, const udpa_orca_metrics *metrics, udpa_error **ret_error)
{
    (void)endpoint;
    (void)metrics;
    return udpai_fail(ret_error, UDPA_ERR_UNIMPLEMENTED, "%s", udpai_orca_absent());
}

/* ---- backends that are asked ---- */

udpa_err
udpai_orca_collector_new(udpai_service **ret_collector, const udpai_orca_collector_options *options)
{
    (void)ret_collector;
    return options->rules.n_authorities ? UDPA_ERR_UNIMPLEMENTED : UDPA_OK;
}
