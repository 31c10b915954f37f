/** Names of headers that hold credentials, or may; in lower case. */
export const SECRET_HEADER = /auth|cookie|token|secret|password|key/;
