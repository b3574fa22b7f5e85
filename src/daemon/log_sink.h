/* SPDX-License-Identifier: Apache-2.0 */
/* udpad's log: one line each on standard error. */
#ifndef UDPAI_LOG_SINK_H
#define UDPAI_LOG_SINK_H

#include <udpa/log.h>

/* For udpa_log_set_sink(). */
void udpai_log_to_stderr(udpa_log_level level,
                         const char *component,
                         const char *message,
                         void *userdata);

#endif
