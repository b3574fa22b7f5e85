/* SPDX-License-Identifier: Apache-2.0 */
/* The bootstrap file without what could be a secret, for those whom it is shown to: what a row of
 * its tables (fields.h) discloses stays, the rest is replaced. Pure. */
#ifndef UDPAI_DAEMON_REDACT_H
#define UDPAI_DAEMON_REDACT_H

#include "base/strbuf.h"
#include "daemon/fields.h"
#include "wire/arena.h"

/* What stands in the place of a secret. */
#define UDPAI_REDACTED "(redacted)"

/* Replaces in the message of this section, which was unpacked into the arena, each value that its
 * row does not disclose; of a Struct its keys stay. Of the rest see udpai_redact_text(). False: no
 * memory; then the message must not be shown. */
bool udpai_redact(const udpai_section *section, ProtobufCMessage *message, udpai_arena *arena);

/* Appends a text that may be shown, but for what no name, address or path has: user and password in
 * a URL, and all of a text with a line end, such as a key in PEM. */
void udpai_redact_text(udpai_strbuf *out, udpai_str text);

#endif
