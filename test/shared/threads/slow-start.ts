/** The thread for the tests of jobs, on a machine that is slow. */

Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2000);
await import("./jobs.ts");
