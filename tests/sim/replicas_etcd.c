/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to the etcd of the replicas. */
#include "replicas.h"

void
scene_set_away(scene *self, bool is_away)
{
    sim_set_begin(&self->set);
    etcd_model_away(&self->set.etcd, is_away);
    sim_set_end(&self->set);
}

void
scene_set_away_for(scene *self, sim_replica *replica, bool is_away)
{
    sim_set_begin(&self->set);
    etcd_model_client_away(&replica->client, is_away);
    sim_set_end(&self->set);
}

void
scene_lose_leases(scene *self)
{
    scene_counts[SCENE_LEASES_LOST]++;
    sim_set_begin(&self->set);
    etcd_model_end_leases(&self->set.etcd);
    sim_set_end(&self->set);
}

void
scene_compact(scene *self)
{
    etcd_model *etcd = &self->set.etcd;
    uint64_t newer = (uint64_t)(etcd->revision - etcd->compacted + 1);
    etcd_model_compact(etcd, etcd->compacted + (int64_t)sim_below(&self->chance, newer));
    scene_counts[SCENE_COMPACTIONS]++;
}
