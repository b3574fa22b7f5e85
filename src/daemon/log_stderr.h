/* SPDX-License-Identifier: Apache-2.0 */
/* A line of the log on standard error. Any thread; a line is one write, so lines do not mix. */
#ifndef UDPAI_LOG_STDERR_H
#define UDPAI_LOG_STDERR_H

#include "daemon/log_format.h"

void udpai_log_stderr_put(const udpai_log_encoded *line);

#endif
