/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/not_dumpable.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#endif
#ifndef HAS_SANITIZER
#define HAS_SANITIZER 0
#endif

udpa_err
udpai_daemon_set_not_dumpable(udpa_error **ret_error)
{
    if (HAS_SANITIZER || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)
        return UDPA_OK;
    return udpai_fail(ret_error, UDPA_ERR_IO, "--not-dumpable: %s", strerror(errno));
}
