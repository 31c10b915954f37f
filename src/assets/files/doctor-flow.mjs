/** What `flowhook doctor` runs in the sandbox: the flow declares nothing, so each act must fail. */
export default async function examine({ input_value }) {
  const { readable, folder, program, port } = input_value.json;
  const acts = {
    "read a file": async () => (await import("node:fs")).readFileSync(readable, "utf8"),
    "write a file": async () => (await import("node:fs")).writeFileSync(`${folder}/written`, "x"),
    "start a program": async () =>
      (await import("node:child_process")).execFileSync(program, ["--version"]),
    "start a thread": async () => {
      const { Worker } = await import("node:worker_threads");
      await new Worker("0", { eval: true }).terminate();
    },
    "connect to an address": () => fetch(`http://127.0.0.1:${port}/`),
  };
  const answer = { done: [], refused: [] };
  for (const [name, act] of Object.entries(acts)) {
    try {
      await act();
      answer.done.push(name);
    } catch {
      answer.refused.push(name);
    }
  }
  return answer;
}
