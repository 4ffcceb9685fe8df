#!/usr/bin/env bash
set -euo pipefail
gcc -O2  -DTILE=32 -DORDER=ijk -DUNROLL=1 matmul.c -o matmul -lm && ./matmul
