import { existsSync, mkdtempSync, realpathSync, rmSync, statSync, type Stats } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { openRuntime } from "../../assets/runtime.ts";
import { readDataKey, type DataKey, type KeyPlace } from "../../server/access/data-key.ts";
import type { Loaded } from "../../server/config/load.ts";
import { nameOfUser } from "../../server/config/owner.ts";
import { targetOf } from "../../server/config/unwritable.ts";
import { StartError } from "../../shared/errors.ts";
import { isTaken } from "../../server/store/sqlite/lock.ts";
import { cleanUpAtSignals } from "../clean-up.ts";
import { examineCertificate } from "./certificate.ts";
import { examineClock } from "./clock.ts";
import { examineProxy, examineService, ownUrl } from "./connection.ts";
import { examineDatabase, examineKey } from "./database.ts";
import { CONFIG_FILE } from "../systemd.ts";
import { reportOn, type Finding } from "./finding.ts";
import { examineFolders, examineSpace } from "./folders.ts";
import { examineRunning } from "./running.ts";
import { examineFlows, examineSandbox } from "./sandbox.ts";

const configuration = reportOn("configuration");
const folders = reportOn("folders");

/**
 * Looks at everything that a service needs, beside one that runs or without one. Nothing is
 * written but to a folder below that for temporary files, which is gone afterwards.
 */
export async function examineAll(loaded: Loaded): Promise<Finding[]> {
  const { config } = loaded;
  const findings = examineConfiguration(loaded);
  const owner = findOwner(config.DATA_DIR);
  const closed = owner && findClosed(owner, config.DATA_DIR);
  if (closed === null) findings.push(...become(owner), ...examineFolders(loaded));
  else findings.push(folders.skipped(`${closed}: it was looked at as root`));
  findings.push(...examineSpace(loaded), ...examineCertificate(loaded));
  findings.push(...(await withScratch("database", (scratch) => examineData(loaded, scratch))));
  if (closed !== null) findings.push(...become(owner));
  findings.push(...(await withScratch("sandbox", (scratch) => examineSandbox(config, scratch))));
  findings.push(...(await withScratch("flows", (scratch) => examineFlows(config, scratch))));
  return findings;
}

/** What keeps one part from being looked at is a finding of it, and no end of the others. */
async function withScratch(
  subject: Finding["subject"],
  act: (scratch: string) => Promise<Finding[]>,
): Promise<Finding[]> {
  try {
    return await actWithScratch(act);
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    if (error instanceof StartError) return [reportOn(subject).error(message, "Look again then")];
    if (code === undefined) throw error;
    const action = `Look at "${tmpdir()}", where temporary files are, or name another folder with TMPDIR`;
    return [reportOn(subject).error(`Cannot be looked at: ${message}`, action)];
  }
}

async function actWithScratch(act: (scratch: string) => Promise<Finding[]>): Promise<Finding[]> {
  const scratch = mkdtempSync(join(tmpdir(), "flowhook-doctor-"));
  const remove = () => rmSync(scratch, { recursive: true, force: true });
  // A copy of the database may lie there, as large and as secret as that.
  using _cleaning = cleanUpAtSignals(remove);
  try {
    return await act(scratch);
  } finally {
    remove();
  }
}

function examineConfiguration({ file, warnings }: Loaded): Finding[] {
  const found = warnings.map((sentence) =>
    configuration.warning(sentence, "flowhook config shows what is set, and where"),
  );
  if (found.length > 0) return found;
  if (file !== null) return [configuration.ok(`"${file}"`)];
  if (!existsSync(CONFIG_FILE)) return [configuration.ok("No file: defaults and environment")];
  return [
    configuration.warning(
      `No file here: defaults and environment. The service of this machine has "${CONFIG_FILE}"`,
      `Look at that one: sudo flowhook doctor --config ${CONFIG_FILE}`,
    ),
  ];
}

/** To whom the data belongs; null where that is root, or who asks is not. */
function findOwner(folder: string): Stats | null {
  if (process.geteuid?.() !== 0) return null;
  const stats = targetOf(folder);
  return stats === null || stats.uid === 0 ? null : stats;
}

/** What a unit with DynamicUser keeps is closed to its own user everywhere else; null: it is not. */
function findClosed(owner: Stats, folder: string): string | null {
  for (let path = dirname(realpathSync(folder)); path !== dirname(path); path = dirname(path)) {
    const { uid, mode } = statSync(path);
    if (uid !== owner.uid && (mode & 0o011) === 0)
      return `DATA_DIR "${folder}" is in "${path}", which only its unit opens for its user`;
  }
  return null;
}

/**
 * Root becomes the user to whom the data belongs: what the service may read and run is seen as it
 * sees it, and no flow is ever loaded as root.
 */
function become(owner: Stats | null): Finding[] {
  if (owner === null) return [];
  const user = nameOfUser(owner.uid);
  takeGroups(user, owner.gid);
  process.setuid?.(owner.uid);
  return [configuration.ok(`Looked at as ${user}, to whom DATA_DIR belongs`)];
}

/** Those of a user whom the system knows; a user of a unit of systemd may have no name. */
function takeGroups(user: string, group: number): void {
  const { initgroups } = process as { initgroups?: (name: string, group: number) => void };
  process.setgid?.(group);
  try {
    initgroups?.(user, group);
  } catch {
    process.setgroups?.([group]);
  }
}

/** What needs the database's addon: whether a service runs, and what its data are like. */
async function examineData({ config, values }: Loaded, scratch: string): Promise<Finding[]> {
  const { addon } = openRuntime(scratch);
  const isRunning = isTaken(config.DATA_DIR, addon);
  const connection = { isRunning, key: keyOf(config)?.derive("probes") ?? null };
  const service = await examineService(config, connection);
  const isReached = isRunning && service.every(({ state }) => state === "ok");
  const { inspection, findings } = await examineDatabase(config, { addon, scratch, isRunning });
  return [
    ...service,
    ...(await examineDifferences(isReached, { config, values }, connection.key)),
    ...(await examineProxy(config, connection)),
    ...findings,
    ...examineKey(config, inspection),
    ...(await examineClock(inspection?.newestAt ?? null)),
  ];
}

/** Only a service that was reached, and whose data key is here, tells its configuration. */
async function examineDifferences(
  isReached: boolean,
  { config, values }: Pick<Loaded, "config" | "values">,
  key: Buffer | null,
): Promise<Finding[]> {
  const url = ownUrl(config);
  return isReached && url !== null && key !== null ? examineRunning(values, url, key) : [];
}

/** One that cannot be used is a finding of its own. */
function keyOf(place: KeyPlace): DataKey | null {
  try {
    return readDataKey(place);
  } catch {
    return null;
  }
}
