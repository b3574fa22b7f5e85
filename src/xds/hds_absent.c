/* SPDX-License-Identifier: Apache-2.0 */
/* hds.h of a program that was built without HDS: its methods are known by name, and not served. */
#include "xds/hds.h"

const char *
udpai_hds_absent(void)
{
    return "this program was built without HDS (meson -Dhds=false)";
}

void
udpai_hds_init(udpai_hds_service *service, udpai_xds_server *server)
{
    *service = (udpai_hds_service){
        .server = server,
        .methods =
            {
                {UDPAI_HDS_STREAM_PATH, false, service},
                {UDPAI_HDS_FETCH_PATH, true, service},
            },
    };
}

udpa_err
udpai_hds_session_new(udpai_session **ret_session, udpai_hub *hub, const udpai_stream_info *info)
{
    (void)ret_session;
    (void)hub;
    (void)info;
    return UDPA_ERR_UNIMPLEMENTED;
}
