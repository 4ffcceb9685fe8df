#!/usr/bin/env bash
set -euo pipefail
gcc -O3  -DTILE=16 -DORDER=ijk -DUNROLL=1 matmul.c -o matmul -lm && ./matmul
