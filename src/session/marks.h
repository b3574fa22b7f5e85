/* SPDX-License-Identifier: Apache-2.0 */
/* How long changes take to reach those who subscribe to them. An order with changes may have marks;
 * each is looked at again and again (at the bounds of the histogram that counts the times), until
 * every client that has a say has acknowledged the change, or something newer in its place, has
 * rejected it, or has gone; or until UDPAI_MARK_PATIENCE_MS are over. What it costs to look is
 * bounded: it ends at the first client that has not.
 *
 * A client has a say if it had its stream when the change was made, and answers what it is sent:
 * sessions of xDS, and of UDPA endpoints. Nodes and requests by REST have none. */
#ifndef UDPAI_MARKS_H
#define UDPAI_MARKS_H

#include "base/wheel.h"
#include "fanout/fanout.h"
#include "session/messages.h"

#define UDPAI_MARK_PATIENCE_MS 60000

typedef struct udpai_marks {
    udpai_fanout *fanout;
    udpai_wheel *wheel;
    udpai_list open;
    /* Takes a UDPAI_REPORT_MARK; may not call back. */
    void (*report)(void *userdata, udpai_report *report);
    void *userdata;
} udpai_marks;

/* Nothing is reported any more. */
void udpai_marks_done(udpai_marks *marks);
/* Of an order whose changes are in the mirror now, and nothing of which was sent yet.
 * @p last_session: the number of the session that has begun last. Each mark is reported once; for
 * want of memory it is not, and its asker must not wait for ever. */
void udpai_marks_begin(udpai_marks *marks, const udpai_order *order, uint64_t last_session);

#endif
