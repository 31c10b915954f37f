import * as v from "valibot";
import { BUNDLE, type Bundle } from "../../shared/contract/bundle.ts";
import { listOf } from "../../shared/contract/list.ts";
import type { Api } from "./api.ts";
import { missing } from "./missing.ts";
import { fromCursor, PAGE_QUERY, toList, toPage } from "./page.ts";
import { defineRoute } from "./route.ts";

/** A bundle is a folder of PLUGINS_DIR: it is read here, and changed there. */
function toBundle(api: Api, bundle: ReturnType<Api["catalog"]["bundles"]>[number]): Bundle {
  const flows = api.catalog.list().filter((flow) => flow.bundle === bundle.name);
  return {
    name: bundle.name,
    description: bundle.description,
    directory: bundle.directory,
    flows: flows.map((flow) => flow.name),
  };
}

export const getBundles = defineRoute({
  method: "GET",
  path: "/bundle",
  summary: "List the bundles of the plugins folder",
  needs: "bundle.read",
  query: v.strictObject(PAGE_QUERY),
  answer: listOf(BUNDLE),
  async act(api, { query }) {
    const after = fromCursor(query.cursor);
    const bundles = api.catalog.bundles().toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const isDown = query.order === "desc";
    if (isDown) bundles.reverse();
    const left = bundles.filter(
      ({ name }) => after === undefined || (isDown ? name < after : name > after),
    );
    const page = toPage(left, query.limit, ({ name }) => name);
    return { status: 200, body: toList(page, (bundle) => toBundle(api, bundle)) };
  },
});

export const getBundle = defineRoute({
  method: "GET",
  path: "/bundle/:name",
  summary: "Read one bundle",
  needs: "bundle.read",
  answer: BUNDLE,
  async act(api, { params }) {
    const { name = "" } = params;
    const bundles = api.catalog.bundles();
    const found = bundles.find((bundle) => bundle.name === name);
    if (found === undefined)
      throw missing(
        "bundle",
        name,
        bundles.map((bundle) => bundle.name),
      );
    return { status: 200, body: toBundle(api, found) };
  },
});
