/**
 * A web-standard handler, as Deno, Bun and Workers take it: a Request in, a Response out. What
 * runs there runs here, frameworks such as Hono included (`export default app`).
 *
 *   curl -L "$URL/fetch-handler/call/items/7?colour=red"
 */
export default {
  description: "Answers with what it was asked, from a web-standard handler",

  async fetch(request: Request): Promise<Response> {
    const url = new URL(request.url);
    // The URL is the caller's, so the sub-path comes after the name of the webhook.
    const path = url.pathname.split("/call/")[1] ?? "";
    if (path === "teapot") return new Response("I am a teapot\n", { status: 418 });
    return Response.json({
      method: request.method,
      path,
      query: Object.fromEntries(url.searchParams),
      bytes: (await request.arrayBuffer()).byteLength,
    });
  },
};
