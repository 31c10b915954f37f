import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes, sign as signBytes } from "node:crypto";
import { describe, test } from "node:test";
import { sign as signGithub } from "@octokit/webhooks-methods";
import { Webhook } from "standardwebhooks";
import Stripe from "stripe";
import type { SignedRequest } from "../../src/server/access/signature.ts";
import { AT, custom, hmac, judge, preset, type Judged } from "./signed.ts";

const SECONDS = String(AT / 1000);
const BODY = Buffer.from('{"test": 2432232314}');

/** A right call of a scheme: as its sender's library signs it, or as its documentation says. */
interface Right extends Judged {
  readonly name: string;
  readonly header: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const STANDARD = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const VECTOR = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
const ID = "msg_p5jXN8AQM9LWM0D4loKWxJek";

const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const PUBLIC = Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url");
const ED25519 = `v1a,${signBytes(null, Buffer.from(`${ID}.${SECONDS}.${BODY.toString()}`), privateKey).toString("base64")}`;

function standard(family: string, signature: string): Record<string, string> {
  return {
    [`${family}-id`]: ID,
    [`${family}-timestamp`]: SECONDS,
    [`${family}-signature`]: signature,
  };
}

const STRIPE = "whsec_test_secret_of_stripe";
const stripe = new Stripe("sk_test_nothing").webhooks.generateTestHeaderString({
  payload: BODY.toString(),
  secret: STRIPE,
  timestamp: AT / 1000,
});

const SLACK_BODY = Buffer.from(
  "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&" +
    "channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&" +
    "response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F" +
    "96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
);

const RIGHT: readonly Right[] = [
  {
    name: "Standard Webhooks, the documented vector",
    schemes: preset("standard_webhooks"),
    secrets: [STANDARD],
    header: "webhook-signature",
    headers: standard("webhook", VECTOR),
    body: BODY,
  },
  {
    name: "Standard Webhooks, as its library signs",
    schemes: preset("standard_webhooks"),
    secrets: [STANDARD],
    header: "webhook-signature",
    headers: standard("webhook", new Webhook(STANDARD).sign(ID, new Date(AT), BODY.toString())),
    body: BODY,
  },
  {
    name: "Svix, with a secret that has no prefix",
    schemes: preset("standard_webhooks"),
    secrets: [STANDARD.slice("whsec_".length)],
    header: "svix-signature",
    headers: standard("svix", VECTOR),
    body: BODY,
  },
  {
    name: "Standard Webhooks with Ed25519",
    schemes: preset("standard_webhooks"),
    secrets: [`whpk_${PUBLIC.toString("base64")}`],
    header: "webhook-signature",
    headers: standard("webhook", ED25519),
    body: BODY,
  },
  {
    name: "GitHub, the documented vector",
    schemes: preset("github"),
    secrets: ["It's a Secret to Everybody"],
    header: "x-hub-signature-256",
    headers: {
      "x-hub-signature-256":
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
    },
    body: Buffer.from("Hello, World!"),
  },
  {
    name: "GitHub, as its library signs",
    schemes: preset("github"),
    secrets: ["secret of github"],
    header: "x-hub-signature-256",
    headers: { "x-hub-signature-256": await signGithub("secret of github", BODY.toString()) },
    body: BODY,
  },
  {
    name: "Stripe, as its library signs",
    schemes: preset("stripe"),
    secrets: [STRIPE],
    header: "stripe-signature",
    headers: { "stripe-signature": stripe },
    body: BODY,
  },
  {
    name: "Slack, the documented vector",
    schemes: preset("slack"),
    secrets: ["8f742231b10e8888abcd99yyyzzz85a5"],
    at: 1_531_420_618_000,
    header: "x-slack-signature",
    headers: {
      "x-slack-request-timestamp": "1531420618",
      "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
    },
    body: SLACK_BODY,
  },
  {
    name: "Shopify",
    schemes: preset("shopify"),
    secrets: ["hush-hush"],
    header: "x-shopify-hmac-sha256",
    headers: { "x-shopify-hmac-sha256": hmac("hush-hush", BODY, "base64") },
    body: BODY,
  },
  {
    name: "GitLab's token",
    schemes: preset("gitlab_token"),
    secrets: ["token-of-gitlab"],
    header: "x-gitlab-token",
    headers: { "x-gitlab-token": "token-of-gitlab" },
    body: BODY,
  },
  {
    name: "custom: SHA-1 of a binary body, with hexadecimal secret",
    schemes: custom({ header: "x-sign", algorithm: "hmac-sha1", secret_encoding: "hex" }),
    secrets: ["00ff".repeat(8)],
    header: "x-sign",
    headers: {
      "x-sign": hmac(
        Buffer.from("00ff".repeat(8), "hex"),
        Buffer.from([0, 255, 10, 13]),
        "hex",
        "sha1",
      ),
    },
    body: Buffer.from([0, 255, 10, 13]),
  },
  {
    name: "custom: SHA-512 over method, id and time in milliseconds, a parameter of the header",
    schemes: custom({
      header: "x-sign",
      algorithm: "hmac-sha512",
      encoding: "base64",
      separator: ";",
      parameter: "sig",
      message: "{method}|{id}|{timestamp}|{body}",
      timestamp: { parameter: "at", unit: "ms" },
      id_header: "x-id",
    }),
    secrets: ["a secret of somebody"],
    header: "x-sign",
    headers: {
      "x-id": "7",
      "x-sign": `at=${AT}; sig=${hmac("a secret of somebody", `POST|7|${AT}|${BODY.toString()}`, "base64", "sha512")}`,
    },
    body: BODY,
  },
];

function ask(right: Right, more: Partial<Judged> & Partial<SignedRequest> = {}): string {
  return judge({ ...right, ...more }, { headers: right.headers, body: right.body, ...more });
}

/** The text with its character at an offset exchanged for another of its kind. */
function changed(text: string, at: number): string {
  const character = text[at] ?? "";
  return text.slice(0, at) + (character === "a" ? "b" : "a") + text.slice(at + 1);
}

for (const right of RIGHT)
  describe(right.name, () => {
    const signature = right.headers[right.header] ?? "";
    const hasTime = right.schemes[0]?.timestamp !== null;

    test("is right", () => assert.equal(ask(right), "s0"));

    test("is wrong with any byte of the signature or the body changed", () => {
      for (let at = 0; at < signature.length; at += 1) {
        const wrong = changed(signature, at);
        // Hexadecimal digits in another case are the same.
        if (wrong.toLowerCase() === signature.toLowerCase()) continue;
        assert.notEqual(
          ask(right, { headers: { ...right.headers, [right.header]: wrong } }),
          "s0",
          wrong,
        );
      }
      if (right.schemes[0]?.algorithm === "token") return;
      for (let at = 0; at < right.body.length; at += 1) {
        const body = Buffer.from(right.body);
        body[at] = (body[at] ?? 0) ^ 1;
        assert.equal(ask(right, { body }), "signature_wrong");
      }
      assert.equal(ask(right, { body: Buffer.alloc(0) }), "signature_wrong");
    });

    test("is missing without its header, or with an empty one", () => {
      const { [right.header]: _, ...rest } = right.headers;
      assert.equal(ask(right, { headers: rest }), "signature_missing");
      assert.equal(ask(right, { headers: { ...rest, [right.header]: " " } }), "signature_missing");
    });

    const time = right.schemes.find(({ header }) => header === right.header)?.timestamp;
    if (hasTime)
      test("holds within the tolerance only, in whole units of its time", () => {
        const at = right.at ?? AT;
        const unitMs = time?.unit === "s" ? 1000 : 1;
        for (const toleranceMs of [0, 300_000]) {
          for (const ms of [-toleranceMs, toleranceMs + unitMs - 1])
            assert.equal(ask(right, { at: at + ms, toleranceMs }), "s0", String(ms));
          for (const ms of [-toleranceMs - 1, toleranceMs + unitMs])
            assert.equal(ask(right, { at: at + ms, toleranceMs }), "timestamp_outside");
        }
      });

    const header = time?.header;
    if (header !== undefined)
      test("needs its timestamp, in digits", () => {
        const { [header]: sent = "", ...rest } = right.headers;
        assert.equal(ask(right, { headers: rest }), "timestamp_missing");
        for (const wrong of [`+${sent}`, `${sent}.0`, "1e9", "x", `${sent}${"0".repeat(20)}`])
          assert.equal(ask(right, { headers: { ...rest, [header]: wrong } }), "timestamp_outside");
      });

    test("is admitted by the second of two secrets, and by none of others", () => {
      const other = right.secrets.map((secret) =>
        /^[0-9a-f]{32}$/.test(secret)
          ? "11".repeat(16)
          : `whsec_${randomBytes(24).toString("base64")}`,
      );
      assert.equal(ask(right, { secrets: [...other, ...right.secrets] }), "s1");
      assert.equal(ask(right, { secrets: other }), "signature_wrong");
      assert.equal(ask(right, { secrets: [""] }), "secret_unusable");
      assert.equal(ask(right, { secrets: [] }), "secret_unusable");
    });
  });

test("rotation: a sender that signs with both is admitted by either", () => {
  const other = `whsec_${randomBytes(24).toString("base64")}`;
  const both = [other, STANDARD].map((secret) =>
    new Webhook(secret).sign(ID, new Date(AT), BODY.toString()),
  );
  const request = { headers: standard("webhook", both.join(" ")), body: BODY };
  const schemes = preset("standard_webhooks");
  for (const secrets of [[STANDARD], [other], [STANDARD, other]])
    assert.equal(judge({ schemes, secrets }, request), "s0");
});

test("the first ten parts of a header are looked at, whatever their version", () => {
  const schemes = preset("standard_webhooks");
  const after = (count: number) => `${"v9,AAAA ".repeat(count)}${VECTOR}`;
  for (const [count, expected] of [
    [9, "s0"],
    [10, "signature_wrong"],
  ] as const) {
    const request = { headers: standard("webhook", after(count)), body: BODY };
    assert.equal(judge({ schemes, secrets: [STANDARD] }, request), expected);
  }
});

test("an id that is signed has to be there", () => {
  const { "webhook-id": _, ...headers } = standard("webhook", VECTOR);
  const schemes = preset("standard_webhooks");
  assert.equal(
    judge({ schemes, secrets: [STANDARD] }, { headers, body: BODY }),
    "signature_missing",
  );
});

test("blanks around header, candidate and after the prefix are dropped", () => {
  const sent = hmac("secret of github", BODY, "hex").toUpperCase();
  const headers = { "x-hub-signature-256": `  sha256= ${sent} ` };
  const secrets = ["secret of github"];
  assert.equal(judge({ schemes: preset("github"), secrets }, { headers, body: BODY }), "s0");
});

test("base64 of either alphabet, with padding or without", () => {
  const schemes = custom({ header: "x-s", encoding: "base64" });
  const secrets = ["a secret of somebody"];
  for (let n = 0; n < 50; n += 1) {
    const body = Buffer.from(String(n));
    const right = hmac("a secret of somebody", body, "base64");
    const url = right.replaceAll("+", "-").replaceAll("/", "_");
    for (const text of [right, url, right.replace("=", ""), url.replace("=", "")])
      assert.equal(judge({ schemes, secrets }, { headers: { "x-s": text }, body }), "s0", text);
    for (const text of [
      `${right}=`,
      `${right}A`,
      right.slice(1),
      `${right.slice(0, 9)} ${right.slice(9)}`,
    ])
      assert.equal(
        judge({ schemes, secrets }, { headers: { "x-s": text }, body }),
        "signature_wrong",
      );
  }
});

test("a header full of blanks stops nobody", () => {
  const [right] = RIGHT;
  const tries = Array.from({ length: 50 }, () => {
    const begun = performance.now();
    const headers = { ...right!.headers, [right!.header]: `a${" ".repeat(16_000)}b` };
    assert.equal(ask(right!, { headers }), "signature_wrong");
    return performance.now() - begun;
  });
  // The quickest: a machine may pause in any one of them.
  assert.ok(50 * Math.min(...tries) < 2000);
});

test("a preset is its own spelling as custom", () => {
  const schemes = custom({
    header: "stripe-signature",
    separator: ",",
    parameter: "v1",
    message: "{timestamp}.{body}",
    timestamp: { parameter: "t", unit: "s" },
  });
  assert.deepEqual(
    preset("stripe").map(({ delivery: _delivery, ...spelled }) => spelled),
    schemes,
  );
});

test("{url} is the target as sent behind the origin of BASE_URL", () => {
  const schemes = custom({ header: "x-s", message: "{url}{body}" });
  const url = "https://example.org/prefix/api/latest/webhook/a/call/b%2Fc?x=%20";
  const headers = { "x-s": hmac("a secret of somebody", `${url}body`, "hex") };
  const request = { headers, url, body: Buffer.from("body") };
  const secrets = ["a secret of somebody"];
  assert.equal(judge({ schemes, secrets }, request), "s0");
  assert.equal(judge({ schemes, secrets }, { ...request, url: `${url}&` }), "signature_wrong");
});

test("what every object has is no header", () => {
  const schemes = custom({ header: "constructor", algorithm: "token" });
  const [secret, secrets] = ["of constructor", ["of constructor"]];
  assert.equal(judge({ schemes, secrets }, { headers: {} }), "signature_missing");
  assert.equal(judge({ schemes, secrets }, { headers: { constructor: secret } }), "s0");
});

test("Basic as a token", () => {
  const schemes = custom({ header: "authorization", algorithm: "token", prefix: "Basic " });
  const headers = { authorization: "Basic dXNlcjpwYXNzd29yZA==" };
  const secrets = ["dXNlcjpwYXNzd29yZA=="];
  assert.equal(judge({ schemes, secrets }, { headers }), "s0");
  assert.equal(
    judge({ schemes, secrets }, { headers: { authorization: "Basic dXNlcjpwYXNzd29yZB==" } }),
    "signature_wrong",
  );
});
