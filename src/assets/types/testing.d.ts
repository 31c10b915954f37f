// What is imported as "flowhook/testing". `flowhook types` writes it: do not change it here.

import type { InputValue, JsonValue } from "./flowhook.js";
/** What tests import as "flowhook/testing". `flowhook flow test` runs them. */
/** Any members of input_value; the rest is filled in as a call has it. */
export interface TestInput extends Partial<InputValue> {
    /** The body as it was sent; JSON of `json` unless given. */
    readonly raw_body?: string;
}
/** What surrounds the flow. */
export interface TestOptions {
    /** By name; the flow must declare those that it asks for. */
    readonly secrets?: Readonly<Record<string, string>>;
    /** By name: what JSON can say. */
    readonly settings?: Readonly<Record<string, JsonValue>>;
    /**
     * The time that the flow sees. It stands still; timers end at once, in their order, and move it
     * on. Without it the real clock runs.
     */
    readonly now?: Date | string | number;
}
/** What the flow made, as the execution's record has it. */
export interface TestResult {
    readonly status: "ENDED_SUCCESS" | "ENDED_ERROR" | "ENDED_TIMEOUT";
    readonly status_message: string | null;
    readonly output_value: unknown;
    /** Made by webhook_response and its like, or by a `fetch` flow; null without one. */
    readonly response: TestResponse | null;
    readonly log: readonly TestLogLine[];
    /** All settings as they are after the run. */
    readonly settings: Readonly<Record<string, JsonValue>>;
}
export interface TestResponse {
    readonly status: number;
    /** Lower-case names; several cookies are a list. */
    readonly headers: Readonly<Record<string, string | readonly string[]>>;
    readonly body: string;
    /** `base64` where the body is no text. */
    readonly body_encoding?: "base64";
}
export interface TestLogLine {
    readonly level: "debug" | "info" | "warn" | "error";
    readonly text: string;
}
/**
 * Runs a flow once, in a fresh thread of the real sandbox.
 *
 * @param flow default export of the flow's file
 * @param input members of input_value, or a Request; an empty GET without it. What has other members
 *   than a request is input_value as it is, as a flow is given that another flow starts
 * @throws Error where it is no flow of the folder, or the flow cannot be loaded; what the flow
 *   itself throws is in the result
 */
export declare function testFlow(flow: object, input?: TestInput | Request | JsonValue, options?: TestOptions): Promise<TestResult>;
