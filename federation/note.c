/* SPDX-License-Identifier: Apache-2.0 */
/* Events of the node, for its surroundings, which bound their rate. */
#include <stdarg.h>
#include <stdio.h>

#include "federation/context.h"

void
udpai_context_note(const udpai_context *context,
                   udpai_node_event_kind kind,
                   udpa_log_level level,
                   const udpai_log_field *about,
                   size_t n_about,
                   const char *format,
                   ...)
{
    char text[UDPAI_LOG_MESSAGE_MAX];
    va_list args;
    if (!context->env.note)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    const udpai_node_event event = {kind, level, text, about, n_about};
    context->env.note(context->env.userdata, &event);
}
