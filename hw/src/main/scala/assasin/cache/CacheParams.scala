// SPDX-License-Identifier: BSD-3-Clause
package assasin.cache

import chisel3.util.{isPow2, log2Ceil}

/** Shape of a cache of 64-byte lines in front of a region of DRAM. Addresses are offsets in the region, so tags are
  * short.
  *
  * @param bytes
  *   capacity
  * @param ways
  *   ways of a set
  * @param regionBytes
  *   size of the region
  */
case class CacheParams(bytes: Int, ways: Int, regionBytes: Int) {
  require(Seq(bytes, ways, regionBytes).forall(isPow2(_)), s"$this: sizes are powers of two")
  require(
    bytes < regionBytes && bytes / ways / 64 >= 2,
    s"$this: choose at least two sets, and a region above the cache"
  )

  val sets: Int       = bytes / ways / 64
  val setBits: Int    = log2Ceil(sets)
  val wayBits: Int    = log2Ceil(ways)
  val regionBits: Int = log2Ceil(regionBytes)

  /** Bits of a line's number in the region. */
  val lineBits: Int = regionBits - 6
  val tagBits: Int  = lineBits - setBits
}

/** The caches of the paper's Table IV. */
object CacheParams {
  private val region  = assasin.contract.AddressMap.CoreData.size.toInt
  val l1: CacheParams = CacheParams(bytes = 32 * 1024, ways = 8, regionBytes = region)
  val l2: CacheParams = CacheParams(bytes = 256 * 1024, ways = 16, regionBytes = region)
}
