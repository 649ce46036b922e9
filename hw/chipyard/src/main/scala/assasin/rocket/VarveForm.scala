// SPDX-License-Identifier: BSD-3-Clause
package assasin.rocket

/** What a Rocket tile's vector unit has of VarVE (docs/varve/isa.md). */
object VarveForm extends Enumeration {
  val None, Pup, Full = Value
}
