/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/log_stderr.h"

#include <errno.h>
#include <unistd.h>

void
udpai_log_stderr_put(const udpai_log_encoded *line)
{
    for (size_t at = 0; at < line->len;) {
        ssize_t n = write(STDERR_FILENO, line->data + at, line->len - at);
        if (n < 0 && errno != EINTR)
            return; /* there is nowhere to report it to */
        at += n < 0 ? 0 : (size_t)n;
    }
}
