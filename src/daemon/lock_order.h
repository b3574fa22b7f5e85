/* SPDX-License-Identifier: Apache-2.0 */
/* Switches off that gRPC's locks look for deadlocks. */
#ifndef UDPAI_LOCK_ORDER_H
#define UDPAI_LOCK_ORDER_H

#ifdef __cplusplus
extern "C" {
#endif

/* Has gRPC's locks not look for orders in which they could wait for each other for ever. Some
 * distributions build them so that they do, at every lock: a twentieth of what a delivery costs.
 * For main(): it is of the whole process. */
void udpai_lock_order_forget(void);

#ifdef __cplusplus
}
#endif

#endif
