export { serveOperatorHealth, type OperatorHealthRoutes } from './operator-health.routes.ts';
export type { ProcessAddress } from './process-probe.ts';
