package assasin.core

import chisel3._

/** One ASSASIN core with its memories. */
class StreamCore(val p: StreamCoreParams) extends Module {
  val io = IO(new StreamCoreIO(p))
}
