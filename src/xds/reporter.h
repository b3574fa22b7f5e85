/* SPDX-License-Identifier: Apache-2.0 */
/* A client of a protocol that reports, such as LRS, as the loop side sees it: a peer that
 * publishes. */
#ifndef UDPAI_XDS_REPORTER_H
#define UDPAI_XDS_REPORTER_H

#include "session/hub.h"

/* Its id, as the segment of a name. */
udpa_err udpai_xds_reporter_segment(const udpai_node_info *client, udpa_bytes **ret_segment);

/* Reports that it is there, with these features instead of those that it claims. *ret_closed is for
 * its end; on failure nothing was reported. */
udpa_err udpai_xds_reporter_introduce(udpai_session *session,
                                      const udpai_node_info *client,
                                      const udpai_str *features,
                                      size_t n_features,
                                      udpai_report **ret_closed);
/* Reports its end, while the session is freed; takes the report. NULL: it was not introduced. */
void udpai_xds_reporter_end(udpai_session *session, udpai_report *closed);

#endif
