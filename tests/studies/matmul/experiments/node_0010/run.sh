#!/usr/bin/env bash
set -euo pipefail
gcc -O3  -DTILE=16 -DORDER=ikj -DUNROLL=2 matmul.c -o matmul -lm && ./matmul
