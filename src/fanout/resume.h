/* SPDX-License-Identifier: Apache-2.0 */
/* What a subscriber states that it holds (docs/design/fanout.md, "Resuming"); for the files of this
 * folder. */
#ifndef UDPAI_FANOUT_RESUME_H
#define UDPAI_FANOUT_RESUME_H

#include "fanout/fanout_internal.h"

typedef enum udpai_held_state {
    UDPAI_HELD_NOT,     /* it holds nothing, or something else */
    UDPAI_HELD_PAYLOAD, /* it holds the payload, which has come another way since */
    UDPAI_HELD_ALL,
} udpai_held_state;

void udpai_held_init(udpai_subscription *subscription);
bool udpai_held_any(const udpai_subscription *subscription);
/* What does the subscriber state that it holds of this, which is there? The note is used up by the
 * answer. */
udpai_held_state udpai_held_match(udpai_subscription *subscription, udpai_item *item);
/* All notes are to be looked through, once everything up to now was sent. */
void udpai_held_check_when_sent(udpai_subscription *subscription);
void udpai_held_drop_all(udpai_subscription *subscription);
/* Whatever it stated that it holds of this name: it is sent again. */
void udpai_held_forget(udpai_subscription *subscription, udpai_str name);
/* Did it state that it holds something of this name? */
bool udpai_held_has(const udpai_subscription *subscription, udpai_str name);
/* Forgets what the subscription does not select any more. After UDPA_ERR_NOMEM it must begin anew.
 */
udpa_err udpai_held_forget_uncovered(udpai_subscription *subscription);
/* It may hold something of this name: once it is certain that there is nothing, it is sent the
 * removal. Without memory, or room for it, it is not. */
void udpai_held_suspect(udpai_subscription *subscription, udpai_str name);
/* Owes removals for what the subscriber holds and what is certainly not there. */
udpa_err udpai_held_check(udpai_subscription *subscription);

#endif
