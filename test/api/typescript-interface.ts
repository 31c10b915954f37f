import { ts } from "@ts-morph/common";

/** What `import ts from "typescript"` gave up to version 6: the compiler's own one has none. */
export default ts;
