#!/bin/sh
# Runs every program of this folder in the TensorFlow of its time and records it. From the repository's root:
#   TF012="..." TF14="..." TF115="..." sh tests/legacy/programs/make.sh tests/legacy/recordings
# where each variable is the command of an interpreter that has that TensorFlow (0.12.1 and 1.4.1 on Python 2.7,
# 1.15.5 on Python 3.7).
set -e
out=${1:?folder for the recordings}
here=$(dirname "$0")
export PYTHONPATH="legacy_recorder_only:$PYTHONPATH" PYTHONDONTWRITEBYTECODE=1
mkdir -p legacy_recorder_only && cp legacy/recorder.py legacy_recorder_only/
trap 'rm -rf legacy_recorder_only' EXIT
for program in "$here"/?_*.py; do
    name=$(basename "$program" .py)
    case $name in
        a_*) python=$TF012 ;;
        b_*) python=$TF14 ;;
        *) python=$TF115 ;;
    esac
    if [ -z "$python" ]; then echo "$name: no interpreter given, left as it is"; continue; fi
    rm -rf "$out/$name"
    echo "$name: $($python "$program" "$out/$name" 2>/dev/null | tail -n 1) $(du -sk "$out/$name" | cut -f1) KiB"
done
