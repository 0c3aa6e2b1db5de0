/**
 * How long test servers keep idle connections. Node's default of five seconds is shorter than a stall of the machine,
 * so that a stalled client would send its next request on a connection that the server is closing.
 */
export const KEEP_ALIVE_MS = 600_000;
