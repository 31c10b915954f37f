import { FLOW_VERSION } from "../../shared/contract/flow.ts";
import * as v from "valibot";
import { RequestError } from "../../shared/errors.ts";
import { missing } from "./missing.ts";
import { text } from "./parameters.ts";
import { defineRoute } from "./route.ts";

/** The source that an execution ran, for as long as its version is kept. */
export const getFlowVersion = defineRoute({
  method: "GET",
  path: "/flow/:name/version/:version",
  summary: "Read a file of a version that is kept, also of one that serves no more",
  needs: "flow.read",
  query: v.strictObject({ file: text("Path of the file; the flow's own unless told") }),
  answer: FLOW_VERSION,
  async act({ catalog }, { params, query }) {
    const { name = "", version = "" } = params;
    const found = await catalog.versionFile(name, version, query.file);
    if (found === null) throw notKept(name, version);
    const { path, paths, text: source } = found;
    if (path === null) throw missing("file", query.file ?? "", paths);
    const is_serving = catalog.find(name)?.version === version;
    const body = { flow: name, version, is_serving, file: path, files: paths, source };
    return { status: 200, body };
  },
});

function notKept(name: string, version: string): RequestError {
  return new RequestError(
    "not_found",
    `There is no version "${version}" of a flow "${name}" any more: the newest 10 of a flow are ` +
      `kept beside the one that serves`,
  );
}
