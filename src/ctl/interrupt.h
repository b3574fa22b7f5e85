/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that go on until SIGINT or SIGTERM: they end between two steps, and as what was asked
 * for. */
#ifndef UDPAI_CTL_INTERRUPT_H
#define UDPAI_CTL_INTERRUPT_H

#include <stdbool.h>
#include <stdint.h>

/* From now on. */
void udpai_ctl_catch_interrupts(void);
/* Has one come? */
bool udpai_ctl_is_interrupted(void);
/* Returns early if one comes; not while the loop of a connection has handlers of its own. */
void udpai_ctl_wait_s(uint64_t seconds);

#endif
