export { serveOperatorOverview, type OperatorOverviewRoutes } from './operator-overview.routes.ts';
