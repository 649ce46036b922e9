# SPDX-License-Identifier: BSD-3-Clause
SUMMARY = "Board agent of the ASSASIN computational SSD"
DESCRIPTION = "Programs the fabric, resets the chip, and serves sensors, registers and console to the host over TCP."
SECTION = "utils"
LICENSE = "BSD-3-Clause"
LIC_FILES_CHKSUM = "file://LICENSE;md5=@LICENSE_MD5@"

DEPENDS += "dtc-native"

SRC_URI = "\
    file://agent \
    file://LICENSE \
    file://assasin-agent.conf \
    file://assasin-agent.default \
    file://assasin-agent.init \
    file://assasin-agent.modprobe \
    file://assasin-agent.service \
    file://assasin.dts \
"

S = "${WORKDIR}/agent"

inherit systemd update-rc.d

SYSTEMD_SERVICE:${PN} = "assasin-agent.service"
INITSCRIPT_NAME = "assasin-agent"
INITSCRIPT_PARAMS = "defaults 90"

# What the generated layer brings beside the sources: the contract's header and the wire of the virtual board.
EXTRA_OEMAKE = "OUT=${B}/out GEN=${S}/generated PROTOCOL=${S}/generated"

do_configure() {
    cp ${WORKDIR}/LICENSE ${S}/LICENSE
}

do_compile() {
    oe_runmake
    dtc -@ -I dts -O dtb -o ${B}/assasin.dtbo ${WORKDIR}/assasin.dts
}

do_install() {
    oe_runmake install DESTDIR=${D}
    install -D -m 0644 ${B}/assasin.dtbo ${D}${nonarch_base_libdir}/firmware/assasin.dtbo
    install -D -m 0644 ${WORKDIR}/assasin-agent.conf ${D}${sysconfdir}/assasin-agent.conf
    install -D -m 0644 ${WORKDIR}/assasin-agent.default ${D}${sysconfdir}/default/assasin-agent
    install -D -m 0644 ${WORKDIR}/assasin-agent.modprobe ${D}${sysconfdir}/modprobe.d/assasin-agent.conf
    install -D -m 0755 ${WORKDIR}/assasin-agent.init ${D}${sysconfdir}/init.d/assasin-agent
    install -D -m 0644 ${WORKDIR}/assasin-agent.service ${D}${systemd_system_unitdir}/assasin-agent.service
}

FILES:${PN} += "${nonarch_base_libdir}/firmware/assasin.dtbo"

RRECOMMENDS:${PN} += "kernel-module-uio-pdrv-genirq"

CONFFILES:${PN} = "${sysconfdir}/assasin-agent.conf ${sysconfdir}/default/assasin-agent"
