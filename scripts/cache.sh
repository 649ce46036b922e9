# SPDX-License-Identifier: BSD-3-Clause
# Sourced behind env.sh: files by the hash of everything they are made from, shared by all clones of one user.
# shellcheck shell=bash

# cache_load KIND KEY FOLDER: puts the files that were stored under KEY into FOLDER; fails when there are none.
cache_load() {
    local archive=$ASSASIN_CACHE/$1/$2.tar.gz
    [ -e "$archive" ] || return 1
    mkdir -p "$3"
    tar -xzf "$archive" -C "$3"
    touch "$archive"
}

# cache_store KIND KEY FOLDER FILE...: stores files of FOLDER, named from there. What no one has loaded for 30 days goes.
cache_store() {
    local folder=$ASSASIN_CACHE/$1 key=$2 from=$3
    shift 3
    mkdir -p "$folder"
    tar -C "$from" -cf - "$@" | gzip -1 >"$folder/$key.$$"
    mv "$folder/$key.$$" "$folder/$key.tar.gz"
    find "$folder" -type f -mtime +30 -delete
}
