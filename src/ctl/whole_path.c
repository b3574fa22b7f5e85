/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/whole_path.h"

#include <errno.h>
#include <unistd.h>

#include "cli/messages.h"

bool
udpai_ctl_put_whole_path(udpai_strbuf *out, udpai_str path)
{
    char here[4096];
    if (path.len && path.data[0] == '/') {
        udpai_strbuf_str(out, path);
        return true;
    }
    if (!getcwd(here, sizeof(here))) {
        udpai_cli_complain("the directory that udpactl was called in has no path: %s",
                           strerror(errno));
        return false;
    }
    udpai_strbuf_printf(out, "%s/", here);
    udpai_strbuf_str(out, path);
    return true;
}
