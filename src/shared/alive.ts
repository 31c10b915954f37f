/** Whether a process runs; also one that is not ours to ask. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return Reflect.get(Object(error), "code") !== "ESRCH";
  }
}
