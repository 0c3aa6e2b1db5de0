export {
  createHealthReader,
  type Health,
  type HealthReader,
  type HealthReaderDeps,
} from './health-reader.ts';
export { serveOperatorHealth, type OperatorHealthRoutes } from './operator-health.routes.ts';
export { findProblems, type HealthProblem, type HealthReadings, type RegionReading } from './problems.ts';
export type { ProcessAddress, ProcessHealth } from './process-probe.ts';
