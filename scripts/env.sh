# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the other scripts: versions, cache folders and PATH. The cache is shared by all clones of one user.
# shellcheck shell=bash
SBT_VERSION=1.11.7
LLVM_VERSION=19
ASSASIN_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
case "$ASSASIN_ROOT" in
    *[[:space:]]*)
        echo "the project lies in '$ASSASIN_ROOT': make and Verilator cannot work in a folder with a space in its name; move or clone it to another" >&2
        # shellcheck disable=SC2317 # exit: when it is not sourced
        return 1 2>/dev/null || exit 1
        ;;
esac
ASSASIN_CACHE=${ASSASIN_CACHE:-$HOME/.cache/assasin}
ASSASIN_VENV=$ASSASIN_CACHE/venv-$(sha256sum "$ASSASIN_ROOT/scripts/requirements.txt" | cut -c1-12)
ASSASIN_TOOLS=$ASSASIN_CACHE/tools-$SBT_VERSION-$(sha256sum "$ASSASIN_ROOT/scripts/requirements.txt" | cut -c1-12)
ASSASIN_HLS=$ASSASIN_CACHE/hls-$(sha256sum "$ASSASIN_ROOT/scripts/requirements-hls.txt" | cut -c1-12)
# The open ap_int.h and its kin.
ASSASIN_HLS_HEADERS=$ASSASIN_HLS/hls4ml/templates/vivado/ap_types
# Data that benches measure with; the package's Python is not used.
ASSASIN_DATA=$ASSASIN_CACHE/data-$(sha256sum "$ASSASIN_ROOT/scripts/requirements-data.txt" | cut -c1-12)
# The generator of the documentation site, apart from what the project runs with.
ASSASIN_DOCS=$ASSASIN_CACHE/docs-$(sha256sum "$ASSASIN_ROOT/scripts/requirements-docs.txt" | cut -c1-12)
export ASSASIN_HLS ASSASIN_HLS_HEADERS ASSASIN_DATA ASSASIN_DOCS
export SBT_VERSION LLVM_VERSION ASSASIN_ROOT ASSASIN_CACHE ASSASIN_VENV ASSASIN_TOOLS
export PATH="$ASSASIN_ROOT/scripts/bin:$ASSASIN_TOOLS/bin:$ASSASIN_VENV/bin:$PATH"
export CCACHE_DIR=${CCACHE_DIR:-$ASSASIN_CACHE/ccache} CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-4G}
