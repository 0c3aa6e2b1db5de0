/**
 * How long the servers of tests keep idle connections. Node's own five seconds are shorter than a stall of a machine, and a
 * client that stalled would send its next request on a connection that the server is closing.
 */
export const KEEP_ALIVE_MS = 600_000;
