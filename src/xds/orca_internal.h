/* SPDX-License-Identifier: Apache-2.0 */
/* What a session that asks by ORCA sends, and makes of the answers. */
#ifndef UDPAI_ORCA_INTERNAL_H
#define UDPAI_ORCA_INTERNAL_H

#include "xds/orca.h"

struct udpai_orca_question {
    udpai_orca_backend backend;
    udpa_bytes *name; /* of the reports */
};

/* An OrcaLoadReportRequest; NULL without memory. */
udpa_bytes *udpai_orca_question_encode(const udpai_orca_question *question);
/* The resource with what the backend has reported. */
udpa_err udpai_orca_question_answer(const udpai_orca_question *question,
                                    const udpai_orca_metrics *metrics,
                                    udpa_resource **ret_resource);

#endif
