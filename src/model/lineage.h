/* SPDX-License-Identifier: Apache-2.0 */
/* Which store it is, as a node announces it (docs/design/wire.md): the epoch that the store has,
 * and each of its openings: "epoch id@number id@number", the oldest first. The number is that of
 * the last commit before the opening. A store that was copied back to a moment within an opening
 * was opened again at that moment, which the one after it has. Pure text; nothing is allocated. */
#ifndef UDPAI_LINEAGE_H
#define UDPAI_LINEAGE_H

#include "base/util.h"

#define UDPAI_LINEAGE_OPENINGS 16 /* are listed, at most */

/* The epoch alone, a view. */
udpai_str udpai_lineage_epoch(udpai_str lineage);
/* The id of its last opening, a view; empty: it has none. */
udpai_str udpai_lineage_last(udpai_str lineage);
/* Is it the store of which this commit was seen, in this opening, as remembered ("epoch opening",
 * or the epoch alone), and no older copy of it that has continued? An opening that it does not list
 * any more is none of its own. */
bool udpai_lineage_comes_from(udpai_str lineage, udpai_str seen, uint64_t seen_commit);

#endif
