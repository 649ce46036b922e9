// SPDX-License-Identifier: BSD-3-Clause
package assasin

import _root_.circt.stage.ChiselStage
import chisel3._
import org.scalatest.funspec.AnyFunSpec

class EmissionSpec extends AnyFunSpec {

  /** What goes out is `result` of an 8-bit input. */
  private class Part(result: UInt => UInt) extends Module {
    val in  = IO(Input(UInt(8.W)))
    val out = IO(Output(UInt(4.W)))
    out := result(in)
  }

  private def emit(result: UInt => UInt): String =
    Emission.strict(ChiselStage.emitSystemVerilog(new Part(result), _, Array("-strip-debug-info")))

  describe("Emission") {
    it("writes a module without warnings") {
      assert(emit(_(3, 0)).contains("module Part"))
    }
    it("stops on a connection that drops bits, of which firtool warns") {
      val stop = intercept[IllegalStateException](emit(identity))
      assert(stop.getMessage.contains("RHS width 8 exceeds LHS width 4"))
    }
    it("stops on an index that does not fit, of which Chisel warns") {
      intercept[ChiselException](emit(in => in(in(0))))
    }
  }
}
