/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer may have us do for nothing. Frames that bring no message and begin no call cost us as
 * much as them, or more; a call that is reset at once costs us a session. Of each kind a connection
 * has an allowance of its own, and all connections of an address have another one together: so who
 * has used up all of it and comes back has little, and others of that address still have theirs. A
 * peer beyond both is disconnected with ENHANCE_YOUR_CALM. Frames that may answer what we have sent
 * are free: a client lets us send more, and tries us, as we send. nghttp2 bounds heads, and passes
 * over frames of kinds that it does not know. */
#include "transport/door/door_internal.h"

/* Of a connection, and of all of one address; per second that much more. */
static const struct kind {
    const char *words;
    uint32_t own, own_per_s, shared, shared_per_s;
} idle_frames = {"frames that ask for nothing", 400, 20, 10000, 2000},
  resets = {"calls that it has reset", 50, 10, 400, 100},
  refusals = {"calls that were refused", 16, 2, 2000, 500},
  requests = {"requests that were refused", 16, 2, 500, 100}; /* a visit costs two threads */

#define ANSWERS_A_MESSAGE 8    /* frames that a peer may send for one of ours */
#define BYTES_AN_ANSWER 1024   /* or for so many bytes of it */
#define ANSWERS_KEPT_MAX 40000 /* of those that did not come */

static bool
take(udpai_door_allowance *allowance, uint64_t now_ms, uint32_t most, uint32_t per_s)
{
    uint64_t more = (now_ms - allowance->refilled_ms) * per_s / 1000;
    if (more) {
        allowance->left = (uint32_t)(allowance->left + more < most ? allowance->left + more : most);
        allowance->refilled_ms = now_ms;
    }
    if (!allowance->left)
        return false;
    allowance->left--;
    return true;
}

static void
report(udpai_door_connection *connection, const struct kind *kind)
{
    udpai_door *door = connection->listener->door;
    unsigned n_suppressed;
    atomic_fetch_add_explicit(&door->n_floods, 1, memory_order_relaxed);
    udpai_str address = udpai_bytes_view(connection->peer.address);
    if (udpai_log_allow(&door->flood_log, door->wheel->now_ms, &n_suppressed))
        udpai_log_about(UDPA_LOG_WARNING, UDPAI_LOG_DOOR,
                        UDPAI_ABOUT({UDPAI_LOG_ADDRESS, address},
                                    {UDPAI_LOG_CODE, udpai_log_code_of(UDPA_ERR_LIMIT)}),
                        "%.*s is disconnected: too many %s (%u more not shown)", (int)address.len,
                        address.data, kind->words, n_suppressed);
}

/* By these words a client of gRPC pings half as often from then on (gRFC A8). */
static bool
report_pings(udpai_door_connection *connection)
{
    static const char reason[] = "too_many_pings";
    nghttp2_session *session = connection->session;
    return nghttp2_submit_goaway(
               session, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(session),
               NGHTTP2_ENHANCE_YOUR_CALM, (const uint8_t *)reason, sizeof(reason) - 1) == 0;
}

static bool
calm_down(udpai_door_connection *connection, const struct kind *kind)
{
    if (connection->is_shaken)
        return true;
    connection->is_shaken = true; /* what it sends behind this is dropped by nghttp2 */
    udpai_door_connection_dirty(connection);
    report(connection, kind);
    return nghttp2_session_terminate_session(connection->session, NGHTTP2_ENHANCE_YOUR_CALM) == 0;
}

void
udpai_door_flooded(udpai_door_connection *connection)
{
    if (!connection->is_shaken)
        report(connection, &idle_frames);
}

static bool
is_within(const udpai_door_connection *connection,
          const struct kind *kind,
          udpai_door_allowance *own,
          udpai_door_allowance *shared)
{
    uint64_t now_ms = connection->listener->door->wheel->now_ms;
    return take(own, now_ms, kind->own, kind->own_per_s) ||
           take(shared, now_ms, kind->shared, kind->shared_per_s);
}

static bool
allow(udpai_door_connection *connection,
      const struct kind *kind,
      udpai_door_allowance *own,
      udpai_door_allowance *shared)
{
    return is_within(connection, kind, own, shared) || calm_down(connection, kind);
}

static bool
asks_for_nothing(const nghttp2_frame_hd *frame)
{
    if (frame->type == NGHTTP2_DATA)
        return frame->length == 0 && !(frame->flags & NGHTTP2_FLAG_END_STREAM);
    return frame->type != NGHTTP2_HEADERS && frame->type != NGHTTP2_RST_STREAM;
}

bool
udpai_door_allow_frame(udpai_door_connection *connection, const nghttp2_frame_hd *frame)
{
    if (!asks_for_nothing(frame))
        return true;
    if (connection->n_answers) {
        connection->n_answers--;
        return true;
    }
    if (is_within(connection, &idle_frames, &connection->idle_frames,
                  &connection->address->idle_frames))
        return true;
    if (frame->type == NGHTTP2_PING && !connection->is_shaken && !report_pings(connection))
        return false;
    return calm_down(connection, &idle_frames);
}

void
udpai_door_expect_answers(udpai_door_connection *connection, size_t size)
{
    size_t n = connection->n_answers + ANSWERS_A_MESSAGE + size / BYTES_AN_ANSWER;
    connection->n_answers = (uint32_t)udpai_min_size(n, ANSWERS_KEPT_MAX);
}

bool
udpai_door_allow_reset(udpai_door_connection *connection)
{
    return allow(connection, &resets, &connection->resets, &connection->address->resets);
}

/* Where each peer has proved who it is, one of whose connections many calls are refused is to go.
 * Elsewhere a proxy may have brought many clients together, of which one is refused: then only
 * those go that are a flood. */
static bool
allow_one(udpai_door_connection *connection, const struct kind *kind, udpai_door_allowance *shared)
{
    const udpai_door_listen_options *options = &connection->listener->options;
    if (options->events->is_open_to_all(options->userdata))
        return allow(connection, kind, &connection->refusals, shared);
    return take(&connection->refusals, connection->listener->door->wheel->now_ms, refusals.own,
                refusals.own_per_s);
}

bool
udpai_door_allow_refusal(udpai_door_connection *connection)
{
    return allow_one(connection, &refusals, &connection->address->refusals);
}

bool
udpai_door_allow_request(udpai_door_connection *connection)
{
    return allow_one(connection, &requests, &connection->address->requests);
}

bool
udpai_door_is_suspect(const udpai_door_connection *connection)
{
    return connection->resets.left < resets.own / 2 ||
           connection->refusals.left < refusals.own / 2 ||
           connection->idle_frames.left < idle_frames.own / 2;
}

void
udpai_door_allowances_init(udpai_door_connection *connection)
{
    uint64_t now_ms = connection->listener->door->wheel->now_ms;
    udpai_address *address = connection->address;
    connection->idle_frames = (udpai_door_allowance){idle_frames.own, now_ms};
    connection->resets = (udpai_door_allowance){resets.own, now_ms};
    connection->refusals = (udpai_door_allowance){refusals.own, now_ms};
    if (address->is_used)
        return;
    address->is_used = true;
    address->idle_frames = (udpai_door_allowance){idle_frames.shared, now_ms};
    address->resets = (udpai_door_allowance){resets.shared, now_ms};
    address->refusals = (udpai_door_allowance){refusals.shared, now_ms};
    address->requests = (udpai_door_allowance){requests.shared, now_ms};
}
