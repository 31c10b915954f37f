/** A web-standard handler: what it sees of the request, or bytes that are no text. */
export default {
  async fetch(request: Request): Promise<Response> {
    const url = new URL(request.url);
    if (url.searchParams.has("bytes")) return bytes();
    if (url.searchParams.has("empty")) return new Response(null, { status: 204 });
    const headers = Object.fromEntries(request.headers);
    const seen = { url: request.url, method: request.method, headers, body: await request.text() };
    return Response.json(seen, { status: 202, headers: { "x-from": "web" } });
  },
};

function bytes(): Response {
  const every = Uint8Array.from({ length: 256 }, (_, at) => at);
  return new Response(every, { headers: { "content-type": "application/octet-stream" } });
}
