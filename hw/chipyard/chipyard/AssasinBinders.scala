// SPDX-License-Identifier: BSD-3-Clause
package chipyard.assasindrive

import assasin.subsystem.{Drive, DriveKey, DrivePinsIO}
import chipyard.harness.{HarnessBinder, HasHarnessInstantiators}
import chipyard.iobinders.{GetSystemParameters, OverrideLazyIOBinder, Port}
import chisel3._
import chisel3.reflect.DataMirror
import freechips.rocketchip.diplomacy.{InModuleBody, LazyModule}
import freechips.rocketchip.prci.{ClockSinkNode, ClockSinkParameters}
import freechips.rocketchip.subsystem.{BaseSubsystem, FBUS}
import org.chipsalliance.cde.config.Parameters
import testchipip.util.ClockedIO

/** The drive's pins at the edge of the chip. */
case class DrivePort(getIO: () => ClockedIO[DrivePinsIO]) extends Port[ClockedIO[DrivePinsIO]]

/** Brings the pins of the drive to the edge of the chip, with its clock. */
class WithAssasinPunchthrough
    extends OverrideLazyIOBinder({ (system: BaseSubsystem) =>
      implicit val p: Parameters = GetSystemParameters(system)

      def drives(of: LazyModule): Seq[Drive] = of.getChildren.flatMap {
        case drive: Drive => Seq(drive)
        case other        => drives(other)
      }
      val found     = p(DriveKey).toSeq.flatMap(_ => drives(system))
      val sinks     = found.map(_.pins.makeSink())
      val clockSink = found.headOption.map(_ => ClockSinkNode(Seq(ClockSinkParameters())))
      clockSink.foreach(_ := system.locateTLBusWrapper(FBUS).fixedClockNode)

      InModuleBody {
        val ports: Seq[DrivePort] = sinks.zip(found).map { case (sink, drive) =>
          val port = IO(new ClockedIO(new DrivePinsIO(drive.params))).suggestName("drive")
          port.bits <> sink.bundle
          port.clock := clockSink.get.in.head._1.clock
          DrivePort(() => port)
        }
        (ports, Nil)
      }
    })

/** No PCIe, no flash chips: the drive's inputs are 0. */
class WithAssasinTiedOff
    extends HarnessBinder({ case (_: HasHarnessInstantiators, port: DrivePort, _: Int) =>
      DataMirror
        .collectLeafMembers(port.io.bits)
        .filter(DataMirror.directionOf(_) == ActualDirection.Input)
        .foreach(input => input := 0.U.asTypeOf(input))
    })
