/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/mesh.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "federation/source.h"
#include "model/replica_id.h"

#define OTHERS_MAX (UDPAI_REPLICAS_MAX - 1)

/* Another replica. */
typedef struct other {
    udpai_mesh *mesh;
    udpa_bytes *id;       /* edge~6c1b9a0e; NULL: the place is free */
    udpa_bytes *address;  /* as it is in etcd; NULL: it is not in etcd */
    uint64_t link;        /* by which it is dialled; 0: it dials this one */
    uint64_t session;     /* 0: none */
    uint64_t since_ms;    /* that it has none */
    udpai_origin *origin; /* of what it has reported; a reference, NULL: nothing */
    udpai_timer grace;
} other;

struct udpai_mesh {
    udpai_context *context;
    udpai_peers *peers;
    udpai_sources *sources;
    udpai_mesh_config config; /* without its texts */
    UDPAI_VECTOR(udpa_bytes *) names;
    other others[OTHERS_MAX];
    udpai_log_limit log;
};

/* ---- the others ---- */

static other *
find(udpai_mesh *mesh, udpai_str id)
{
    for (size_t i = 0; i < OTHERS_MAX; i++)
        if (mesh->others[i].id && udpai_str_eq(udpai_bytes_view(mesh->others[i].id), id))
            return &mesh->others[i];
    return NULL;
}

/* NULL: there are as many as a set can have, or there is no memory. */
static other *
get(udpai_mesh *mesh, udpai_str id)
{
    other *one = find(mesh, id);
    for (size_t i = 0; i < OTHERS_MAX && !one; i++)
        if (!mesh->others[i].id)
            one = &mesh->others[i];
    if (!one || one->id || udpa_bytes_new(&one->id, id.data, id.len) != UDPA_OK)
        return one && one->id ? one : NULL;
    one->since_ms = udpai_context_now(mesh->context);
    return one;
}

static void
let_go_of_reports(other *one)
{
    if (one->origin)
        udpai_origin_unref(one->mesh->context->store, one->origin);
    one->origin = NULL;
}

static void
forget(other *one)
{
    let_go_of_reports(one);
    udpai_timer_cancel(&one->grace);
    one->id = udpa_bytes_unref(one->id);
    one->address = udpa_bytes_unref(one->address);
    one->session = 0;
}

static bool
is_unused(const other *one)
{
    return !one->address && !one->session && !one->link && !udpai_timer_is_set(&one->grace);
}

/* ---- what it has reported ---- */

static void
on_grace_end(udpai_timer *timer)
{
    other *one = UDPAI_CONTAINER_OF(timer, other, grace);
    if (one->session)
        return;
    if (one->origin) {
        udpai_store_withdraw_all(one->mesh->context->store, one->origin, (udpai_str){0},
                                 (udpai_str){0}, NULL, NULL);
        let_go_of_reports(one);
    }
    if (is_unused(one))
        forget(one);
}

static void
begin_grace(other *one)
{
    const udpai_context *context = one->mesh->context;
    one->session = 0;
    one->since_ms = udpai_context_now(context);
    udpai_timer_set(context->wheel, &one->grace, one->since_ms + UDPAI_MESH_GRACE_MS);
}

/* ---- dialling ---- */

/* Of what is dialled from here. Without memory the next change of the members ends it. */
static void
hang_up(other *one)
{
    udpai_source *source = one->link ? udpai_sources_at(one->mesh->sources, one->link) : NULL;
    if (!source || !udpai_source_disconnect(source))
        return;
    udpai_source_end(source);
    one->link = 0;
    if (one->session)
        begin_grace(one);
}

static udpa_err
make_source(other *one, udpai_str address, udpa_error **ret_error)
{
    udpai_mesh *mesh = one->mesh;
    const udpai_mesh_config *config = &mesh->config;
    udpai_source_config source = {
        .name = udpai_bytes_view(one->id),
        .kind = UDPAI_SOURCE_UDPA,
        .address = address,
        .ref_target = config->ref_target,
        .release_target = config->release_target,
    };
    udpa_err err = config->make_target(config->userdata, address, &source.target, ret_error);
    if (err != UDPA_OK)
        return err;
    err = udpai_sources_add_link(mesh->sources, &source, &one->link, ret_error);
    config->release_target(source.target);
    udpai_context_touch(mesh->context);
    return err;
}

