export { benchmarkMachine, type MachineBenchmark, type BenchmarkResult } from './measure.ts';
export {
  handOverOverSsh,
  isKeyRejected,
  loginAndCountGpus,
  newReadinessKey,
  replaceKeysOverSsh,
  type ReadinessHostKey,
  type ReadinessKey,
  type ReadinessResult,
} from './ssh-readiness.ts';
export type { SshTarget } from './ssh-connection.ts';
