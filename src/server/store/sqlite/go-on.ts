/** The function that the readers' threads have SQLite ask at each row whether to go on. */
export const GO_ON = "go_on";
