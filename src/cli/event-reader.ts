/** One server-sent event (WHATWG HTML, section 9.2). */
export interface ServerEvent {
  /** The last id that the stream has named; empty before there is one. */
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

/**
 * The events of a stream, in order. One that the end of the stream cuts short is none.
 *
 * @param heard is called for all that arrives, comments and parts of events as well
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  heard: () => void,
): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder();
  let id = "";
  let event = "";
  let data: string[] = [];
  let rest = "";
  for await (const bytes of body) {
    heard();
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const [, name, value = ""] = /^([^:\r]*)(?:: ?(.*?))?\r?$/s.exec(line) ?? [];
      if (name === "id") id = value;
      else if (name === "event") event = value;
      else if (name === "data") data.push(value);
      else if (name === "" && !line.startsWith(":")) {
        if (data.length > 0) yield { id, event: event || "message", data: data.join("\n") };
        event = "";
        data = [];
      }
    }
  }
}
