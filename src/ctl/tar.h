/* SPDX-License-Identifier: Apache-2.0 */
/* An archive of texts in the format ustar (POSIX.1), without what could identify or expose
 * somebody. Pure. */
#ifndef UDPAI_CTL_TAR_H
#define UDPAI_CTL_TAR_H

#include "base/strbuf.h"

/* What stands in the place of a secret. */
#define UDPAI_CTL_REDACTED "(redacted)"
#define UDPAI_CTL_TAR_NAME_MAX 99
#define UDPAI_CTL_TAR_TEXT_MAX ((size_t)32 << 20) /* of one file; more is cut */

/* Appends a file. @p name: with its folders, at most UDPAI_CTL_TAR_NAME_MAX bytes. */
void udpai_ctl_tar_add(udpai_strbuf *tar, const char *name, udpai_str text, int64_t time_s);
/* Appends what ends an archive. */
void udpai_ctl_tar_end(udpai_strbuf *tar);

/* Appends the text without secrets: blocks of PEM that are private keys, and what stands behind
 * password, token, secret and the like, with a colon or an equals sign between, up to the end of
 * the word or of the string. A second look, behind that nothing secret is asked for. */
void udpai_ctl_redact(udpai_strbuf *out, udpai_str text);

#endif
