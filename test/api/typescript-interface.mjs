import { ts } from "@ts-morph/common";

/** What `import ts from "typescript"` gave up to version 6: the compiler's own one has none. */
// oxlint-disable-next-line import/no-default-export -- as in the module that it stands for
export default ts;
