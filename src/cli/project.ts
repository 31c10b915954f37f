import { toPath, type Client } from "./client.ts";

/** @throws CommandError where there is no such project */
export async function findProjectId(client: Client, name: string): Promise<string> {
  const { id } = await client.json<{ id: string }>("GET", toPath("project", name), { has: "id" });
  return id;
}
