/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets that block: a command line may, a node may not. */
#ifndef UDPAI_DIAL_H
#define UDPAI_DIAL_H

#include "base/strbuf.h"

/* A connection to HOST:PORT, or [HOST]:PORT, that does not block; -1, and why. Waits for as long as
 * the name takes, and @p timeout_ms for each of its addresses. */
int udpai_dial(const char *address, uint64_t timeout_ms, udpai_strbuf *why);
/* Waits for this event of poll(); false: not in this time. */
bool udpai_await_socket(int fd, short event, uint64_t timeout_ms);

#endif
