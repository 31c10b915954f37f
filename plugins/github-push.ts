import { createHmac, timingSafeEqual } from "node:crypto";
import { defineFlow } from "flowhook";

const SECRET = "GITHUB_WEBHOOK_SECRET";

/** Everybody can read this one. It serves until the secret is set, so that the demo can be tried. */
const DEMO_SECRET = "flowhook-demo";

/**
 * Started by GitHub (repository, Settings, Webhooks; content type application/json). GitHub
 * follows no redirects and waits ten seconds, so give it the URL with `?async`.
 *
 *   BODY='{"ref":"refs/heads/main","commits":[],"repository":{"full_name":"me/shop"}}'
 *   SIGNATURE=$(printf %s "$BODY" | openssl dgst -sha256 -hmac flowhook-demo | sed 's/.* //')
 *   curl "$URL/github-push/call?async" -H 'Content-Type: application/json' -d "$BODY" \
 *     -H 'X-GitHub-Event: push' -H "X-Hub-Signature-256: sha256=$SIGNATURE"
 */
export default defineFlow({
  description: "Checks the signature of a GitHub event and sums it up",
  permissions: { secrets: [SECRET] },

  async run(flow) {
    const { headers, json } = flow.input_value;
    const secret = (await flow.secret(SECRET)) ?? DEMO_SECRET;
    if (secret === DEMO_SECRET) flow.log.warn(`Secret '${SECRET}' is not set: the demo's is used`);

    // The signature is over the bytes that were sent; JSON printed again may differ from them.
    if (!isSigned(flow.raw_body ?? "", headers["x-hub-signature-256"], secret)) {
      flow.log.warn("Refused: the signature does not fit the body");
      flow.webhook_response({ status: 401, body: "The signature does not fit the body\n" });
      return { accepted: false };
    }

    const event = headers["x-github-event"] ?? "unknown";
    const summary = summarize(event, json);
    flow.set_status_message(summary);
    flow.log.info(summary);
    return { accepted: true, event, summary };
  },
});

function isSigned(body: string, signature: string | undefined, secret: string): boolean {
  const expected = `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
  const given = Buffer.from(signature ?? "");
  const wanted = Buffer.from(expected);
  // Takes as long for a wrong guess as for a nearly right one, so that it cannot be felt out.
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

/** One line about any event: `issues opened in me/shop by ada: The till does not open`. */
function summarize(event: string, json: unknown): string {
  const action = textAt(json, "action");
  const place = textAt(json, "repository.full_name", "organization.login");
  const person = textAt(json, "sender.login", "pusher.name");
  // Most events carry what they are about under a member of their own name.
  const titles = [`${event}.title`, "issue.title", "pull_request.title", "discussion.title"];
  const about = textAt(json, "head_commit.message", ...titles, `${event}.name`, "ref", "zen");
  return [
    action === null ? event : `${event} ${action}`,
    place === null ? "" : ` in ${place}`,
    person === null ? "" : ` by ${person}`,
    about === null ? "" : `: ${about.split("\n")[0]}`,
  ].join("");
}

/**
 * The first of some members that is a text. The body is whatever somebody sent: what is not
 * there, or is something else, is null and never an exception.
 */
function textAt(json: unknown, ...paths: string[]): string | null {
  for (const path of paths) {
    const value = path.split(".").reduce(memberOf, json);
    if (typeof value === "string" && value !== "") return value;
  }
  return null;
}

function memberOf(value: unknown, member: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, member))
    return undefined;
  return Reflect.get(value, member);
}
