import { readAsset } from "../assets/read.ts";

/** Prints the licence of Flowhook, and those of the software that it carries. */
export function printLicenses(): void {
  process.stdout.write(readAsset("third-party-notices.txt"));
}
