// Command contend-worker-go-null is the worker that executes nothing: what the Go workers themselves cost.
package main

import "contend/workers/worker"

func main() { worker.Main(worker.Null("null"), worker.Null("go-null")) }
