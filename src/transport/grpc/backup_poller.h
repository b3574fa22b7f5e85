/* SPDX-License-Identifier: Apache-2.0 */
/* Answers peers while the stream thread is busy. */
#ifndef UDPAI_BACKUP_POLLER_H
#define UDPAI_BACKUP_POLLER_H

#include <stdint.h>

typedef struct udpai_backup_poller udpai_backup_poller;

/* After so long a turn of the stream thread. NULL: there is no memory or no thread for it, and a
 * node that is busy for long may be taken for a dead one. */
udpai_backup_poller *udpai_backup_poller_new(uint64_t stuck_ms);
/* Waits for its end. */
udpai_backup_poller *udpai_backup_poller_free(udpai_backup_poller *self);
/* The stream thread is busy from now on; 0: it waits for what comes. NULL does nothing. */
void udpai_backup_poller_note(udpai_backup_poller *self, uint64_t now_ms);

#endif
