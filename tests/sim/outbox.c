/* SPDX-License-Identifier: Apache-2.0 */
#include "outbox.h"

#include <stdlib.h>

void
sim_outbox_put(sim_outbox *outbox, udpa_bytes *message)
{
    if (!message || !udpai_vector_push(&outbox->waiting, message))
        abort();
}

void
sim_outbox_next(sim_outbox *outbox, udpai_outgoing *out, bool *ret_any)
{
    outbox->sending = udpa_bytes_unref(outbox->sending);
    *ret_any = outbox->waiting.n > 0;
    if (!*ret_any)
        return;
    outbox->sending = outbox->waiting.items[0];
    memmove(&outbox->waiting.items[0], &outbox->waiting.items[1],
            --outbox->waiting.n * sizeof(outbox->waiting.items[0]));
    out->parts = &outbox->sending;
    out->n_parts = 1;
}

void
sim_outbox_done(sim_outbox *outbox)
{
    for (size_t i = 0; i < outbox->waiting.n; i++)
        udpa_bytes_unref(outbox->waiting.items[i]);
    udpai_vector_done(&outbox->waiting);
    udpa_bytes_unref(outbox->sending);
}
