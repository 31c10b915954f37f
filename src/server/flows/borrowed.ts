import type { Bundle } from "./bundles.ts";
import type { Offer, Offers } from "./offers.ts";
import { VersionRefusedError, type Candidate } from "./version-source.ts";

/** What a flow becomes that the own folder lacks and another node offers. */
export function toBorrowed(
  name: string,
  { version, node, isSealed }: Offer,
  root: string,
  offers: Offers | null,
): Candidate {
  const read = async () =>
    isSealed
      ? ((await offers?.find(name, version)) ?? refuseMissing(name, version, node))
      : refuseUnsealed(name, node);
  return {
    key: JSON.stringify([root, "borrowed", node, version, isSealed]),
    since: 0,
    node,
    isImported: false,
    read,
  };
}

/** The own folder decides over its folders and names. */
export function withBorrowed(
  own: readonly Bundle[],
  offered: ReadonlyMap<string, Offer>,
): Bundle[] {
  const bundles = [...own];
  for (const { bundle } of offered.values()) {
    if (bundle === null) continue;
    const { name, directory } = bundle;
    const isKnown = bundles.some((known) => known.name === name || known.directory === directory);
    if (!isKnown) bundles.push(bundle);
  }
  return bundles;
}

function refuseMissing(name: string, version: string, node: string): never {
  throw new VersionRefusedError(
    `Version ${version} of '${name}', which node '${node}' offers, is not in the database any more`,
  );
}

function refuseUnsealed(name: string, node: string): never {
  throw new VersionRefusedError(
    `What node '${node}' offers of '${name}' in the database is not sealed with this data key: ` +
      `somebody changed it there. POST /flow/reload on the node that has its file stores it once more`,
  );
}
