export { createRouter, type RouterOptions } from './router.ts';
export type { DeploymentView, NoRoute, Route, Router, RouteWish, Visit, VisitOutcome } from './routing.ts';
