/** What the pool's threads do: the work of the service's echo flow. */
export default function echo(json: unknown): { echo: unknown } {
  return { echo: json };
}
