/* SPDX-License-Identifier: Apache-2.0 */
/* orca.h of a program that was built without ORCA, as far as somebody above refers to it. */
#include "xds/orca.h"

const char *
udpai_orca_absent(void)
{
    return "this program was built without ORCA (meson -Dorca=false)";
}

/* No backend is asked, so nobody has a question. */
udpai_orca_question *
udpai_orca_question_new(const udpai_orca_backend *backend)
{
    (void)backend;
    return NULL;
}

void
udpai_orca_question_drop(void *question)
{
    (void)question;
}

udpa_err
udpai_orca_collect_session_new(udpai_session **ret_session,
                               udpai_hub *hub,
                               const udpai_stream_info *info)
{
    (void)ret_session;
    (void)hub;
    (void)info;
    return UDPA_ERR_UNIMPLEMENTED;
}
