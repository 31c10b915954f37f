/** The fewest characters of a password, however it is set. */
export const PASSWORD_LENGTH = 12;
