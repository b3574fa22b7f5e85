/* SPDX-License-Identifier: Apache-2.0 */
#include "loop/standard_streams.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

bool
udpai_standard_streams_open(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) != -1 || errno != EBADF)
            continue;
        /* The lowest that is free: this one, since those below it are open by now. Programs that we
         * start have it too, as they would have had the stream. */
        if (open("/dev/null", O_RDWR) != fd)
            return false;
    }
    return true;
}
