import { openFrame } from "../frame.tsx";
import { track } from "../shown.ts";

// Of pages that the server sends whole: the documentation, and what is not there.
openFrame();
await track(Promise.resolve());
