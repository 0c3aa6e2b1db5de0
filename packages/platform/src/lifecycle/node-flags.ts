/**
 * Node flags of our programs; `tools/run` has the same. A small young generation limits the memory of finished requests
 * that await garbage collection: with Node's default, a flood of uploads uses twice as much.
 */
export const nodeFlags: readonly string[] = [
  '--disable-warning=ExperimentalWarning',
  '--max-semi-space-size=8',
];
