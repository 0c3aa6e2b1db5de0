export { routerLimits, type RouterLimits } from './limits.ts';
export { createProber, type Ask, type ProbeAnswer, type Prober } from './probe.ts';
export { createRouter, type RouterOptions } from './router.ts';
export type {
  DeploymentView,
  NoRoute,
  PriceOf,
  Route,
  RouteOrder,
  Router,
  RouteWish,
  Visit,
  VisitOutcome,
} from './routing.ts';
