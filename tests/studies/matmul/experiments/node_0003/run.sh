#!/usr/bin/env bash
set -euo pipefail
gcc -O2  -DTILE=8 -DORDER=ikj -DUNROLL=1 matmul.c -o matmul -lm && ./matmul
