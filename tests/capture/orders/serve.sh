#!/bin/sh
# Serves the shop until a signal ends it: 4 processes with 2 threads for pages, 3 for tasks.
gunicorn -w 4 --threads 2 -b "127.0.0.1:$PORT" web:app &
web=$!
huey_consumer tasks.huey -w 3 -k process &
tasks=$!
trap 'kill $web; kill -INT $tasks' INT TERM
wait $web $tasks
# The signal ended the first wait.
wait $web $tasks
