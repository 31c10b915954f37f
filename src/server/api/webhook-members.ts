import * as v from "valibot";
import { CORS, RESPONSE_HEADERS } from "./answer-members.ts";
import { MAX_BODY, METHODS } from "./limit-members.ts";
import { WEBHOOK_LIMITS } from "../../shared/contract/webhook-limits.ts";
import { IDEMPOTENCY } from "./idempotency-member.ts";

/**
 * What a webhook says of its calls and answers, beside where it is and which flow it starts: the
 * members that anybody with webhook.write sets, each with its default.
 */
export const MEMBERS = {
  sync_mode: v.nullable(v.picklist(["redirect", "hold"])),
  default_mode: v.picklist(["sync", "async"], 'expected "sync" or "async"'),
  async_status: v.picklist([200, 201, 202, 204], "expected 200, 201, 202 or 204"),
  methods: v.nullable(METHODS),
  max_body_bytes: v.nullable(MAX_BODY),
  idempotency: v.nullable(IDEMPOTENCY),
  limits: v.nullable(WEBHOOK_LIMITS),
  cors: v.nullable(CORS),
  response_headers: RESPONSE_HEADERS,
};

export type Members = {
  readonly [Name in keyof typeof MEMBERS]: v.InferOutput<(typeof MEMBERS)[Name]>;
};

export const MEMBER_DEFAULTS: Members = {
  sync_mode: null,
  default_mode: "sync",
  async_status: 201,
  methods: null,
  max_body_bytes: null,
  idempotency: null,
  limits: null,
  cors: null,
  response_headers: {},
};

/** Each may be left out: then it stays as it is. */
export const MEMBER_FIELDS = {
  sync_mode: v.optional(MEMBERS.sync_mode),
  default_mode: v.optional(MEMBERS.default_mode),
  async_status: v.optional(MEMBERS.async_status),
  methods: v.optional(MEMBERS.methods),
  max_body_bytes: v.optional(MEMBERS.max_body_bytes),
  idempotency: v.optional(MEMBERS.idempotency),
  limits: v.optional(MEMBERS.limits),
  cors: v.optional(MEMBERS.cors),
  response_headers: v.optional(MEMBERS.response_headers),
};

export type GivenMembers = { readonly [Name in keyof Members]?: Members[Name] | undefined };
