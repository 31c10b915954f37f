import { randomUUID } from "node:crypto";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isId } from "../../../shared/id.ts";
import { StartError } from "../../../shared/errors.ts";
import type { NodeData } from "./thread-protocol.ts";

/** Tells DATA_DIR from all others, and from its copies. @throws StartError */
export function identifyFolder(dataDir: string): Pick<NodeData, "folderId" | "folderPlace"> {
  const path = join(dataDir, "node.id");
  const folderId = readNumber(path) ?? makeNumber(path);
  const { dev, ino } = statSync(join(dataDir, "lock.db"));
  return { folderId, folderPlace: `${dev}:${ino}` };
}

function readNumber(path: string): string | null {
  let text: string;
  try {
    text = readFileSync(path, "utf8").trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  if (isId(text)) return text;
  throw new StartError(`Found no number in "${path}". Remove the file: a new one is made`, 78);
}

function makeNumber(path: string): string {
  const number = randomUUID();
  writeFileSync(path, `${number}\n`, { flag: "wx", mode: 0o600 });
  return number;
}
