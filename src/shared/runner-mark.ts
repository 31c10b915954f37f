/** First argument that tells the single binary to load the file after it, and nothing else. */
export const RUNNER_MARK = "__runner";
