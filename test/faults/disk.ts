import { execFileSync } from "node:child_process";
import { mkdtempSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Disks of a test's own: in memory, so that they can be small, full or read-only. */

/** @param options of mount(8), for example `size=24m`. @returns whether that can be done here */
export function mountDisk(folder: string, options: string): boolean {
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", folder], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

export function unmountDisk(folder: string): void {
  execFileSync("umount", ["-l", folder], { stdio: "ignore" });
}

/** Only root mounts, and not everywhere. */
export function isMountable(): boolean {
  const folder = mkdtempSync(join(tmpdir(), "flowhook-disk-"));
  const can = mountDisk(folder, "ro");
  if (can) unmountDisk(folder);
  rmdirSync(folder);
  return can;
}
