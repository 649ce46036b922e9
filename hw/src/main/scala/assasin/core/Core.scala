package assasin.core

import chisel3._

/** Five-stage in-order RV32IM + Zicsr pipeline. */
class Core(val p: CoreParams) extends Module {
  val io = IO(new CoreIO(p))
}
