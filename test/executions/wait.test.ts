import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, get, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { ActiveExecution } from "../../src/server/executions/active.ts";
import { waitFor } from "../../src/server/executions/wait.ts";
import { Watchers } from "../../src/server/executions/watchers.ts";
import { newExecutionId } from "../../src/shared/id.ts";
import { newRow } from "../store/rows.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

test("an execution holds nothing of those who have waited for it", async () => {
  const execution = new ActiveExecution(newRow(newExecutionId(), {}), undefined, null);
  const watchers = new Watchers(null);
  const executions = { watchers, cancelAlone: () => {}, onStop: () => () => {} };
  const answers: WeakRef<ServerResponse>[] = [];
  const server = createServer((_request, response) => {
    answers.push(new WeakRef(response));
    void waitFor({ executions, isCancelling: false }, execution, response, 1).then((waited) =>
      response.end(waited as string),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  for (let count = 0; count < 20; count += 1) {
    const [answer] = await once(get({ port, host: "127.0.0.1", agent: false }), "response");
    assert.equal(String((await answer.toArray())[0]), "unfinished");
  }
  server.close();
  await once(server, "close");
  await turn();
  collect();
  const left = answers.filter((answer) => answer.deref() !== undefined).length;
  assert.equal(answers.length, 20);
  assert.ok(left <= 2, `${left} answers of 20 are held`);
  assert.equal(execution.watchers, 0);
});
