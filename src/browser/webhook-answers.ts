import type { MemberField } from "./webhook-members.tsx";

/** The tab of bodies and answers. */
export const ANSWER_FIELDS: readonly MemberField[] = [
  {
    name: "default_mode",
    label: "Calls that do not say how they want to be answered",
    hint: "Default: synchronous. ?async, ?async=0 and the header Prefer decide for one call. Systems that send events mostly want an answer at once, and take a redirect for a failure.",
    choices: [
      ["sync", "Synchronous: the result"],
      ["async", "Asynchronous: the id of the execution, at once"],
    ],
    toText: ({ default_mode }) => default_mode,
    toValue: (text) => text,
  },
  {
    name: "async_status",
    label: "Status of asynchronous answers",
    hint: "Default: 201. Each has a Location, where the result will be.",
    choices: [
      ["201", "201 Created"],
      ["200", "200 OK"],
      ["202", "202 Accepted"],
      ["204", "204 No Content, without the id as text"],
    ],
    toText: ({ async_status }) => String(async_status),
    toValue: Number,
  },
  {
    name: "methods",
    label: "Methods",
    hint: "Default: empty, all six. Separated by commas, as POST, PUT; any other is answered with 405. HEAD only where it is named.",
    toText: ({ methods }) => methods?.join(", ") ?? "",
    toValue: (text) => toList(text.toUpperCase()),
  },
  {
    name: "max_body_bytes",
    label: "Largest body in bytes",
    hint: "Default: empty, as the service is configured (MAX_BODY_BYTES). A larger one is answered with 413.",
    toText: ({ max_body_bytes }) => String(max_body_bytes ?? ""),
    toValue: (text) => (text.trim() === "" ? null : Number(text)),
  },
];

/** null: nothing is named. */
function toList(text: string): string[] | null {
  const names = text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  return names.length === 0 ? null : names;
}
