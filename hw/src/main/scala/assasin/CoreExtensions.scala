// SPDX-License-Identifier: BSD-3-Clause
package assasin

/** Standard RISC-V extensions that a core has besides RV32IM and Zicsr. None has a misa bit of its own.
  *
  * @param zba
  *   address generation: sh1add, sh2add, sh3add
  * @param zbb
  *   basic bit manipulation
  * @param zkne
  *   AES encryption: aes32esi, aes32esmi
  * @param zknd
  *   AES decryption: aes32dsi, aes32dsmi
  */
case class CoreExtensions(zba: Boolean = false, zbb: Boolean = false, zkne: Boolean = false, zknd: Boolean = false)

object CoreExtensions {
  val none: CoreExtensions = CoreExtensions()
  val all: CoreExtensions  = CoreExtensions(zba = true, zbb = true, zkne = true, zknd = true)
}
