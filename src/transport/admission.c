/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/admission.h"

#include <arpa/inet.h>

#include "base/alloc.h"

#define SHARE 4 /* of what may be reserved, for one name: 1 / SHARE */

struct udpai_admitted {
    size_t n;
    size_t reserved;
    size_t len;
    char name[];
};

static udpai_str
admitted_key(const void *item)
{
    const udpai_admitted *admitted = item;
    return (udpai_str){admitted->name, admitted->len};
}

/* ---- names ---- */

/* "[ADDRESS]:PORT" or "ADDRESS:PORT" without what is not the address. */
static udpai_str
host_of(udpai_str address)
{
    const char *port = address.len ? memrchr(address.data, ':', address.len) : NULL;
    if (port)
        address.len = (size_t)(port - address.data);
    if (address.len > 1 && address.data[0] == '[' && address.data[address.len - 1] == ']')
        address = (udpai_str){address.data + 1, address.len - 2};
    return address;
}

/* False: it is none, or means one of IPv4, with its text in @p room then, or stays as it is. */
static bool
mask_network(udpai_str host, char room[static INET6_ADDRSTRLEN])
{
    struct in6_addr address;
    if (host.len >= INET6_ADDRSTRLEN)
        return false;
    memcpy(room, host.data, host.len);
    room[host.len] = '\0';
    if (inet_pton(AF_INET6, room, &address) != 1)
        return false;
    if (IN6_IS_ADDR_V4MAPPED(&address)) {
        (void)inet_ntop(AF_INET, &address.s6_addr[12], room, INET6_ADDRSTRLEN);
        return false;
    }
    memset(&address.s6_addr[8], 0, 8);
    (void)inet_ntop(AF_INET6, &address, room, INET6_ADDRSTRLEN);
    return true;
}

static void
put_address(udpai_strbuf *name, udpai_str address)
{
    char room[INET6_ADDRSTRLEN] = "";
    udpai_str host = host_of(address);
    bool is_network = host.len && mask_network(host, room);
    udpai_strbuf_puts(name, is_network ? "network " : "address ");
    udpai_strbuf_str(name, *room ? udpai_str_from(room) : host);
    if (is_network)
        udpai_strbuf_puts(name, "/64");
}

void
udpai_client_put_name(udpai_strbuf *name, const udpai_client *client)
{
    udpai_str identity = udpai_identity_name(client->identity);
    if (identity.len)
        udpai_strbuf_printf(name, "identity '%.*s'", (int)identity.len, identity.data);
    else if (client->is_local)
        udpai_strbuf_printf(name, "user %u", (unsigned)client->uid);
    else
        put_address(name, client->address);
}

/* ---- counting ---- */

void
udpai_admission_init(udpai_admission *admission,
                     const udpai_admission_words *words,
                     size_t max,
                     size_t max_per_name)
{
    admission->words = words;
    udpai_map_init(&admission->by_name, admitted_key);
    admission->n = admission->reserved = admission->max_reserved = 0;
    admission->max = max;
    admission->max_per_name = max_per_name;
}

void
udpai_admission_done(udpai_admission *admission)
{
    udpai_map_done(&admission->by_name);
}

static udpai_admitted *
add_name(udpai_admission *admission, udpai_str name)
{
    udpai_admitted *admitted = udpai_alloc(sizeof(*admitted) + name.len + 1);
    if (!admitted)
        return NULL;
    admitted->len = name.len;
    if (name.len)
        memcpy(admitted->name, name.data, name.len);
    if (!udpai_map_add(&admission->by_name, admitted)) {
        udpai_free(admitted);
        return NULL;
    }
    return admitted;
}

/* One more of this name. */
static udpa_err
take_place_of(udpai_admission *admission,
              udpai_str name,
              udpai_admitted **ret_admitted,
              udpa_error **ret_error)
{
    udpai_admitted *admitted = udpai_map_get(&admission->by_name, name);
    if (admitted && admitted->n >= admission->max_per_name)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "%.*s has %zu %s open here, which is the limit for one peer (%s): close "
                          "some first",
                          UDPAI_SHOWN(name), admitted->n, admission->words->things,
                          admission->words->setting_per_name);
    if (!admitted)
        admitted = add_name(admission, name);
    if (!admitted)
        return udpai_fail_code(ret_error, UDPA_ERR_NOMEM);
    admitted->n++;
    *ret_admitted = admitted;
    return UDPA_OK;
}

static udpa_err
take_place(udpai_admission *admission,
           const udpai_client *client,
           udpai_admitted **ret_admitted,
           udpa_error **ret_error)
{
    udpai_strbuf name = {0};
    udpai_client_put_name(&name, client);
    udpa_err err = udpai_strbuf_failed(&name) ? udpai_fail_code(ret_error, UDPA_ERR_NOMEM)
                                              : take_place_of(admission, udpai_strbuf_view(&name),
                                                              ret_admitted, ret_error);
    udpai_strbuf_done(&name);
    return err;
}

static void
leave_place(udpai_admission *admission, udpai_admitted *admitted)
{
    if (--admitted->n > 0)
        return;
    udpai_map_remove(&admission->by_name, admitted_key(admitted));
    udpai_free(admitted);
}

udpa_err
udpai_admission_enter(udpai_admission *admission,
                      const udpai_client *client,
                      udpai_admitted **ret_admitted,
                      udpa_error **ret_error)
{
    if (admission->n >= admission->max)
        return udpai_fail(ret_error, UDPA_ERR_LIMIT,
                          "this node serves %zu %s, which is its limit (%s): try again later",
                          admission->n, admission->words->things, admission->words->setting);
    udpa_err err = take_place(admission, client, ret_admitted, ret_error);
    admission->n += err == UDPA_OK;
    return err;
}

udpa_err
udpai_admission_rename(udpai_admission *admission,
                       const udpai_client *client,
                       udpai_admitted **admitted,
                       udpa_error **ret_error)
{
    udpai_admitted *now = NULL;
    udpa_err err = take_place(admission, client, &now, ret_error);
    if (err != UDPA_OK)
        return err;
    leave_place(admission, *admitted);
    *admitted = now;
    return UDPA_OK;
}

void
udpai_admission_leave(udpai_admission *admission, udpai_admitted *admitted)
{
    admission->n--;
    leave_place(admission, admitted);
}

udpai_reservation
udpai_admission_reserve(udpai_admission *admission, udpai_admitted *admitted, size_t bytes)
{
    if (admitted->reserved && admitted->reserved + bytes > admission->max_reserved / SHARE)
        return UDPAI_NAME_HAS_NO_ROOM;
    if (admission->reserved && admission->reserved + bytes > admission->max_reserved)
        return UDPAI_NO_ROOM;
    udpai_admission_reserve_anyway(admission, admitted, bytes);
    return UDPAI_RESERVED;
}

void
udpai_admission_reserve_anyway(udpai_admission *admission, udpai_admitted *admitted, size_t bytes)
{
    admitted->reserved += bytes;
    admission->reserved += bytes;
}

void
udpai_admission_release(udpai_admission *admission, udpai_admitted *admitted, size_t bytes)
{
    admitted->reserved -= bytes;
    admission->reserved -= bytes;
}
