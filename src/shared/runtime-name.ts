/** What runs the program, with its version. */
export const RUNTIME: string = nameRuntime(process.versions);

function nameRuntime({ deno, node }: NodeJS.ProcessVersions): string {
  return deno === undefined ? `node ${node}` : `deno ${deno}`;
}
