#!/bin/sh
# What liger-kernel and flag_gems launch on the GPU that is here, as two archives in folder $1.
#
#   tests/corpora/capture_corpora.sh OUT
#
# Needs python with torch, triton and Tilewright, and the packages of build/corpora beside packaging
# and PyYAML. Takes about four minutes; what a driver has not begun after its time it names.
set -u
out=${1:?where do the archives go?}
here=$(cd "$(dirname "$0")/../.." && pwd)
corpora=${TILEWRIGHT_CORPORA:-$here/build/corpora}
PYTHONPATH=$corpora${PYTHONPATH:+:$PYTHONPATH}
FLAGGEMS_CACHE_DIR=${FLAGGEMS_CACHE_DIR:-/tmp/flaggems}
export PYTHONPATH FLAGGEMS_CACHE_DIR
mkdir -p "$out"

drive() { # does one corpus, or none if ONLY names the other:
  #  folder, most launches of a kernel, script, parts
  [ "${ONLY:-$1}" = "$1" ] || return 0
  parts=$4 part=0 lines=
  while [ "$part" -lt "$parts" ]; do
    # A folder for each: processes that share flag_gems' database lock each other out.
    lines="$lines FLAGGEMS_CACHE_DIR='$FLAGGEMS_CACHE_DIR/$1-$part' timeout -s TERM 150 \
      python -W ignore '$here/tests/corpora/$3' --verbose --part $part/$parts & "
    part=$((part + 1))
  done
  python -m tilewright capture --writes --limit "$2" --out "/tmp/captured/$1" -- \
    sh -c "$lines wait" >"$out/$1.log" 2>&1
  tar czf "$out/$1.tgz" -C /tmp/captured "$1"
  tail -n 1 "$out/$1.log"
}

drive liger_kernel 8 drive_liger.py 3 &
drive flag_gems 8 drive_flag_gems.py 6 &
wait
# flag_gems writes its pointwise kernels itself: their files are part of what was launched.
tar czf "$out/flag_gems_code.tgz" -C "$FLAGGEMS_CACHE_DIR" . 2>/dev/null || true
