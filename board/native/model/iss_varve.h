/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The functional model of VarVE (hw/cosim/varve_model.h) as the vector unit of a simulated core (iss.h).
 */
#ifndef ASSASIN_ISS_VARVE_H
#define ASSASIN_ISS_VARVE_H

#include <varve_c.h>

#include "iss.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Gives the core a unit, in the state in which it starts, with mstatus.VS off. XLEN and the number of stream buffers
 * are the core's. False: the parameters are illegal. */
bool iss_varve_attach(struct iss_core *c, const struct varve_params *params);
/** Takes it away. */
void iss_varve_detach(struct iss_core *c);
/** The model of a core that has one. */
struct varve_model *iss_varve_model(struct iss_core *c);

#ifdef __cplusplus
}
#endif

#endif
