/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors 0 to 2, which the parent of a program may have closed. */
#ifndef UDPAI_STANDARD_STREAMS_H
#define UDPAI_STANDARD_STREAMS_H

#include "base/util.h"

/* Opens /dev/null as each of the three that is closed; for main(), before anything else is opened.
 * A file or socket that became one of them would be written into by messages, and libuv ends the
 * program rather than close it. false: it cannot be opened, and errno has the reason. */
bool udpai_standard_streams_open(void);

#endif
