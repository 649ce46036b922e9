// SPDX-License-Identifier: BSD-3-Clause
package assasin.core

import scala.util.matching.Regex

/** What a block RAM may do when a row is read in the cycle that writes it: the reader gets random bits. firtool's
  * memories register the address and read afterwards, so that in simulation they always show what was written, which
  * Chisel does not promise and an FPGA does not do.
  */
object RandomCollisions {
  private val module    = raw"(?s)\bmodule \w+\(.*?\nendmodule".r
  private val answer    = raw"  assign R(\d+)_data = (_R\1_en_d0 \? Memory\[_R\1_addr_d0\] : (\d+)'bx);".r
  private val writePort = raw"\bW(\d+)_addr\b".r

  /** `text` with such memories in place of firtool's.
    *
    * @throws java.lang.IllegalArgumentException
    *   when it has none
    */
  def apply(text: String): String = {
    val changed = module.replaceAllIn(text, m => Regex.quoteReplacement(memory(m.matched)))
    require(changed != text, "no memory with a synchronous read port")
    changed
  }

  private def memory(text: String): String = {
    val writers = writePort.findAllMatchIn(text).map(_.group(1)).toSeq.distinct
    if (writers.isEmpty) text
    else
      answer.replaceAllIn(
        text,
        m => {
          val r       = s"R${m.group(1)}"
          val width   = m.group(3).toInt
          val collide = writers.map(w => s"(W${w}_en && W${w}_addr == ${r}_addr)").mkString(" || ")
          val words   = Seq.fill((width + 31) / 32)("$urandom").mkString(", ")
          Regex.quoteReplacement(s"""  reg _${r}_collides;
                                  |  reg [${width - 1}:0] _${r}_random;
                                  |  always @(posedge ${r}_clk) begin
                                  |    _${r}_collides <= ${r}_en && ($collide);
                                  |    _${r}_random <= $width'({$words});
                                  |  end
                                  |  assign ${r}_data = _${r}_collides ? _${r}_random : ${m.group(2)};""".stripMargin)
        }
      )
  }
}
