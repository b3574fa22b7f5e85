/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/front/listen_place.h"

#include "base/util.h"
#include "transport/front/local_socket.h"
#include "transport/front/passed_socket.h"
#include "transport/grpc/listener.h"

#define PATH_PREFIX "unix:"
#define PASSED_PREFIX "fd:"

static bool
begins(const char *address, const char *with)
{
    return strncmp(address, with, strlen(with)) == 0;
}

udpai_listen_place
udpai_listen_place_of(const char *address)
{
    if (begins(address, PASSED_PREFIX))
        return UDPAI_LISTEN_PLACE_PASSED;
    return begins(address, PATH_PREFIX) ? UDPAI_LISTEN_PLACE_PATH : UDPAI_LISTEN_PLACE_PORT;
}

const char *
udpai_listen_place_name(const char *address)
{
    return strchr(address, ':') + 1;
}

udpa_err
udpai_listen_place_check(const char *address, udpa_error **ret_error)
{
    if (udpai_listen_place_of(address) == UDPAI_LISTEN_PLACE_PASSED)
        return udpai_passed_name_check(udpai_listen_place_name(address), ret_error);
    if (udpai_listen_place_of(address) == UDPAI_LISTEN_PLACE_PATH)
        return udpai_local_path_check(udpai_listen_place_name(address), ret_error);
    return udpai_listen_address_check(address, ret_error);
}