/* Without memory it is dialled with the next change of the members. */
static void
dial(other *one, udpai_str address)
{
    UDPA_AUTO(udpa_error_unref) udpa_error *error = NULL;
    if (one->mesh->config.make_target && make_source(one, address, &error) != UDPA_OK)
        udpai_log(UDPA_LOG_ERROR, "replicas", "replica %.*s at %.*s is not dialled: %s",
                  UDPAI_SHOWN(udpai_bytes_view(one->id)), UDPAI_SHOWN(address),
                  error ? udpa_error_message(error) : "out of memory");
}

/* Of two replicas the one with the lower id dials. */
static bool
is_dialled_from_here(const other *one)
{
    return udpai_str_cmp(udpai_bytes_view(one->mesh->context->reporter_id),
                         udpai_bytes_view(one->id)) < 0;
}

static bool
has_address(const other *one, udpai_str address)
{
    return one->address && udpai_str_eq(udpai_bytes_view(one->address), address);
}

static void
take_address(other *one, udpai_str address)
{
    udpa_bytes *copy = NULL;
    if (has_address(one, address) && (one->link || !is_dialled_from_here(one)))
        return;
    if (udpa_bytes_new(&copy, address.data, address.len) != UDPA_OK)
        return;
    udpa_bytes_unref(one->address);
    one->address = copy;
    if (!is_dialled_from_here(one))
        return;
    hang_up(one);
    if (!one->link && address.len)
        dial(one, address);
}

static udpa_bytes *
id_of(const udpai_mesh *mesh, const udpai_replica_member *member)
{
    return udpai_replica_id(udpai_bytes_view(mesh->context->id), udpai_bytes_view(member->id));
}

static bool
has_member(const udpai_mesh *mesh, const udpai_replica_status *status, const other *one)
{
    bool is_there = false;
    for (size_t i = 0; i < status->n_members && !is_there; i++) {
        UDPA_AUTO(udpa_bytes_unref) udpa_bytes *id = id_of(mesh, &status->members[i]);
        is_there = !id || udpai_str_eq(udpai_bytes_view(id), udpai_bytes_view(one->id));
    }
    return is_there;
}

/* One that dials this replica may do so before it is found in etcd: its stream stays. */
static void
leave(other *one)
{
    one->address = udpa_bytes_unref(one->address);
    hang_up(one);
    if (is_unused(one))
        forget(one);
}

void
udpai_mesh_take_members(udpai_mesh *mesh, const udpai_replica_status *status)
{
    for (size_t i = 0; i < OTHERS_MAX; i++)
        if (mesh->others[i].id && !has_member(mesh, status, &mesh->others[i]))
            leave(&mesh->others[i]);
    for (size_t i = 0; i < status->n_members; i++) {
        const udpai_replica_member *member = &status->members[i];
        UDPA_AUTO(udpa_bytes_unref)
        udpa_bytes *id = member->is_own ? NULL : id_of(mesh, member);
        other *one = id ? get(mesh, udpai_bytes_view(id)) : NULL;
        if (one)
            take_address(one, udpai_bytes_view(member->advertised));
    }
}

/* ---- which peers are of the set ---- */

static bool
claims_to_be_of_set(const udpai_mesh *mesh, const udpai_peer *peer)
{
    const udpai_context *context = mesh->context;
    return peer->is_node && peer->is_replica &&
           udpai_str_eq(udpai_node_info_instance(peer->info),
                        udpai_bytes_view(context->instance)) &&
           udpai_str_eq(udpai_node_info_parts(peer->info)->id, udpai_bytes_view(context->id));
}

/* By its certificate; only where no peer has one, by what it states. */
static bool
is_trusted(const udpai_mesh *mesh, const udpai_peer *peer)
{
    udpai_str name = udpai_identity_name(peer->identity);
    if (!udpai_identity_is_proven(peer->identity))
        return mesh->context->peers_are_anonymous && !mesh->config.identity;
    for (size_t i = 0; i < mesh->names.n; i++) {
        udpai_str pattern = udpai_bytes_view(mesh->names.items[i]);
        if (udpai_identity_fits(peer->identity, &pattern, 1))
            return true;
    }
    return mesh->names.n == 0 && name.len &&
           udpai_str_eq(name, udpai_identity_name(mesh->config.identity));
}

