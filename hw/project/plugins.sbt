// SPDX-License-Identifier: BSD-3-Clause
addSbtPlugin("org.scalameta" % "sbt-scalafmt" % "2.5.2")
