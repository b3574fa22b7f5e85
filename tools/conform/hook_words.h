/* SPDX-License-Identifier: Apache-2.0 */
/* The lines between the suite and a program that makes changes for it (docs/guide/conform.md). A
 * request is a line of words, and so is its answer. */
#ifndef UDPAI_CONFORM_HOOK_WORDS_H
#define UDPAI_CONFORM_HOOK_WORDS_H

#include "tools/conform/peer.h"

#define UDPAI_HOOK_ASK_ABILITIES "abilities\n"
#define UDPAI_HOOK_COMMIT "commit\n" /* what was set and removed since becomes visible */
#define UDPAI_HOOK_ABORT "abort\n"   /* it does not */

/* "set TYPE_URL NAME VARIANT BASE64 [ttl_ms=N] [alias=NAME] [lazy=1]", or "remove TYPE_URL NAME".
 */
void udpai_hook_put_change(udpai_strbuf *out, const udpai_edit *change);
/* "ok", "unsupported WHY", "error WHY"; what is none of these is an error. The rest is appended. */
udpai_change_result udpai_hook_read_answer(udpai_str line, udpai_strbuf *why);
/* Of the words behind "ok": "atomic", "ttl", "alias", "xdstp", "glob", "lazy"; others mean nothing.
 */
unsigned udpai_hook_read_abilities(udpai_str words);

#endif
