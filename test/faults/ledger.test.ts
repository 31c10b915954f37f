import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { poll } from "../blackbox/scenario.ts";
import { openTestService } from "./test-service.ts";
import { figure } from "./sizes.ts";

/** Fails the syncs of the process that it is loaded into, as long as a file is there. */
const FAILING_SYNC = `
  #define _GNU_SOURCE
  #include <dlfcn.h>
  #include <errno.h>
  #include <stdlib.h>
  #include <unistd.h>
  int fdatasync(int descriptor) {
    const char *flag = getenv("FAILING_SYNC");
    if (flag != NULL && access(flag, F_OK) == 0) { errno = EIO; return -1; }
    int (*real)(int) = (int (*)(int)) dlsym(RTLD_NEXT, "fdatasync");
    return real(descriptor);
  }
`;

const skip = canCompile() ? false : "there is no C compiler here, or no LD_PRELOAD";

function canCompile(): boolean {
  if (process.platform !== "linux") return false;
  try {
    execFileSync("gcc", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

test(
  "a sync that fails stops the service with its reason: nobody is told what may be lost",
  { skip },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "flowhook-sync-"));
    const [shim, flag] = [join(folder, "failing.so"), join(folder, "flag")];
    execFileSync("gcc", ["-shared", "-fPIC", "-x", "c", "-", "-o", shim, "-ldl"], {
      input: FAILING_SYNC,
    });
    await using stack = new AsyncDisposableStack();
    stack.defer(() => rmSync(folder, { recursive: true, force: true }));
    const service = stack.use(
      await openTestService({
        config: { SYNC_MODE: "hold" },
        flows: ["echo"],
        env: { LD_PRELOAD: shim, FAILING_SYNC: flag },
      }),
    );
    await service.createWebhook("echo", "echo", { is_productive: true });
    const told = await service.call("echo", "?async");
    assert.equal(told.status, 201);
    const statusOf = async (): Promise<string> => {
      const { text } = await service.api("GET", `/execution/${told.text}`);
      return (JSON.parse(text) as { status: string }).status;
    };
    await poll("it to end", async () => ((await statusOf()) === "ENDED_SUCCESS" ? true : null));
    writeFileSync(flag, "");
    const ended = service.expectEnd();
    const calls = ["", "?async"].map((query) => service.call("echo", query));
    for (const call of await Promise.allSettled(calls)) assert.equal(call.status, "rejected");
    assert.equal(await ended, 1);
    assert.match(service.logs(), /Cannot sync the ledger: what the disk has is not known/);
    rmSync(flag);
    figure("a failed sync: ready again after", await service.start(), "ms");
    assert.equal(await statusOf(), "ENDED_SUCCESS");
  },
);
