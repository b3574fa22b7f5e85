/* SPDX-License-Identifier: Apache-2.0 */
#include "endpoint/service.h"

#include "endpoint/services.h"

/* ---- one ---- */

bool
udpai_service_report(udpai_service *service, udpai_report *report)
{
    return service && service->ops->on_report && service->ops->on_report(service, report);
}

void
udpai_service_notify(udpai_service *service, const udpai_service_event *event)
{
    if (service && service->ops->on_event)
        service->ops->on_event(service, event);
}

void
udpai_service_demand(udpai_service *service, udpai_str type_url, udpai_str text, bool subscribed)
{
    udpai_service_notify(service, &(udpai_service_event){
                                      .kind = UDPAI_SERVICE_DEMAND,
                                      .type_url = type_url,
                                      .text = text,
                                      .is_subscribed = subscribed,
                                  });
}

udpai_service *
udpai_service_free(udpai_service *service)
{
    if (service)
        service->ops->free(service);
    return NULL;
}

/* ---- all ---- */

bool
udpai_services_report(const udpai_services *services,
                      udpai_service_place first,
                      udpai_report *report)
{
    for (size_t i = first; i < UDPAI_PLACES; i++)
        if (udpai_service_report(services->at[i], report))
            return true;
    return false;
}

void
udpai_services_notify(const udpai_services *services, const udpai_service_event *event)
{
    for (size_t i = 0; i < UDPAI_PLACES; i++)
        udpai_service_notify(services->at[i], event);
}

void
udpai_services_run(const udpai_services *services)
{
    for (size_t i = 0; i < UDPAI_PLACES; i++)
        if (services->at[i] && services->at[i]->ops->run)
            services->at[i]->ops->run(services->at[i]);
}

bool
udpai_services_flush(const udpai_services *services)
{
    bool any = false;
    for (size_t i = 0; i < UDPAI_PLACES; i++)
        if (services->at[i] && services->at[i]->ops->flush)
            any |= services->at[i]->ops->flush(services->at[i]);
    return any;
}

bool
udpai_services_are_busy(const udpai_services *services)
{
    for (size_t i = 0; i < UDPAI_PLACES; i++)
        if (services->at[i] && services->at[i]->ops->is_busy &&
            services->at[i]->ops->is_busy(services->at[i]))
            return true;
    return false;
}

void
udpai_services_end(const udpai_services *services)
{
    for (size_t i = 0; i < UDPAI_PLACES; i++)
        if (services->at[i] && services->at[i]->ops->end)
            services->at[i]->ops->end(services->at[i]);
}

/* One that is being freed is not notified of what this changes. */
void
udpai_services_free(udpai_services *services)
{
    for (size_t i = UDPAI_PLACES; i-- > 0;)
        udpai_service_free(UDPAI_TAKE(services->at[i]));
}
