/* SPDX-License-Identifier: Apache-2.0 */
/* Names of files of the command line, for who is in another directory. */
#ifndef UDPAI_CTL_WHOLE_PATH_H
#define UDPAI_CTL_WHOLE_PATH_H

#include "base/strbuf.h"

/* Appends the path from the root; a relative one is of the directory that udpactl was called in.
 * False: that has no path, which is printed. */
bool udpai_ctl_put_whole_path(udpai_strbuf *out, udpai_str path);

#endif