/* NULL: nothing is amiss. */
static udpa_error *
find_fault(udpai_mesh *mesh, const udpai_peer *peer)
{
    udpai_str name = udpai_identity_name(peer->identity), id = peer->id;
    if (udpai_str_eq(id, udpai_bytes_view(mesh->context->reporter_id)))
        return udpa_error_new(UDPA_ERR_PRECONDITION, NULL,
                              "it is replica %.*s, as this one is: is store.advertise the address "
                              "of one replica, and the state directory that of one?",
                              UDPAI_SHOWN(id));
    if (!is_trusted(mesh, peer))
        return udpa_error_new(UDPA_ERR_DENIED, NULL,
                              "it claims to be replica %.*s of this set, and its certificate, of "
                              "'%.*s', is not that of a replica: see store.replica_names",
                              UDPAI_SHOWN(id), UDPAI_SHOWN(name));
    if (peer->source && !udpai_str_eq(udpai_source_name(peer->source), id))
        return udpa_error_new(UDPA_ERR_PRECONDITION, NULL,
                              "at the address of replica %.*s is replica %.*s: give each of them "
                              "its own address in store.advertise",
                              UDPAI_SHOWN(udpai_source_name(peer->source)), UDPAI_SHOWN(id));
    if (!get(mesh, id))
        return udpa_error_new(UDPA_ERR_LIMIT, NULL,
                              "it claims to be replica %.*s of this set, which has %d others "
                              "already: stop one of them",
                              UDPAI_SHOWN(id), OTHERS_MAX);
    return NULL;
}

static void
send_away(udpai_mesh *mesh, udpai_peer *peer, udpa_error *why)
{
    unsigned n_suppressed;
    udpai_str address = peer->address ? udpai_bytes_view(peer->address) : UDPAI_STR("?");
    peer->is_replaced = true; /* nothing is taken of it */
    if (udpai_log_allow(&mesh->log, udpai_context_now(mesh->context), &n_suppressed))
        udpai_log_about(UDPA_LOG_WARNING, "replicas",
                        UDPAI_ABOUT(UDPAI_PEER_FIELDS(peer), {UDPAI_LOG_CODE, udpai_log_code(why)}),
                        "%.*s is not connected: %s (%u more not shown)", UDPAI_SHOWN(address),
                        udpa_error_message(why), n_suppressed);
    if (peer->source) {
        udpai_source_refuse(peer->source, udpa_error_ref(why));
        return;
    }
    udpai_order *order = udpai_order_new(UDPAI_ORDER_HANG_UP);
    if (!order)
        return;
    order->session = peer->session;
    order->error = udpa_error_ref(why);
    udpai_context_order(mesh->context, order);
}

/* The earlier stream may be dead, and that not be known yet. */
static void
replace(udpai_mesh *mesh, uint64_t session)
{
    udpai_peer *earlier = udpai_peers_find(mesh->peers, session);
    UDPA_AUTO(udpa_error_unref)
    udpa_error *error =
        udpa_error_new(UDPA_ERR_ABORTED, NULL, "the replica has begun another stream");
    if (earlier && error)
        send_away(mesh, earlier, error);
}

static void
report(const udpai_mesh *mesh, const udpai_peer *peer, udpai_node_event_kind kind, const char *what)
{
    udpa_log_level level = kind == UDPAI_NOTE_REPLICA_CONNECTED ? UDPA_LOG_INFO : UDPA_LOG_WARNING;
    const udpai_log_field about[] = {{UDPAI_LOG_PEER, peer->id},
                                     {UDPAI_LOG_ADDRESS, udpai_peer_address(peer)}};
    udpai_log_about(level, "replicas", about, UDPAI_ARRAY_LEN(about), "replica %.*s: %s",
                    UDPAI_SHOWN(peer->id), what);
    udpai_context_note(mesh->context, kind, level, about, UDPAI_ARRAY_LEN(about),
                       "replica %.*s: %s", UDPAI_SHOWN(peer->id), what);
}

udpai_mesh_verdict
udpai_mesh_introduce(udpai_mesh *mesh, udpai_peer *peer)
{
    if (!mesh || !claims_to_be_of_set(mesh, peer))
        return UDPAI_MESH_NO;
    UDPA_AUTO(udpa_error_unref) udpa_error *fault = find_fault(mesh, peer);
    if (fault) {
        send_away(mesh, peer, fault);
        return UDPAI_MESH_REFUSED;
    }
    other *one = find(mesh, peer->id);
    if (one->session && one->session != peer->session)
        replace(mesh, one->session);
    if (!one->session)
        report(mesh, peer, UDPAI_NOTE_REPLICA_CONNECTED, "connected");
    one->session = peer->session;
    udpai_timer_cancel(&one->grace);
    peer->is_of_set = true;
    return UDPAI_MESH_YES;
}

void
udpai_mesh_closed(udpai_mesh *mesh, const udpai_peer *peer)
{
    other *one = mesh && peer->is_of_set ? find(mesh, peer->id) : NULL;
    if (!one || one->session != peer->session)
        return;
    if (peer->origin) { /* else it has reported nothing on this stream */
        let_go_of_reports(one);
        one->origin = udpai_origin_ref(peer->origin);
    }
    begin_grace(one);
    report(mesh, peer, UDPAI_NOTE_REPLICA_LOST, "its stream has ended");
}

