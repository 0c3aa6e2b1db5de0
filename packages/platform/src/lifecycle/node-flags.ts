/**
 * How Node starts our programs; `tools/run` has the same flags. A small young generation bounds the bytes of finished
 * requests that wait for the garbage collector: with Node's own limit a flood of uploads adds twice as much memory.
 */
export const nodeFlags: readonly string[] = [
  '--disable-warning=ExperimentalWarning',
  '--max-semi-space-size=8',
];
