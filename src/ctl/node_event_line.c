/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/node_event_line.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "cli/display.h"
#include "udpa/event/v1/event.pb-c.h"

#define KIND_MAX 32

typedef Udpa__Event__V1__NodeEvent event_message;

static void
put_time(udpai_strbuf *out, int64_t time_us)
{
    int64_t millis = time_us / 1000;
    time_t seconds = (time_t)(millis / 1000);
    struct tm utc;
    char text[32] = "-";
    if (time_us < 0 || !gmtime_r(&seconds, &utc)) {
        udpai_strbuf_puts(out, text);
        return;
    }
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
    udpai_strbuf_printf(out, "%s.%03dZ", text, (int)(millis % 1000));
}

/* "FAIL_OVER" is "fail-over". */
static void
format_kind(char room[KIND_MAX], int kind)
{
    const ProtobufCEnumValue *value =
        protobuf_c_enum_descriptor_get_value(&udpa__event__v1__node_event__kind__descriptor, kind);
    size_t len = 0;
    if (!value || kind == UDPA__EVENT__V1__NODE_EVENT__KIND__KIND_UNSPECIFIED) {
        snprintf(room, KIND_MAX, "kind-%d", kind); /* of a later node */
        return;
    }
    for (; value->name[len] && len + 1 < KIND_MAX; len++)
        room[len] = value->name[len] == '_' ? '-' : (char)tolower((unsigned char)value->name[len]);
    room[len] = '\0';
}

static const char *
subject_of(const event_message *event)
{
    const char *const all[] = {event->source, event->peer, event->identity, event->address,
                               event->name};
    for (size_t i = 0; i < UDPAI_ARRAY_LEN(all); i++)
        if (*all[i])
            return all[i];
    return "-";
}

static void
put_event(udpai_strbuf *out, const event_message *event)
{
    static const char *const severities[] = {"-", "info", "warning", "error"};
    char kind[KIND_MAX];
    unsigned severity = (unsigned)event->severity;
    format_kind(kind, (int)event->kind);
    udpai_strbuf_printf(out, "  %-7s  %-19s  ",
                        severity < UDPAI_ARRAY_LEN(severities) ? severities[severity] : "-", kind);
    udpai_cli_put_text(out, udpai_str_from(subject_of(event)));
    udpai_strbuf_puts(out, "  ");
    udpai_cli_put_text(out, udpai_str_from(event->text));
    if (event->n_suppressed)
        udpai_strbuf_printf(out, " (%" PRIu64 " more not shown)", event->n_suppressed);
}

void
udpai_ctl_node_event_put(udpai_strbuf *out, int64_t time_us, udpai_str event)
{
    event_message *read =
        udpa__event__v1__node_event__unpack(NULL, event.len, (const uint8_t *)event.data);
    put_time(out, time_us);
    if (read)
        put_event(out, read);
    else
        udpai_strbuf_puts(out, "  an event that cannot be read");
    udpai_strbuf_putc(out, '\n');
    if (read)
        udpa__event__v1__node_event__free_unpacked(read, NULL);
}

void
udpai_ctl_node_event_gap_put(udpai_strbuf *out, uint64_t n_lost)
{
    udpai_strbuf_printf(out, "%" PRIu64 " events are missing here\n", n_lost);
}