/* ---- looking ---- */

bool
udpai_mesh_next(const udpai_mesh *mesh, size_t *at, udpai_str *ret_id, uint64_t *ret_session)
{
    while (mesh && *at < OTHERS_MAX) {
        const other *one = &mesh->others[(*at)++];
        if (!one->id || (!one->session && !one->address))
            continue;
        *ret_id = udpai_bytes_view(one->id);
        *ret_session = one->session;
        return true;
    }
    return false;
}

void
udpai_mesh_count(const udpai_mesh *mesh, size_t *ret_n, size_t *ret_n_connected)
{
    size_t at = 0;
    udpai_str id;
    uint64_t session;
    *ret_n = *ret_n_connected = 0;
    while (udpai_mesh_next(mesh, &at, &id, &session)) {
        ++*ret_n;
        *ret_n_connected += session != 0;
    }
}

/* NULL: nothing is amiss, or there is no memory. */
static udpa_error *
describe(const other *one)
{
    const udpai_mesh *mesh = one->mesh;
    udpai_str id = udpai_bytes_view(one->id);
    const udpai_source *source = one->link ? udpai_sources_at(mesh->sources, one->link) : NULL;
    const udpa_error *last = source ? udpai_source_last_error(source) : NULL;
    if (one->session || !one->address ||
        udpai_context_now(mesh->context) < one->since_ms + UDPAI_MESH_GRACE_MS)
        return NULL;
    if (udpa_bytes_size(one->address) == 0)
        return udpa_error_new(UDPA_ERR_PRECONDITION, NULL,
                              "replica %.*s has no address for other replicas, so its clients are "
                              "not shown here: set its store.advertise",
                              UDPAI_SHOWN(id));
    return udpa_error_new(UDPA_ERR_UNAVAILABLE, NULL,
                          "replica %.*s is in etcd and not connected to this one, so its clients "
                          "are not shown here: %s",
                          UDPAI_SHOWN(id),
                          last     ? udpa_error_message(last)
                          : source ? "it does not answer"
                                   : "it has not dialled this one: see its status");
}

void
udpai_mesh_visit_problems(const udpai_mesh *mesh, udpai_problem_fn visit, void *userdata)
{
    for (size_t i = 0; mesh && i < OTHERS_MAX; i++) {
        UDPA_AUTO(udpa_error_unref)
        udpa_error *error = mesh->others[i].id ? describe(&mesh->others[i]) : NULL;
        if (error)
            visit(userdata, udpa_error_message(error));
    }
}

/* ---- its life ---- */

static udpa_err
copy_names(udpai_mesh *mesh, const udpai_mesh_config *config)
{
    udpa_err err = UDPA_OK;
    for (size_t i = 0; i < config->n_names && err == UDPA_OK; i++) {
        udpa_bytes *name = NULL;
        err = udpa_bytes_new(&name, config->names[i].data, config->names[i].len);
        if (err == UDPA_OK && !udpai_vector_push(&mesh->names, name)) {
            udpa_bytes_unref(name);
            err = UDPA_ERR_NOMEM;
        }
    }
    return err;
}

udpa_err
udpai_mesh_new(udpai_mesh **ret_mesh, const udpai_parts *parts, const udpai_mesh_config *config)
{
    udpai_mesh *mesh = udpai_alloc(sizeof(*mesh));
    if (!mesh)
        return UDPA_ERR_NOMEM;
    mesh->context = parts->context;
    mesh->peers = parts->peers;
    mesh->sources = parts->sources;
    mesh->config = *config;
    mesh->config.identity = udpai_identity_ref(config->identity);
    for (size_t i = 0; i < OTHERS_MAX; i++) {
        mesh->others[i].mesh = mesh;
        udpai_timer_init(&mesh->others[i].grace, on_grace_end);
    }
    udpa_err err = copy_names(mesh, config);
    if (err == UDPA_OK)
        *ret_mesh = mesh;
    else
        udpai_mesh_free(mesh);
    return err;
}

void
udpai_mesh_free(udpai_mesh *mesh)
{
    if (!mesh)
        return;
    for (size_t i = 0; i < OTHERS_MAX; i++)
        if (mesh->others[i].id)
            forget(&mesh->others[i]);
    for (size_t i = 0; i < mesh->names.n; i++)
        udpa_bytes_unref(mesh->names.items[i]);
    udpai_vector_done(&mesh->names);
    udpai_identity_unref(mesh->config.identity);
    udpai_free(mesh);
}
