/* SPDX-License-Identifier: Apache-2.0 */
/* For subscribers that are notified of changes, and look up what there is then: nothing is composed
 * for them. */
#ifndef UDPAI_XDS_NOTICE_H
#define UDPAI_XDS_NOTICE_H

#include "fanout/fanout.h"

extern const udpai_renderer udpai_xds_notice_renderer;

#endif
