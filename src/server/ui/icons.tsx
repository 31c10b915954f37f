/** @jsxRuntime automatic @jsxImportSource hono/jsx */
import { readAsset } from "../../assets/read.ts";

/** The mark as the address of a picture; the policy lets no other pictures in. */
const MARK = `data:image/svg+xml;base64,${Buffer.from(readAsset("mark.svg")).toString("base64")}`;

/** Strokes on a field of 20 by 20. */
const ICONS = {
  overview: "M3 3h6v6H3zM11 3h6v4h-6zM11 9h6v8h-6zM3 11h6v6H3z",
  webhooks: "M7 3v9a4 4 0 0 0 8 0V9l-2.5 2.5M5.5 3h3",
  executions: "M3 10h3l2.5-6 3 12 2.5-6h3",
  flows: "m7 6-4 4 4 4m6-8 4 4-4 4",
  administration: "M3 6h8m4 0h2M3 14h2m4 0h8M13 4v4M7 12v4",
  documentation:
    "M10 5.5C8.5 4.3 6 4 3 4v11c3 0 5.5.3 7 1.5 1.5-1.2 4-1.5 7-1.500V4c-3 0-5.5.3-7 1.500zm0 0v11",
  account: "M10 9.500a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM4 16.500c.5-3 3-4.5 6-4.500s5.5 1.5 6 4.5",
} as const;

export type IconName = keyof typeof ICONS;

/** What tabs and bookmarks of a browser show. */
export function Favicon() {
  return <link rel="icon" type="image/svg+xml" href={MARK} />;
}

/** The mark and the name beside it. */
export function Brand() {
  return (
    <>
      <img src={MARK} alt="" width="24" height="24" />
      Flowhook
    </>
  );
}

/** Beside the words that say the same, so that nothing reads it out. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
      <path d={ICONS[name]} />
    </svg>
  );
}
